"""Which predictions, and what use of them, shorten waits: configurations of order, backfilling, estimate and correction.

`ChoosingPart` tries them on the first part of a log, under the guards of models/scheduling/search/priority_key.py.
`HeldOutPart` judges the chosen ones on the later jobs, inside replays from the first job of the log on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.chance import ChanceCloud, OnRandomOrder, cloud_around, random_orders
from models.judging.judge import Judgement, judge
from models.judging.panel import Panel, Replayed, scored_after
from models.judging.verdict import PolicyVerdict, verdict_of
from models.runtime.estimates import Estimates
from models.runtime.live import LiveReplay, LiveSettings, replay_live
from models.scheduling.search.priority_key import dominates_in_search, guarded_value, searched_jobs
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.metrics.metrics import bounded_slowdown

_DAY_S = 86_400


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


def predicted_configurations() -> dict[str, list[Configuration]]:
    """By family, the possible uses of predictions made at submission by any predictor (the one in use). They are no worse for
    conservative backfilling than for EASY, and need a correction once they have expired."""
    backfilling = [
        Configuration(backfill=backfill, estimates=estimates, reserve_by=reserve_by, correction=correction)
        for estimates in ("predicted", "predicted:p75", "predicted:p90")
        for backfill, reserve_by, correction in (
            ("easy-sjbf", "requested", "requested"),
            ("easy-sjbf", "estimate", "increments"),
            ("easy-sjbf", "estimate", "doubling"),
            ("conservative", "estimate", "increments"),
            ("conservative", "estimate", "doubling"),
        )
    ]
    ordering = [
        Configuration(f"formula:-(submit + {body})", "easy", estimates)
        for estimates in ("predicted", "predicted:p75")
        for body in ("10*estimate", "5*estimate*sqrt(sqrt(procs))", "3*estimate*sqrt(procs)", "10*estimate*sqrt(procs)")
    ]
    return {"backfilling": backfilling, "ordering": ordering}


def use_families() -> dict[str, list[Configuration]]:
    """All that is tried on a log with the predictions in use, by family. One configuration of each family is chosen."""
    predicted = predicted_configurations()
    return {
        "backfilling": backfilling_configurations() + predicted["backfilling"],
        "ordering": ordering_configurations() + predicted["ordering"],
    }


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

    @property
    def users(self) -> NDArray[np.int64]:
        """Number of each job's user, int64 (jobs,). All unknown users have one number."""
        return self.rows["user_name"].fill_null("").rank("dense").to_numpy().astype(np.int64)

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
    """A configuration on the choosing part. outcome, panel: of the log as it is. verdict: compared with EASY, with ratios of each trial."""

    configuration: Configuration
    outcome: ReplayOutcome
    panel: Panel
    verdict: PolicyVerdict

    @property
    def dominates(self) -> bool:
        """Whether it dominates EASY in every trial, by the limits of a search."""
        return all(dominates_in_search(ratios) for ratios in self.verdict.ratios)

    @property
    def value(self) -> float:
        """What the search minimizes, on average over the trials. Where no guard is broken, it is the value by which policies are ranked."""
        return float(np.mean([guarded_value(ratios) for ratios in self.verdict.ratios]))


@dataclass(frozen=True)
class ChoosingPart:
    """The first part of a log, as it is and in perturbed copies, which are trials. The jobs from `first_scored` on are scored in each.

    easy: panels of EASY, one for each trial.
    """

    trials: tuple[SearchLog, ...]
    easy: tuple[Panel, ...]
    first_scored: int

    @classmethod
    def of(cls, log: SearchLog, shakes: int, seed: int) -> ChoosingPart:
        """With `shakes` perturbed copies. The jobs at the beginning let queues form, as in the search for a priority key."""
        trials = (log, *(shaken(log, seed + k) for k in range(shakes)))
        first = searched_jobs(len(log.submit)).start
        return cls(trials, tuple(replay_configuration(each, EASY, first).replayed.panel() for each in trials), first)

    def tried(self, configuration: Configuration) -> TriedUse:
        """Replays every trial under the configuration."""
        replays = [replay_configuration(trial, configuration, self.first_scored) for trial in self.trials]
        panels = [each.replayed.panel() for each in replays]
        return TriedUse(configuration, replays[0].outcome, panels[0], verdict_of(panels, self.easy))


class SearchedUse(Protocol):
    """What a choice is made by, as in TriedUse."""

    @property
    def dominates(self) -> bool:
        """Whether it dominates EASY in every trial."""

    @property
    def value(self) -> float:
        """What the search makes small."""


def best_use(tried: Sequence[SearchedUse]) -> int:
    """The index of the configuration that dominates EASY in every trial and has the least value. Where none dominates, that of the
    least value, in which every payer costs."""
    return min(range(len(tried)), key=lambda k: (not tried[k].dominates, tried[k].value))


def cloud_beside_easy(log: SearchLog, first_scored: int, on_replayed: OnRandomOrder = lambda *_: None) -> ChanceCloud:
    """What random orders reach beside EASY, over the jobs from position `first_scored` on. on_replayed: as in
    models.judging.chance.cloud_around."""
    easy = replay_configuration(log, EASY, first_scored).replayed
    orders = random_orders(len(easy.jobs))
    return cloud_around(
        easy, lambda order: replay(easy.jobs, log.cluster_procs, order, EASY.backfill), orders, on_replayed=on_replayed
    )


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


def choose(merits: Mapping[str, Sequence[float]], leave_out: str | None = None) -> int:
    """The index of the configuration with the least mean merit over all traces but one. merits: by trace, one per
    configuration."""
    kept = [values for name, values in merits.items() if name != leave_out]
    return int(np.argmin(np.mean(kept, axis=0)))


def shaken(log: SearchLog, seed: int, most_s: int = 1800) -> SearchLog:
    """The log with its jobs a little later or earlier (input shaking: Tsafrir, Ouaknine and Feitelson 2007). The jobs that a user submits
    on one day move together, by up to `most_s` either way. One replay of one trace is one draw of a chaotic system, and this gives
    more."""
    return _moved(log, _by_group(log.users * 1_000_000 + log.submit // _DAY_S, seed, -most_s, most_s + 1))


def _by_group(group: NDArray[np.int64], seed: int, low: int, high: int) -> NDArray[np.int64]:
    """One draw per group, uniform in [low, high), for each job."""
    _, number = np.unique(group, return_inverse=True)
    return np.random.default_rng(seed).integers(low, high, number.max() + 1)[number]


def _moved(log: SearchLog, shift: NDArray[np.int64]) -> SearchLog:
    submit = np.maximum(log.submit + shift, 0)
    order = np.argsort(submit, kind="stable")
    return SearchLog(
        submit[order], log.runtime[order], log.procs[order], log.requested[order], log.rows[order], log.cluster_procs
    )
