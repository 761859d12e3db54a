"""Jobs that follow another: a user who keeps the pace submits them some time after the other one has left, whenever that is.

Whose jobs may follow each other is a line: those of a user, or of one account or one executable of a user.

A replay in which some jobs follow is closed, one in which all come at the log's times is open (Zakay and Feitelson, "Preserving user
behavior characteristics in trace-based simulation of parallel job scheduling", MASCOTS 2014). docs/reference/semantics/followers.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

NO_JOB = -1
"""Whom a job follows that comes at its own time."""
NEVER_SUBMITTED = -1
"""Submission of a job that follows one that never leaves."""
WITHIN_S = 1200
"""The longest think time in a log that is too short for `longest_think`: 20 minutes, as Zakay and Feitelson bound think times."""
LATER_S = 86_400
SHORTEST_LOG_S = 7 * LATER_S
"""Between the first and the last submission of a log that says how long think times are."""
THINK_BOUNDS_S = 60 * 2 ** np.arange(9)
"""Between which think times are counted: from 1 minute on, each twice the one before, to 256."""
SOON_AFTER_S = 1920
"""After an end, a job comes soon: 32 minutes, one of these bounds."""
BY_CHANCE = 3
"""Of the jobs at an accepted think time at most one in so many is there by chance."""
CHANCE_ROUNDS = 50
"""In which jobs that come by chance are counted."""
LINE_KINDS = ("user", "account", "executable")
"""Whose jobs are a line: all of a user, or those of one account or of one executable of a user."""
LEAST_JOBS, LEAST_SHARE = 20, 0.1
"""By so many jobs, and by such a share, lines of another kind must gain more than the user's, or noise would choose (of planted users)."""


class JobLines(NamedTuple):
    """Of each job the number of its line and its place in LINE_KINDS, both int64 (jobs,)."""

    number: IntArray
    kind: IntArray


class Chain(NamedTuple):
    """Who follows whom, as compiled loops read it. Where none follows, `first` is empty."""

    first: IntArray  # (jobs,), the job's first follower, NO_JOB for none
    following: IntArray  # (jobs,), the next job that follows the same one, NO_JOB for none
    think: IntArray  # (jobs,), seconds from the leaving to the submission
    awaited: IntArray  # (jobs,), how many of the jobs that it follows have not left yet, which loops count down: more than 1 of an array


def followers_of(
    submit: IntArray, end: IntArray, line: IntArray, within_s: int = WITHIN_S
) -> tuple[IntArray, IntArray]:
    """Whom each job follows, and the seconds after that job's end at which it is submitted, both int64 (jobs,).

    A job follows the job of its line that ended last before its submission or in the same second, if that is at most `within_s` ago; of
    several that ended in one second the one that was submitted last. submit: ascending. end: second at which each job left, below 0 for one
    that never did. line: number of its user, or as `follow_lines` has it.
    """
    left = np.flatnonzero(end >= 0)
    if not len(left):
        return np.full(len(submit), NO_JOB), np.zeros(len(submit), dtype=np.int64)
    span = int(max(submit.max(initial=0), end.max(initial=0))) + 1  # between the seconds of two lines
    left = left[np.lexsort((left, end[left], line[left]))]
    place = np.searchsorted(line[left] * span + end[left], line * span + submit, side="right") - 1
    back = np.flatnonzero(place >= 0)
    while len(back := back[(left[place[back]] >= back) & (end[left[place[back]]] == submit[back])]):
        place[back] -= 1  # it ended in the second of its submission, as others after it
        back = back[place[back] >= 0]
    before = left[place]
    follows = (place >= 0) & (line[before] == line) & (submit - end[before] <= within_s)
    return np.where(follows, before, NO_JOB), np.where(follows, submit - end[before], 0)


def array_ends(end: IntArray, array: IntArray) -> IntArray:
    """When jobs left, for users who wait for whole arrays: -1 for all tasks but the last one of an array to leave, and for that where
    another one never did. end: below 0 for a job that never left. array: number of the array of each task, NO_JOB for other jobs."""
    tasks = np.flatnonzero(array != NO_JOB)
    tasks = tasks[np.lexsort((tasks, end[tasks], array[tasks]))]
    number = array[tasks]
    is_last = np.ones(len(tasks), dtype=np.bool_)
    is_last[:-1] = number[1:] != number[:-1]
    ends = end.copy()
    ends[tasks[~is_last | np.isin(number, number[end[tasks] < 0])]] = -1
    return ends


def longest_think(submit: IntArray, end: IntArray, line: IntArray) -> int:
    """The think time, seconds, up to which jobs of a log follow others, -1 where none does. Arguments as in `followers_of`."""
    if not is_long(submit):
        return WITHIN_S
    gain = _gains(submit, end, line, np.zeros_like(line))[0]
    return int(THINK_BOUNDS_S[gain.argmax()]) if gain.max() > 0 else -1


def share_beyond_chance(submit: IntArray, end: IntArray, line: IntArray) -> float:
    """The share of the jobs that come within SOON_AFTER_S after an end of their line, and not by chance. Arguments as in `followers_of`.

    Whoever comes by chance comes as soon after the same end a day later, and so do jobs that follow: with a chance c and a share f of
    followers, f + (1 - f) c come soon. In a log that is too short to tell, chance is none."""
    counted = submit >= submit[0] + LATER_S if is_long(submit) else np.ones(len(submit), dtype=np.bool_)
    soon, later = (
        float((followers_of(submit, each, line, SOON_AFTER_S)[0] != NO_JOB)[counted].mean()) if counted.any() else 0.0
        for each in (end, np.where(end >= 0, end + LATER_S, end))
    )
    chance = later if is_long(submit) else 0.0
    return max(soon - chance, 0.0) / (1 - chance) if chance < 1 else 0.0


