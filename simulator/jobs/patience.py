"""How long a user waits for a job before cancelling it: a hazard by user and size, and a draw from it for jobs that started first.

A job that starts shows only that the patience was longer than its wait. So the share still waiting after so many seconds is estimated with
such jobs censored (Kaplan and Meier, "Nonparametric estimation from incomplete observations", Journal of the American Statistical
Association 53, 1958). Rules: docs/reference/semantics/followers.md, "Giving up".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.jobs import NEVER

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LEAST_CANCELLATIONS = 20
"""Of a user's jobs of one size, or of all of a size. Fewer say too little, and more jobs are taken together."""


class SeenWaits(NamedTuple):
    """What a log shows of waits, (jobs,) each. wait: seconds until the job started or was cancelled. gave_up: whether it was cancelled."""

    user: IntArray
    size: IntArray  # of simulator.metrics.metrics.size_classes
    wait: IntArray
    gave_up: BoolArray


class Survival(NamedTuple):
    """The share of jobs whose users still wait after each of some seconds, ascending. Before the first it is 1."""

    second: IntArray  # (waits at which some gave up,)
    share: FloatArray

    def after(self, wait: IntArray) -> FloatArray:
        """The share after other waits, float64 (waits,)."""
        return np.concatenate([[1.0], self.share])[np.searchsorted(self.second, wait, side="right")]

    def drawn(self, waited: IntArray, luck: FloatArray) -> IntArray:
        """A patience for each job that has waited for some seconds, int64 (jobs,): longer than that, and NEVER where nobody gave up
        after so long a wait. luck: uniform between 0 and 1, for each job; who has less waits longer."""
        share = self.share[::-1]
        place = len(share) - np.searchsorted(share, luck * self.after(waited), side="left")
        return np.append(self.second, NEVER)[place]


def survival_of(wait: IntArray, gave_up: BoolArray) -> Survival:
    """The estimate of Kaplan and Meier. wait, gave_up: as in `SeenWaits`. In one second users give up before others start."""
    second, leave = np.unique(wait[gave_up], return_counts=True)
    at_risk = len(wait) - np.searchsorted(np.sort(wait), second, side="left")
    return Survival(second, np.cumprod(1 - leave / at_risk, dtype=np.float64))


def patience_of(seen: SeenWaits, user: IntArray, size: IntArray, waited: IntArray, luck: FloatArray) -> IntArray:
    """A patience for each of some jobs that started, seconds, int64 (jobs,). NEVER for a job whose user waits for ever.

    It is drawn from the user's jobs of its size if LEAST_CANCELLATIONS of them were cancelled, else from all of its size, else from all
    jobs. waited, luck: as `Survival.drawn` takes them."""
    patience = np.full(len(user), NEVER, dtype=np.int64)
    sizes = int(max(seen.size.max(initial=0), size.max(initial=0))) + 1
    groups = (  # the narrowest comes last
        (np.zeros_like(seen.size), np.zeros_like(size), 1),
        (seen.size, size, LEAST_CANCELLATIONS),
        (seen.user * sizes + seen.size, user * sizes + size, LEAST_CANCELLATIONS),
    )
    for of_seen, of_jobs, least in groups:
        numbers, cancellations = np.unique(of_seen[seen.gave_up], return_counts=True)
        for number in numbers[cancellations >= least]:
            in_group, jobs = of_seen == number, of_jobs == number
            survival = survival_of(seen.wait[in_group], seen.gave_up[in_group])
            patience[jobs] = survival.drawn(waited[jobs], luck[jobs])
    return patience


def luck_of(job: IntArray) -> FloatArray:
    """A number between 0 and 1 for each job, float64 (jobs,), the same in every replay: SplitMix64 of its number in the log."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    mixed = (job.astype(np.uint64) + np.uint64(1)) * golden + np.uint64(0xD1B54A32D192ED03)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / (1 << 53)
