"""Jobs that follow another: a user who keeps the pace submits them some time after the other one has left, whenever that is.

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
SOON_BOUNDS = 6
"""So many of them are half an hour."""
BY_CHANCE = 3
"""Of the jobs at an accepted think time at most one in so many is there by chance."""
CHANCE_ROUNDS = 50
"""In which jobs that come by chance are counted."""


class Chain(NamedTuple):
    """Who follows whom, as compiled loops read it. Where none follows, `first` is empty."""

    first: IntArray  # (jobs,), the job's first follower, NO_JOB for none
    following: IntArray  # (jobs,), the next job that follows the same one, NO_JOB for none
    think: IntArray  # (jobs,), seconds from the leaving to the submission


def followers_of(
    submit: IntArray, end: IntArray, user: IntArray, within_s: int = WITHIN_S
) -> tuple[IntArray, IntArray]:
    """Whom each job follows, and the seconds after that job's end at which it is submitted, both int64 (jobs,).

    A job follows the job of its user that ended last before its submission or in the same second, if that is at most `within_s` ago; of
    several that ended in one second the one that was submitted last. submit: ascending. end: second at which each job left, below 0 for one
    that never did.
    """
    left = np.flatnonzero(end >= 0)
    if not len(left):
        return np.full(len(submit), NO_JOB), np.zeros(len(submit), dtype=np.int64)
    span = int(max(submit.max(initial=0), end.max(initial=0))) + 1  # between the seconds of two users
    left = left[np.lexsort((left, end[left], user[left]))]
    place = np.searchsorted(user[left] * span + end[left], user * span + submit, side="right") - 1
    own = np.arange(len(submit))
    while (itself := (place >= 0) & (left[place] >= own) & (end[left[place]] == submit)).any():
        place[itself] -= 1  # it ended in the second of its submission, as others after it
    before = left[place]
    follows = (place >= 0) & (user[before] == user) & (submit - end[before] <= within_s)
    return np.where(follows, before, NO_JOB), np.where(follows, submit - end[before], 0)


def longest_think(submit: IntArray, end: IntArray, user: IntArray) -> int:
    """The think time, seconds, up to which jobs of a log follow others, -1 where none does. Arguments as in `followers_of`.

    What comes by chance comes as soon after an end as after the same end a day later (a case-crossover design: Maclure, Am. J. Epidemiology
    133, 1991). Jobs that follow are no chance, so each counts a day later by its probability of coming by chance."""
    if _is_short(submit):
        return WITHIN_S
    jobs, by_chance, _ = _counted(submit, end, user)
    gain = np.cumsum(jobs - BY_CHANCE * by_chance)
    return int(THINK_BOUNDS_S[gain.argmax()]) if gain.max() > 0 else -1


def share_beyond_chance(submit: IntArray, end: IntArray, user: IntArray) -> float:
    """The share of the jobs that come within half an hour after an own end, less those that do by chance. In a log that is too short to
    tell, chance is none. Arguments as in `followers_of`."""
    if _is_short(submit):
        return float((followers_of(submit, end, user)[0] != NO_JOB).mean()) if len(submit) else 0.0
    jobs, by_chance, counted = _counted(submit, end, user)
    return max(float((jobs - by_chance)[:SOON_BOUNDS].sum()) / max(counted, 1), 0.0)


def _is_short(submit: IntArray) -> bool:
    return not len(submit) or bool(submit[-1] - submit[0] < SHORTEST_LOG_S)


def _counted(submit: IntArray, end: IntArray, user: IntArray) -> tuple[IntArray, IntArray, int]:
    """(by bound of THINK_BOUNDS_S the jobs with such a think time, how many of them come by chance, all jobs that are counted)."""
    counted = submit >= submit[0] + LATER_S
    near, chance = (_think_bins(submit, each, user)[counted] for each in (end, np.where(end >= 0, end + LATER_S, end)))
    bins = len(THINK_BOUNDS_S) + 1
    jobs = np.bincount(near, minlength=bins)
    share = np.ones(bins)  # of the jobs in each bin, that come by chance
    for _ in range(CHANCE_ROUNDS):
        by_chance = np.bincount(chance, share[near], bins)[:-1]
        share[:-1] = np.minimum(by_chance / np.maximum(jobs[:-1], 1), 1)
    return jobs[:-1], by_chance, int(counted.sum())


def _think_bins(submit: IntArray, end: IntArray, user: IntArray) -> IntArray:
    """The first of THINK_BOUNDS_S that is not below each job's think time, their number for a job with a longer one or none."""
    after, think = followers_of(submit, end, user, int(THINK_BOUNDS_S[-1]))
    return np.where(after == NO_JOB, len(THINK_BOUNDS_S), np.searchsorted(THINK_BOUNDS_S, think))


def chain_of(after: IntArray, think: IntArray, offset: int = 0) -> Chain:
    """The chain of jobs that follow others. offset: of the jobs' places, behind jobs of which none follows."""
    followers = np.flatnonzero(after != NO_JOB)
    if not len(followers):
        return Chain(*np.zeros((3, 0), dtype=np.int64))
    first, following = np.full((2, len(after) + offset), NO_JOB, dtype=np.int64)
    followers = followers[np.argsort(after[followers], kind="stable")]
    followed = after[followers]
    is_first = np.concatenate([[True], followed[1:] != followed[:-1]])
    first[followed[is_first] + offset] = followers[is_first] + offset
    following[followers[:-1][~is_first[1:]] + offset] = followers[1:][~is_first[1:]] + offset
    return Chain(first, following, np.concatenate([np.zeros(offset, dtype=np.int64), think]))


def order_of_coming(submit: IntArray, after: IntArray) -> tuple[IntArray, int]:
    """The jobs that come at their own times in the order in which they do, behind room for those that follow, and the place of the first.
    submit: any order; jobs of one second come in the order of their places."""
    own = np.flatnonzero(after == NO_JOB)
    room = len(after) - len(own)
    return np.concatenate([np.full(room, NO_JOB), own[np.argsort(submit[own], kind="stable")]]), room
