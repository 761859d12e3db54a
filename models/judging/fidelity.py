"""How well a replay reproduces the waits in a log, as a grade, and how long jobs waited while there was
room for them. Definitions: docs/reference/semantics.md, "Fidelity".

The letter of a figure of waits: how far the change of it in a what-if is from what the change would really do.

Calibrated on clusters with planted rules, whose true answer is available: docs/results/grades.md. Definitions:
docs/reference/semantics/fidelity.md, "The grade".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.followers import SOON_AFTER_S, is_long, share_beyond_chance
from simulator.metrics.metrics import bounded_slowdown

IntArray = NDArray[np.int64]

WAIT_FIGURES = ("mean", "median", "p95")
"""Of the waits of some jobs."""
FIGURE_WORDS = {"mean": "mean wait", "median": "median wait", "p95": "95th percentile of wait"}
GRADES = ("A", "B", "C", "D")
NO_FIGURES = GRADES[-1]
"""The grade with which only ranks and directions are said."""
OFFSET_S = 60.0
"""Added to waits before they are divided, or their logarithm is taken. For a person who waits, a second and a minute are the same."""


WITHIN: dict[str, float | None] = {"A": 1.1, "B": 1.3, "C": 2.0, "D": None}
"""By letter, the best first: the factor by which a change of a figure, as a what-if has it, is at most off from the true one. None for no
promise."""


@dataclass(frozen=True)
class LetterRule:
    """What a letter asks for. off: the largest ratio of the figure in the replay and in the log, either way, OFFSET_S added to both. rank:
    the least rank correlation of the waits. distance: the largest distance of the two distributions."""

    off: float
    rank: float
    distance: float


LETTER_RULES = {
    "mean": {"A": LetterRule(1.1, 0.95, 0.05), "B": LetterRule(1.25, 0.85, 0.15), "C": LetterRule(2.0, 0.5, 0.3)},
    "median": {"A": LetterRule(1.05, 0.98, 0.05), "B": LetterRule(1.1, 0.98, 0.05), "C": LetterRule(1.2, 0.95, 0.1)},
    "p95": {"A": LetterRule(1.1, 0.95, 0.1), "B": LetterRule(1.2, 0.9, 0.15), "C": LetterRule(2.0, 0.5, 0.3)},
}
"""By figure and letter. All that meets none has the last letter."""
GAVE_UP_AFTER_S = 3600
MOST_FOLLOWING = {
    "mean": {"A": 0.02, "B": 0.5},
    "median": {"A": 0.01, "B": 0.03, "C": 0.3},
    "p95": {"A": 0.01, "B": 0.1, "C": 0.6},
}
"""By figure: `Reacting.following` from which on it has this letter no more. Calibrated on clusters whose users react (docs/results/
users-react.md). The mean by replays in which users keep their pace, the others at the log's times, as what-if answers have them."""
FEW_GAVE_UP, BEST_WITH_MORE = 0.001, {"mean": "C", "median": "D", "p95": "D"}
"""`Reacting.gave_up` from which on no letter of a figure is better."""
PACED_FROM = 0.1
"""From this share on the mean is promised of replays in which users keep their pace. Of fewer who follow both replays keep the promise."""


def times_off(logged_s: float, replayed_s: float) -> float:
    """By which factor the figure of a replay is off, up or down, 1 for not at all."""
    ratio = (replayed_s + OFFSET_S) / (logged_s + OFFSET_S)
    return max(ratio, 1 / ratio)


def change_error(true_s: tuple[float, float], predicted_s: tuple[float, float]) -> float:
    """The factor by which the change of a figure from before to after is off, 1 for not at all. Each: the figure before and after."""
    true, predicted = ((after + OFFSET_S) / (before + OFFSET_S) for before, after in (true_s, predicted_s))
    return max(true / predicted, predicted / true)


def letter_of(figure: str, waits_s: tuple[float, float], rank: float | None, distance: float) -> str:
    """The letter of one of WAIT_FIGURES. waits_s: it in the log and in the replay. rank, distance: of the waits."""
    off = times_off(*waits_s)
    for letter, rule in LETTER_RULES[figure].items():
        if off <= rule.off and (rank or 0.0) >= rule.rank and distance <= rule.distance:
            return letter
    return GRADES[-1]


class Reacting(NamedTuple):
    """How many jobs of a log come or go with the waits. following: share of those with a user that come soon after an own end, and
    not by chance (docs/reference/semantics/fidelity.md), None where no user is known. gave_up: share of all jobs that their users cancelled
    after they had waited for GAVE_UP_AFTER_S or longer. is_short: whether the log is too short
    to say what is chance, so that nothing is."""

    following: float | None = None
    gave_up: float = 0.0
    is_short: bool = False


NO_REACTION = Reacting()


