"""Which scheduler wrote this log? A search over configurations whose replays give back the logged waits best.

Rules and defaults first, each on the first jobs of the log. The best of them go through all jobs that are fitted on. Weights of Slurm's
multifactor priority are searched one after another behind the best backfilling rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from models.judging.fidelity import error_of
from models.judging.size_over_time import SizeOverTime
from simulator.engine.replay import NeverStarts, replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs

IntArray = NDArray[np.int64]

SEARCHED_ORDERS = (
    *("FCFS", "SJF", "LJF", "SAF", "LAF", "smallest", "largest", "SRF", "LRF", "WFP3", "UNICEP", "LCFS"),
    *("fairshare", "multifactor"),
)
SEARCHED_BACKFILLS = ("none", "easy", "easy-sjbf", "conservative", "any")
FIRST_JOBS = 10_000
"""Jobs that every configuration replays, so that a search costs about the same for any log."""
MOST_JOBS = 50_000
"""First jobs that the finalists replay."""
PLAUSIBLE = 3
"""Policies that are tried with every other size of the cluster: FCFS, and the best with the likeliest size."""
FINALISTS = 6
WEIGHTS: dict[str, tuple[float, ...]] = {
    "fairshare": (0, 100, 300, 1000, 3000, 10_000, 30_000, 100_000),
    "size": (0, 100, 300, 1000, 3000, 10_000, 30_000),
    "half_life_days": (1, 3, 7, 14, 30),
    "max_age_days": (1, 3, 7, 14, 30),
}
"""Of the policy multifactor, beside an age weight of 1000: only their ratio matters."""
ROUNDS = 2
REFINED_BACKFILLS = 2


@dataclass(frozen=True, order=True)
class SchedulerConfiguration:
    """A scheduler that may have written the log. error: by models.judging.fidelity.error_of. jobs: how many it was fitted
    on. size_over_time: of a cluster that grew or shrank, None where it had `procs` all the time."""

    error: float
    policy: str = field(compare=False)
    backfill: str = field(compare=False)
    procs: int = field(compare=False)
    jobs: int = field(compare=False)
    size_over_time: SizeOverTime | None = field(default=None, compare=False)

    @property
    def cluster(self) -> Cluster:
        """Of its replays."""
        return self.size_over_time.cluster if self.size_over_time is not None else Cluster(self.procs)


@dataclass(frozen=True)
class LoggedJobs:
    """Jobs in the order of submission with the waits that the log holds, int64 (jobs,), seconds; -1 where it does not know."""

    jobs: Jobs
    waits: IntArray

    def first(self, count: int) -> LoggedJobs:
        """The first jobs alone."""
        return LoggedJobs(self.jobs.window(0, count), self.waits[:count])

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Jobs whose waits are known, and that started before the last submission: whoever comes later made no difference to them."""
        return (self.waits >= 0) & (self.jobs.submit + self.waits <= self.jobs.submit.max(initial=0))

    def error(self, policy: str, backfill: str, cluster: int | Cluster) -> float:
        """Of a replay of these jobs. Infinite where a job can never start, since it is wider than the cluster."""
        if int(self.jobs.procs.max(initial=0)) > Cluster.of(cluster).procs:
            return float("inf")
        try:
            starts = replay(self.jobs, cluster, policy, backfill).start
        except NeverStarts:  # it is wider than what is left of a cluster that shrank
            return float("inf")
        waits, scored = starts - self.jobs.submit, self.scored
        return error_of(self.waits[scored], waits[scored])


def search_configuration(
    logged: LoggedJobs, sizes: Iterable[int | SizeOverTime], on_replay: Callable[[], None] = lambda: None
) -> list[SchedulerConfiguration]:
    """The finalists, best first, over the first MOST_JOBS of `logged`.

    sizes: what the cluster may have had, the likeliest first. on_replay: called after every replay. Equal errors stay in the
    order of SEARCHED_ORDERS and SEARCHED_BACKFILLS, so that of equal schedules the plainest rule is named. Raises ValueError where no
    wait is known.
    """
    part = logged.first(min(FIRST_JOBS, len(logged.jobs)))
    if not part.scored.any():
        raise ValueError("no job has a known wait: there is nothing to fit a configuration to")

    def tried(of: LoggedJobs, policy: str, backfill: str, size: int | SizeOverTime) -> SchedulerConfiguration:
        over_time = size if isinstance(size, SizeOverTime) else None
        procs = over_time.most if over_time is not None else int(size)  # type: ignore[arg-type]
        asked = SchedulerConfiguration(0.0, policy, backfill, procs, len(of.jobs), over_time)
        error = of.error(policy, backfill, asked.cluster)
        on_replay()
        return replace(asked, error=error)

    likeliest, *others = sizes
    first = [tried(part, policy, backfill, likeliest) for policy in SEARCHED_ORDERS for backfill in SEARCHED_BACKFILLS]
    plausible = list(dict.fromkeys(["FCFS", *(each.policy for each in sorted(first))]))[:PLAUSIBLE]
    first += [
        tried(part, policy, backfill, size)
        for size in others
        for policy in plausible
        for backfill in SEARCHED_BACKFILLS
    ]
    for backfill, size in _best_rules(first):
        first += _refined(lambda policy, b=backfill, s=size: tried(part, policy, b, s))  # type: ignore[misc]
    finalists = sorted(first)[:FINALISTS]
    if len(part.jobs) < len(logged.jobs):
        more = logged.first(min(MOST_JOBS, len(logged.jobs)))
        finalists = [tried(more, each.policy, each.backfill, each.size_over_time or each.procs) for each in finalists]
    return sorted(finalists)


def replays_of_search(jobs: int, sizes: int) -> int:
    """The most replays that a search over so many jobs and sizes takes, for its progress bar."""
    refined = REFINED_BACKFILLS * ROUNDS * sum(len(values) for values in WEIGHTS.values())
    of_others = PLAUSIBLE * len(SEARCHED_BACKFILLS) * (sizes - 1)
    return (
        len(SEARCHED_ORDERS) * len(SEARCHED_BACKFILLS) + of_others + refined + (FINALISTS if jobs > FIRST_JOBS else 0)
    )


def _best_rules(tried: list[SchedulerConfiguration]) -> list[tuple[str, int | SizeOverTime]]:
    """Backfilling rules and sizes of the best configurations, without repeats. None where one gives the log back exactly."""
    ordered = sorted(tried)
    if ordered[0].error == 0.0:
        return []
    rules = dict.fromkeys((each.backfill, each.size_over_time or each.procs) for each in ordered)
    return list(rules)[:REFINED_BACKFILLS]


def _refined(tried: Callable[[str], SchedulerConfiguration]) -> list[SchedulerConfiguration]:
    """Configurations of multifactor, one weight after another, each round from the best so far."""
    weights = {"fairshare": 10_000.0, "size": 1000.0, "half_life_days": 7.0, "max_age_days": 14.0}
    seen: dict[str, SchedulerConfiguration] = {}
    for _ in range(ROUNDS):
        for name, values in WEIGHTS.items():
            for value in values:
                text = _multifactor(weights | {name: value})
                if text not in seen:
                    seen[text] = tried(text)
            best = min(values, key=lambda value: seen[_multifactor(weights | {name: value})].error)
            weights[name] = best
    return list(seen.values())


def _multifactor(weights: dict[str, float]) -> str:
    return "multifactor:" + ",".join(f"{name}={value:g}" for name, value in weights.items())