def follow_lines(submit: IntArray, end: IntArray, user: IntArray, *parts: IntArray) -> JobLines:
    """The line of each job, among whose jobs it may follow one: its user's, or those of its user's account or executable.

    submit, end: as in `followers_of`. parts: numbers of each job's account and executable, from 0, in the order of LINE_KINDS[1:]. All jobs
    of a user have lines of one kind."""
    user = np.unique(user, return_inverse=True)[1]
    lines = [user, *(np.unique(user * (part.max(initial=0) + 1) + part, return_inverse=True)[1] for part in parts)]
    kind = np.zeros_like(user)
    if is_long(submit):
        by_user, *others = (_gains(submit, end, line, user).max(axis=1) for line in lines)
        least = np.maximum(by_user, 0)
        kind = np.argmax([least + np.maximum(LEAST_JOBS, LEAST_SHARE * least), *others], axis=0)[user]
    first = np.concatenate([[0], np.cumsum([line.max(initial=-1) + 1 for line in lines])])
    return JobLines(np.choose(kind, lines) + first[kind], kind)


def is_long(submit: IntArray) -> bool:
    """Whether a log says which of its jobs follow others by chance."""
    return len(submit) > 0 and bool(submit[-1] - submit[0] >= SHORTEST_LOG_S)


def _gains(submit: IntArray, end: IntArray, line: IntArray, group: IntArray) -> NDArray[np.float64]:
    """Of each group of jobs and each of THINK_BOUNDS_S: followers within it, less BY_CHANCE times those that come by chance, (groups,
    bounds). group: from 0.

    What comes by chance comes as soon after an end as after the same end a day later (a case-crossover design: Maclure, Am. J. Epidemiology
    133, 1991). Jobs that follow are no chance, so each counts a day later by its probability of coming by chance."""
    counted = submit >= submit[0] + LATER_S
    bins, groups = len(THINK_BOUNDS_S) + 1, int(group.max()) + 1
    ends = (end, np.where(end >= 0, end + LATER_S, end))
    near, chance = ((group * bins + _think_bins(submit, each, line))[counted] for each in ends)
    jobs = np.bincount(near, minlength=groups * bins).reshape(groups, bins)[:, :-1]
    share = np.ones((groups, bins))  # of the jobs in each bin, that come by chance
    for _ in range(CHANCE_ROUNDS):
        by_chance = np.bincount(chance, share.ravel()[near], groups * bins).reshape(groups, bins)[:, :-1]
        share[:, :-1] = np.minimum(by_chance / np.maximum(jobs, 1), 1)
    return np.cumsum(jobs - BY_CHANCE * by_chance, axis=1)


def _think_bins(submit: IntArray, end: IntArray, line: IntArray) -> IntArray:
    """The first of THINK_BOUNDS_S that is not below each job's think time, their number for a job with a longer one or none."""
    after, think = followers_of(submit, end, line, int(THINK_BOUNDS_S[-1]))
    return np.where(after == NO_JOB, len(THINK_BOUNDS_S), np.searchsorted(THINK_BOUNDS_S, think))


def chain_of(after: IntArray, think: IntArray, array: IntArray, offset: int = 0) -> Chain:
    """The chain of jobs that follow others. array: as in `simulator.jobs.jobs.Jobs`. All tasks of one have the same followers. offset: of
    the jobs' places, behind jobs of which none follows."""
    followers = np.flatnonzero(after != NO_JOB)
    if not len(followers):
        return Chain(*np.zeros((4, 0), dtype=np.int64))
    head, size = np.arange(len(after)), np.ones(len(after), dtype=np.int64)
    tasks = np.flatnonzero(array != NO_JOB)
    _, first_task, of_array, count = np.unique(array[tasks], return_index=True, return_inverse=True, return_counts=True)
    head[tasks], size[tasks] = tasks[first_task][of_array], count[of_array]
    first, following = np.full((2, len(after) + offset), NO_JOB, dtype=np.int64)
    followers = followers[np.argsort(head[after[followers]], kind="stable")]
    followed = head[after[followers]]
    is_first = np.concatenate([[True], followed[1:] != followed[:-1]])
    first[followed[is_first] + offset] = followers[is_first] + offset
    following[followers[:-1][~is_first[1:]] + offset] = followers[1:][~is_first[1:]] + offset
    first[offset:] = first[offset:][head]
    awaited = np.ones(len(after) + offset, dtype=np.int64)
    awaited[followers + offset] = size[after[followers]]
    return Chain(first, following, np.concatenate([np.zeros(offset, dtype=np.int64), think]), awaited)


def order_of_coming(submit: IntArray, after: IntArray) -> tuple[IntArray, int]:
    """The jobs that come at their own times in the order in which they do, behind room for those that follow, and the place of the first.
    submit: any order; jobs of one second come in the order of their places."""
    own = np.flatnonzero(after == NO_JOB)
    room = len(after) - len(own)
    return np.concatenate([np.full(room, NO_JOB), own[np.argsort(submit[own], kind="stable")]]), room
