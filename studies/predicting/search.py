"""Which predictions, and what use of them, shorten waits: configurations of order, backfilling, estimate and correction.

`ChoosingPart` tries them on the first part of a log, under the guards of models/scheduling/search/priority_key.py.
`HeldOutPart` judges the chosen ones on the later jobs, inside replays from the first job of the log on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.chance import ChanceCloud, cloud_around, random_orders
from models.judging.judge import Judgement, judge
from models.judging.panel import Panel, Replayed, scored_after
from models.judging.verdict import PolicyVerdict, Ratios, verdict_of
from models.runtime.estimates import Estimates
from models.runtime.live import LiveReplay, LiveSettings, replay_live
from models.scheduling.search.priority_key import SEARCH_GUARD, SEARCHED_GUARDS, guarded_value, searched_jobs
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.metrics.metrics import bounded_slowdown


@dataclass(frozen=True)
class Configuration:
    """order: a policy. estimates: the text of models.runtime.estimates.Estimates. The rest: as in LiveSettings and
    simulator.engine.replay.replay."""

    order: str = "FCFS"
    backfill: str = "easy-sjbf"
    estimates: str = "live:mean"
    factor: float = 1.0
    reserve_by: str = "requested"
    admit_by: str = "estimate"
    correction: str = "requested"

    def __str__(self) -> str:
        words = [self.order.removeprefix("formula:"), self.backfill, self.estimates]
        if Estimates.parse(self.estimates).may_underestimate:
            words += [f"x{self.factor:g}"] if self.factor != 1 else []
            words += [f"reserve by {self.reserve_by}"]
            words += ["admit by requested"] if self.admit_by == "requested" else []
            words += [self.correction] if self.reserve_by == "estimate" else []
        return ", ".join(words)


EASY = Configuration("FCFS", "easy", "requested")
PREDICTION_RIVALS = {
    "EASY": EASY,
    "EASY-SJBF": Configuration("FCFS", "easy-sjbf", "requested"),
    "EASY++": Configuration("FCFS", "easy-sjbf", "live:last_two", reserve_by="estimate", correction="increments"),
    "SJF, requested": Configuration("SJF", "easy", "requested"),
    "SAF, requested": Configuration("SAF", "easy", "requested"),
    "EASY-SJBF, clairvoyant": Configuration("FCFS", "easy-sjbf", "actual"),
    "SJF, clairvoyant": Configuration("SJF", "easy", "actual"),
}
"""What every table of predictions is compared with. EASY++: Tsafrir, Etsion and Feitelson 2007."""


def backfilling_configurations() -> list[Configuration]:
    """The queue in FCFS order. Predictions decide only what may be backfilled, and in which order."""
    by_request = [
        Configuration(estimates=f"live:{statistic}", factor=factor)
        for statistic in ("mean", "slowdown", "median", "p75")
        for factor in (0.5, 0.7, 1.0)
    ]
    admitted = [
        Configuration(estimates=f"live:{statistic}", admit_by="requested")
        for statistic in ("mean", "slowdown", "median", "p75")
    ]
    by_estimate = [
        Configuration(estimates=f"live:{statistic}", reserve_by="estimate", correction=correction)
        for statistic in ("mean", "last_two")
        for correction in ("increments", "doubling")
    ]
    return by_request + admitted + by_estimate


def ordering_configurations() -> list[Configuration]:
    """The queue ordered by predictions: submission plus a multiple of the estimate, times a power of the processors. This delay is 12
    hours at most, or without a limit. Later jobs can overtake a waiting job only for a time that it bounds, so that none starves."""
    bodies = [f"{c}*estimate" for c in (3, 10, 30)]
    bodies += [f"{c}*estimate*sqrt(sqrt(procs))" for c in (2, 5, 15)]
    bodies += [f"{c}*estimate*sqrt(procs)" for c in (1, 3, 10)]
    bodies += [f"min({body}, 12*3600)" for body in bodies]
    return [
        Configuration(f"formula:-(submit + {body})", backfill, "live:mean", admit_by=admit_by)
        for body in bodies
        for backfill in ("easy", "easy-sjbf")
        for admit_by in ("estimate", "requested")
    ]


class SearchLog(NamedTuple):
    """A trace to try configurations on. Arrays are by job in submit order, int64 (jobs,), seconds. rows: the columns by which `similar`
    finds classes of jobs, in the same order."""

    submit: NDArray[np.int64]
    runtime: NDArray[np.int64]
    procs: NDArray[np.int64]
    requested: NDArray[np.int64]
    rows: pl.DataFrame
    cluster_procs: int

    def part(self, jobs: slice) -> SearchLog:
        """Some of the jobs, in their order."""
        columns = (column[jobs] for column in (self.submit, self.runtime, self.procs, self.requested))
        submit, runtime, procs, requested = columns
        return SearchLog(submit, runtime, procs, requested, self.rows[jobs], self.cluster_procs)

    def jobs(self, estimates: Estimates | str, reserve_by: str = "estimate", admit_by: str = "estimate") -> Jobs:
        """The simulator's jobs. Live estimates begin with the requests. Predicted ones come from the columns of `rows` that
        predictions.runtime_predictions has."""
        believed = Estimates.of(estimates)
        predicted = self.rows[believed.column].to_numpy() if believed.is_predicted else None
        columns = (self.submit, self.runtime, self.procs, self.requested)
        return jobs_from_log(*columns, believed.at_submission, predicted, reserve_by=reserve_by, admit_by=admit_by)


class ReplayOutcome(NamedTuple):
    """Average bounded slowdown, average wait and 99th percentile of waits in s. Then the share of jobs underestimated, and the share of
    reservations that were delayed by an underestimate (or, with an order other than FCFS, by a later job). Last the mean delay of
    these reservations in s."""

    bounded_slowdown: float
    wait_s: float
    p99_wait_s: float
    underestimated_share: float
    delayed_share: float
    mean_delay_s: float


@dataclass(frozen=True)
class TriedReplay:
    """A replay under a configuration, and what the scheduler used of run times."""

    replayed: Replayed
    live: LiveReplay

    @property
    def outcome(self) -> ReplayOutcome:
        """The outcome of the scored jobs."""
        jobs, scored = self.replayed.jobs, self.replayed.scored
        wait, runtime = (self.replayed.schedule.start - jobs.submit)[scored], jobs.runtime[scored]
        fate = self.live.fate(jobs, scored)
        return ReplayOutcome(
            float(bounded_slowdown(wait, runtime).mean()),
            float(wait.mean()),
            float(np.percentile(wait, 99)),
            fate["jobs_underestimated"] / len(wait),
            fate["reservations_delayed"] / max(fate["reservations"], 1),
            float(fate["mean_reservation_delay_s"]),
        )


def replay_configuration(log: SearchLog, configuration: Configuration, first_scored: int = 0) -> TriedReplay:
    """A replay of the whole log, of which the jobs from position `first_scored` on are scored."""
    believed = Estimates.parse(configuration.estimates)
    reserve_by = configuration.reserve_by if believed.may_underestimate else "estimate"
    jobs = log.jobs(believed, reserve_by, configuration.admit_by)
    order, backfill, correction = configuration.order, configuration.backfill, configuration.correction
    if backfill == "conservative":  # every job has a reservation, so none gets one as a blocked head
        schedule = replay(jobs, log.cluster_procs, order, backfill, correction=correction)
        live = LiveReplay(schedule, jobs.estimate, np.full(len(jobs), -1))
    else:
        settings = LiveSettings(believed.statistic, configuration.factor, reserve_by, configuration.admit_by)
        live = replay_live(jobs, log.rows, log.cluster_procs, order, backfill, correction, settings)
    scored = scored_after(len(jobs), first_scored)
    return TriedReplay(Replayed(jobs, log.cluster_procs, live.schedule, scored), live)


@dataclass(frozen=True)
class TriedUse:
    """A configuration on the choosing part. verdict: compared with EASY."""

    configuration: Configuration
    verdict: PolicyVerdict

    @property
    def dominates(self) -> bool:
        """Whether it dominates EASY by the limits of a search."""
        return all(dominates_in_search(ratios) for ratios in self.verdict.ratios)

    @property
    def value(self) -> float:
        """What the search minimizes. Where no guard is broken, it is the value by which policies are ranked."""
        return float(np.mean([guarded_value(ratios) for ratios in self.verdict.ratios]))


def dominates_in_search(ratios: Ratios) -> bool:
    """Whether it dominates FCFS, and keeps the stricter limits of a search, too."""
    guards = [ratios.guards[name] for name in SEARCHED_GUARDS if name in ratios.guards]
    return ratios.dominates and max(guards) <= SEARCH_GUARD


@dataclass(frozen=True)
class ChoosingPart:
    """The first part of a log, of which the jobs from `first_scored` on are scored. easy: the panel of EASY."""

    log: SearchLog
    easy: Panel
    first_scored: int

    @classmethod
    def of(cls, log: SearchLog) -> ChoosingPart:
        """The jobs at the beginning let queues form, as in the search for a priority key."""
        first = searched_jobs(len(log.submit)).start
        return cls(log, replay_configuration(log, EASY, first).replayed.panel(), first)

    def tried(self, configuration: Configuration) -> TriedUse:
        """Replays the part under the configuration."""
        panel = replay_configuration(self.log, configuration, self.first_scored).replayed.panel()
        return TriedUse(configuration, verdict_of([panel], [self.easy]))


def cloud_beside_easy(log: SearchLog, first_scored: int) -> ChanceCloud:
    """What random orders reach beside EASY, over the jobs from position `first_scored` on."""
    easy = replay_configuration(log, EASY, first_scored).replayed
    orders = random_orders(len(easy.jobs))
    return cloud_around(easy, lambda order: replay(easy.jobs, log.cluster_procs, order, EASY.backfill), orders)


class HeldOutPart:
    """The jobs of a log that were not used for choosing, scored inside replays that begin with the first job of the log."""

    def __init__(self, log: SearchLog, first_scored: int, shifts: Sequence[int]) -> None:
        """Jobs from position `first_scored` on are scored. shifts: jobs that are left out at the beginning, one start for each, where
        a configuration learns from its own replay. The first one is 0."""
        self._log, self._first_scored = log, first_scored
        self._starts = [shift for shift in shifts if shift < first_scored] or [0]
        self._easy: dict[int, Replayed] = {}

    def judged(self, configuration: Configuration) -> tuple[TriedReplay, Judgement]:
        """The replay of the whole log, and the judgement against EASY over all starts."""
        is_live = Estimates.parse(configuration.estimates).is_live
        starts = self._starts if is_live else [0]
        for shift in starts:
            if shift not in self._easy:
                self._easy[shift] = self._from(shift, EASY).replayed
        replays = [self._from(shift, configuration) for shift in starts]
        return replays[0], judge([each.replayed for each in replays], [self._easy[shift] for shift in starts])

    def _from(self, shift: int, configuration: Configuration) -> TriedReplay:
        return replay_configuration(self._log.part(slice(shift, None)), configuration, self._first_scored - shift)