def reacting_of(line: IntArray, submit: IntArray, end: IntArray, given_up_s: IntArray | None = None) -> Reacting:
    """How users of a log react. All int64 (jobs,). line: whose jobs each may follow (docs/reference/semantics/followers.md), -1 where its
    user is unknown. submit: ascending. submit, end: seconds of one clock. end: -1 for a job that never left. given_up_s: the wait of a job
    that was cancelled while it waited, -1 for others, None where that is unknown."""
    has_user = line >= 0
    gave_up = 0.0 if given_up_s is None or not len(line) else float((given_up_s >= GAVE_UP_AFTER_S).mean())
    if not has_user.any():
        return Reacting(gave_up=gave_up)
    line, submit, end = (each[has_user] for each in (line, submit, end))
    return Reacting(share_beyond_chance(submit, end, line), gave_up, not is_long(submit))


def best_letter(figure: str, reacting: Reacting) -> str:
    """The best letter that a figure of a log may have."""
    following, gave_up = reacting.following or 0.0, reacting.gave_up
    most = MOST_FOLLOWING[figure]
    best = next((letter for letter, share in most.items() if following < share), GRADES[len(most)])
    return max(best, BEST_WITH_MORE[figure]) if gave_up >= FEW_GAVE_UP else best


def capped(letter: str, figure: str, reacting: Reacting) -> str:
    """The letter of a figure, or `best_letter` where that is worse."""
    return max(letter, best_letter(figure, reacting))


def reacting_text(letter: str, reacting: Reacting) -> str:
    """Why no figure has a better letter, as a clause; empty where users are not why, or the mean has the worst. letter: of the mean."""
    best = [best_letter(figure, reacting) for figure in WAIT_FIGURES]
    if letter == NO_FIGURES or set(best) == {GRADES[0]}:
        return ""
    why = []
    if any((reacting.following or 0.0) >= most["A"] for most in MOST_FOLLOWING.values()):
        chance = ", by chance or not," if reacting.is_short else ", and not by chance,"
        why.append(
            f"{percent_text(reacting.following)} of the jobs come{chance} within {SOON_AFTER_S // 60} minutes of an own end"
        )
    if reacting.gave_up >= FEW_GAVE_UP:
        why.append(f"{percent_text(reacting.gave_up)} of the jobs were given up after an hour or more")
    mean, median, p95 = best
    return f"{' and '.join(why)}, so letters are at best {mean} for the mean, {median} for the median, {p95} for the 95th percentile"


def percent_text(share: float | None) -> str:
    """Such as 12 %, or 0.4 % below one."""
    return f"{share or 0.0:.{0 if (share or 0.0) >= 0.01 else 1}%}".replace("%", " %")


def assumed_text(figure: str, reacting: Reacting) -> str:
    """Which replay a letter promises something of, as a clause."""
    is_paced = (reacting.following or 0.0) >= PACED_FROM or reacting.gave_up >= FEW_GAVE_UP
    return "if users keep their pace" if is_paced and figure == "mean" else "if users submit at the log's times"


def promise_of(letter: str, figure: str, reacting: Reacting) -> str:
    """What a letter promises, in words, and of which replay."""
    within = WITHIN[letter]
    if within is None:
        return "no promise: trust no what-if figure"
    by = f"within {within - 1:.0%}".replace("%", " %") if within < 2 else f"within a factor of {within:g}"
    users = assumed_text(figure, reacting)
    return f"{users}, predicted changes of the {FIGURE_WORDS[figure]} are {by} of the true ones in 9 of 10 cases"


# --- fidelity


ALIKE_S, ALIKE_SHARE = 60, 0.1
"""Two waits of a job are alike if they differ by at most a minute, or by a tenth of the longer."""
FEWEST_WAITING = 100
"""Jobs that must have waited longer than ALIKE_S in the log, so that there is a grade."""


@dataclass(frozen=True)
class Agreement:
    """How the waits of the same jobs agree, in the log and in a replay. Times in seconds.

    alike: share of the jobs whose two waits are alike. rank_correlation: Spearman's. None where all waits are equal in one of the two.
    distance: largest difference of the two distribution functions (Kolmogorov and Smirnov). factor: by which factor a wait is off, up
    or down: e to the mean |ln((replayed + 60) / (logged + 60))|. waited: jobs that waited longer than a minute in the log.
    reacting: the users of the whole log, who cap the grades.
    """

    jobs: int
    waited: int
    logged_wait_s: float
    replayed_wait_s: float
    logged_median_wait_s: float
    replayed_median_wait_s: float
    logged_p95_wait_s: float
    replayed_p95_wait_s: float
    logged_bounded_slowdown: float
    replayed_bounded_slowdown: float
    alike: float
    rank_correlation: float | None
    distance: float
    factor: float
    reacting: Reacting = NO_REACTION

    @property
    def wait_ratio(self) -> float:
        """Replayed mean wait over the logged one, with OFFSET_S added to both."""
        return (self.replayed_wait_s + OFFSET_S) / (self.logged_wait_s + OFFSET_S)

    @property
    def grades(self) -> dict[str, str] | None:
        """The letter of each of models.judging.fidelity.WAIT_FIGURES. None where too few jobs waited for one."""
        if self.waited < FEWEST_WAITING:
            return None
        waits = (
            (self.logged_wait_s, self.replayed_wait_s),
            (self.logged_median_wait_s, self.replayed_median_wait_s),
            (self.logged_p95_wait_s, self.replayed_p95_wait_s),
        )
        figures = zip(WAIT_FIGURES, waits, strict=True)
        letters = {figure: letter_of(figure, both, self.rank_correlation, self.distance) for figure, both in figures}
        return {figure: capped(letter, figure, self.reacting) for figure, letter in letters.items()}

    @property
    def grade(self) -> str | None:
        """The letter of the mean wait. None where too few jobs waited for one."""
        return None if self.grades is None else self.grades["mean"]


