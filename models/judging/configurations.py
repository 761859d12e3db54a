"""Which scheduler wrote this log? A search over configurations whose replays give back the logged waits best.

Rules and defaults first, each on the first jobs of the log. The best of them go through all jobs that are fitted on. Weights of Slurm's
multifactor priority are searched one after another behind the best backfilling rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.fidelity import error_of
from models.judging.machine import Machine
from simulator.engine.replay import NeverStarts
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
    on. cluster: of the home, whose limits hold, by its name, None for none."""

    error: float
    policy: str = field(compare=False)
    backfill: str = field(compare=False)
    machine: Machine = field(compare=False)
    jobs: int = field(compare=False)
    cluster: str | None = field(compare=False, default=None)

    @property
    def procs(self) -> int:
        """Processors, or those of the largest size."""
        return self.machine.procs


@dataclass(frozen=True)
class LoggedJobs:
    """Jobs in the order of submission with the waits that the log holds, int64 (jobs,), seconds; -1 where it does not know. queues: of
    the jobs, as models.judging.machine.partitions_of takes them, None where no machine has partitions."""

    jobs: Jobs
    waits: IntArray
    queues: pl.Series | None = None

    def first(self, count: int) -> LoggedJobs:
        """The first jobs alone."""
        return LoggedJobs(
            self.jobs.window(0, count), self.waits[:count], None if self.queues is None else self.queues[:count]
        )

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Jobs whose waits are known, and that started before the last submission: whoever comes later made no difference to them."""
        return (self.waits >= 0) & (self.jobs.submit + self.waits <= self.jobs.submit.max(initial=0))

    def error(self, policy: str, backfill: str, machine: Machine) -> float:
        """Of a replay of these jobs. Infinite where a job can never start."""
        if int(self.jobs.procs.max(initial=0)) > machine.procs:
            return float("inf")
        try:
            starts = machine.replay(self.jobs, policy, backfill, self.queues).start
        except NeverStarts:  # it is wider than its partition, or than what is left of a cluster that shrank
            return float("inf")
        waits, scored = starts - self.jobs.submit, self.scored
        return error_of(self.waits[scored], waits[scored])


def search_configuration(
    logged: LoggedJobs,
    machines: Iterable[Machine],
    on_replay: Callable[[], None] = lambda: None,
    rule: tuple[str, str] | None = None,
) -> list[SchedulerConfiguration]:
    """The finalists, best first, over the first MOST_JOBS of `logged`.

    machines: the likeliest first. on_replay: called after every replay. rule: policy and backfilling, where these are known and the machine
    is not. Equal errors stay in the
    order of SEARCHED_ORDERS and SEARCHED_BACKFILLS, so that of equal schedules the plainest rule is named. Raises ValueError where no
    wait is known.
    """
    part = logged.first(min(FIRST_JOBS, len(logged.jobs)))
    if not part.scored.any():
        raise ValueError("no job has a known wait: there is nothing to fit a configuration to")

    def tried(of: LoggedJobs, policy: str, backfill: str, machine: Machine) -> SchedulerConfiguration:
        error = of.error(policy, backfill, machine)
        on_replay()
        return SchedulerConfiguration(error, policy, backfill, machine, len(of.jobs))

    rules = [(policy, backfill) for policy in SEARCHED_ORDERS for backfill in SEARCHED_BACKFILLS]
    first = [tried(part, *each, machine) for machine in machines for each in (rules if rule is None else [rule])]
    for backfill, machine in _best_rules(first) if rule is None else ():
        first += _refined(lambda policy, b=backfill, m=machine: tried(part, policy, b, m))  # type: ignore[misc]
    finalists = sorted(first)[:FINALISTS]
    if len(part.jobs) < len(logged.jobs):
        more = logged.first(min(MOST_JOBS, len(logged.jobs)))
        finalists = [tried(more, each.policy, each.backfill, each.machine) for each in finalists]
    return sorted(finalists)


def replays_of_search(jobs: int, machines: int, is_known: bool = False) -> int:
    """The most replays that a search over so many jobs and machines takes, for its progress bar. is_known: the rule."""
    if is_known:
        return machines * (2 if jobs > FIRST_JOBS else 1)
    refined = REFINED_BACKFILLS * ROUNDS * sum(len(values) for values in WEIGHTS.values())
    rules = len(SEARCHED_ORDERS) * len(SEARCHED_BACKFILLS) * machines
    return rules + refined + (FINALISTS if jobs > FIRST_JOBS else 0)


def _best_rules(tried: list[SchedulerConfiguration]) -> list[tuple[str, Machine]]:
    """Backfilling rules and machines of the best configurations, without repeats. None where one gives the log back exactly."""
    ordered = sorted(tried)
    if ordered[0].error == 0.0:
        return []
    rules = dict.fromkeys((each.backfill, each.machine) for each in ordered)
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