def agreement_of(
    logged: IntArray, replayed: IntArray, runtime: IntArray, reacting: Reacting = NO_REACTION
) -> Agreement:
    """How two waits of each job agree. All int64 (jobs,), seconds. reacting: of the log. Raises ValueError without jobs."""
    from scipy.stats import spearmanr

    if not len(logged):
        raise ValueError("no job has a known wait: there is nothing to compare a replay with")
    off = np.abs(replayed - logged)
    alike = off <= np.maximum(ALIKE_S, ALIKE_SHARE * np.maximum(logged, replayed))
    varied = np.ptp(logged) > 0 and np.ptp(replayed) > 0
    return Agreement(
        jobs=len(logged),
        waited=int((logged > ALIKE_S).sum()),
        logged_wait_s=float(logged.mean()),
        replayed_wait_s=float(replayed.mean()),
        logged_median_wait_s=float(np.median(logged)),
        replayed_median_wait_s=float(np.median(replayed)),
        logged_p95_wait_s=float(np.quantile(logged, 0.95)),
        replayed_p95_wait_s=float(np.quantile(replayed, 0.95)),
        logged_bounded_slowdown=float(bounded_slowdown(logged, runtime).mean()),
        replayed_bounded_slowdown=float(bounded_slowdown(replayed, runtime).mean()),
        alike=float(alike.mean()),
        rank_correlation=float(spearmanr(logged, replayed).statistic) if varied else None,
        distance=_distance(logged, replayed),
        factor=float(np.exp(error_of(logged, replayed))),
        reacting=reacting,
    )


def _distance(logged: IntArray, replayed: IntArray) -> float:
    """The largest difference of the two distributions, from 0 to 1 (Kolmogorov and Smirnov)."""
    waits = np.concatenate([logged, replayed])
    below = [np.searchsorted(np.sort(each), waits, side="right") / len(each) for each in (logged, replayed)]
    return float(np.abs(below[0] - below[1]).max())


def error_of(logged: IntArray, replayed: IntArray) -> float:
    """What the search for a configuration minimizes: the mean over jobs of `|ln((replayed + 60) / (logged + 60))|`, 0 for equal waits."""
    return float(np.abs(np.log((replayed + OFFSET_S) / (logged + OFFSET_S))).mean())


def waited_with_room_s(
    submit: IntArray, start: IntArray, runtime: IntArray, procs: IntArray, cluster_procs: int
) -> IntArray:
    """Seconds of each job's wait in which at least as many processors were idle as the job takes, int64 (jobs,).

    All arrays are int64 (jobs,), times in seconds. cluster_procs: processors of the cluster. Those that none of these jobs uses are idle.
    A job that does not wait has 0.
    """
    moments = np.concatenate([start, start + runtime])
    order = np.argsort(moments, kind="stable")
    moments = moments[order]
    idle = cluster_procs - np.cumsum(np.concatenate([procs, -procs])[order])
    lasts = np.diff(moments, append=moments[-1:])
    seconds = np.zeros(len(submit), dtype=np.int64)
    for width in np.unique(procs[start > submit]).tolist():
        has_room = idle >= width
        before = np.concatenate([[0], np.cumsum(np.where(has_room, lasts, 0))])  # seconds with room before each moment
        of_width = (procs == width) & (start > submit)
        ends = [
            _until(moment[of_width], moments, has_room, before, width <= cluster_procs) for moment in (submit, start)
        ]
        seconds[of_width] = ends[1] - ends[0]
    return seconds


def _until(
    when: IntArray, moments: IntArray, has_room: NDArray[np.bool_], before: IntArray, has_room_at_first: bool
) -> IntArray:
    """Seconds with room from the first of the moments until `when`; negative before it, where all processors are idle."""
    last = np.searchsorted(moments, when, side="right") - 1
    since = when - moments[np.maximum(last, 0)]
    return np.where(
        last < 0, since * has_room_at_first, before[np.maximum(last, 0)] + since * has_room[np.maximum(last, 0)]
    )
