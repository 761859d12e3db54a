"""Hours in which some jobs never start, and minutes of the day past which no job runs, read off a log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from models.identification.levels import HeldMoments
from models.identification.logged_jobs import StartedJobs
from models.identification.rules import BOUNDARY, HOURS, Edge, Evidence, IdentifiedRule
from simulator.limits.hours import DAY_MINUTES, wall_clock
from traces.cluster.reservations import Gate

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

DAYS = {"working days": (0, 1, 2, 3, 4), "weekends": (5, 6), "all days": (0, 1, 2, 3, 4, 5, 6)}
STEP_MINUTES = 30
STEPS = DAY_MINUTES // STEP_MINUTES
ROUND_HOURS = (1, 2, 4, 6, 8, 12, 24)
"""Requests that a gate may stop what is above of, besides those that jobs ask for most often."""
COMMON_REQUESTS = 6
MOST_GATES = 6
LEAST_SURPRISE = 20.0
"""Log-likelihood ratio that closed hours must have against starts at all hours alike."""
FEW_STARTS = 0.1
"""Share of the starts that were to be expected in closed hours that may be there."""
FEW_CROSSING = 0.35
"""Share of the usual number of running jobs that may run past a boundary."""
SHORTEST_DAYS = 14
"""Of a log in which hours are looked for."""


def timezones_of(log: StartedJobs) -> tuple[str, ...]:
    """Clocks on the wall that the hours may be of: the cluster's, and that without summer time. Empty where the log has no dates."""
    if log.zero_s is None:
        return ()
    january = datetime.fromtimestamp(log.zero_s + int(log.jobs.submit[0]), ZoneInfo(log.time_zone)).replace(
        month=1, day=15
    )
    offset = january.utcoffset()
    hours = 0 if offset is None else round(offset.total_seconds() / 3600)
    fixed = f"Etc/GMT{-hours:+d}" if hours else "Etc/UTC"
    names = (log.time_zone, fixed)
    seconds = log.zero_s + np.linspace(log.jobs.submit[0], log.jobs.submit[-1], 50).astype(np.int64)
    same = np.array_equal(wall_clock(seconds, names[0])[0], wall_clock(seconds, names[1])[0])
    return names[:1] if same else names


@dataclass(frozen=True)
class _Closed:
    surprise: float
    gate: Gate
    starts: int
    expected: float


def gates_seen(log: StartedJobs, moments: HeldMoments) -> list[IdentifiedRule]:
    """Gates, the most surprising first: hours in which jobs above a request, or above a number of processors, waited and hardly any
    started."""
    if _days(log) < SHORTEST_DAYS:
        return []
    seen: list[_Closed] = []
    for timezone in timezones_of(log):
        clocks = _Clocks(log, moments, timezone)
        for words in _stopped(log):
            seen += clocks.closed(words)
    seen.sort(key=lambda each: -each.surprise)
    return [_gate_rule(each) for each in _different(seen)[:MOST_GATES]]


def _days(log: StartedJobs) -> float:
    return float(log.jobs.submit[-1] - log.jobs.submit[0]) / 86_400


def _stopped(log: StartedJobs) -> Iterator[dict[str, int | str]]:
    """What a gate may stop: everything, or what asks for more than some time or processors, in all queues or in one."""
    yield {}
    requests, counts = np.unique(log.jobs.limit, return_counts=True)
    common = requests[np.argsort(-counts, kind="stable")[:COMMON_REQUESTS]].tolist()
    for over in sorted({*common, *(hours * 3600 for hours in ROUND_HOURS)}):
        yield {"over_time_s": int(over)}
    for over in np.unique(np.quantile(log.jobs.procs, (0.5, 0.75, 0.9), method="inverted_cdf")).tolist():
        yield {"over_cpus": int(over)}
    queues = log.holders.get("queue")
    for name in queues.names if queues is not None and len(queues.names) > 1 else ():
        yield {"partition": name}


class _Clocks:
    """Starts and waiting of a log by the clock on the wall of one time zone."""

    def __init__(self, log: StartedJobs, moments: HeldMoments, timezone: str) -> None:
        self.log, self.moments, self.timezone = log, moments, timezone
        zero = log.zero_s or 0
        self.start_step, self.start_day = _steps(zero + log.start, timezone)
        self.wait_step, self.wait_day = _steps(zero + moments.second, timezone)

    def closed(self, words: dict[str, int | str]) -> Iterator[_Closed]:
        """The most surprising hours of each group of days."""
        stops = stopped_by(self.log, words)
        for days in DAYS.values():
            starts = self._by_step(stops & np.isin(self.start_day, days), self.start_step, None)
            waits = stops[self.moments.job] & np.isin(self.wait_day, days)
            waited = self._by_step(waits, self.wait_step, self.moments.weight)
            best = _most_surprising(starts, waited)
            if best is not None:
                begin, length, surprise, count, expected = best
                span = (begin * STEP_MINUTES, (begin + length) * STEP_MINUTES % DAY_MINUTES)
                gate = Gate(days, *span, timezone=self.timezone, **words)  # type: ignore[arg-type]
                yield _Closed(surprise, gate, count, expected)

    @staticmethod
    def _by_step(chosen: NDArray[np.bool_], step: IntArray, weight: FloatArray | None) -> FloatArray:
        weights = None if weight is None else weight[chosen]
        return np.bincount(step[chosen], weights=weights, minlength=STEPS).astype(np.float64)


def stopped_by(log: StartedJobs, words: dict[str, int | str]) -> NDArray[np.bool_]:
    """The jobs that a gate of these words is about, bool (jobs,)."""
    stops = np.ones(len(log.jobs), dtype=np.bool_)
    if "over_time_s" in words:
        stops &= log.jobs.limit > int(words["over_time_s"])
    if "over_cpus" in words:
        stops &= log.jobs.procs > int(words["over_cpus"])
    if words.get("partition"):
        queues = log.holders["queue"]
        stops &= queues.number == queues.names.index(str(words["partition"]))
    return stops


def _steps(seconds: IntArray, timezone: str) -> tuple[IntArray, IntArray]:
    minute, day = wall_clock(seconds, timezone)
    return minute // STEP_MINUTES, day


def _most_surprising(starts: FloatArray, waited: FloatArray) -> tuple[int, int, float, int, float] | None:
    """Begin and length (steps) of the hours whose few starts are least like those at other hours, with their log-likelihood ratio, starts,
    and the starts that were to be expected. None where none is surprising."""
    if starts.sum() < LEAST_SURPRISE or waited.sum() == 0:
        return None
    best: tuple[int, int, float, int, float] | None = None
    for length in range(2, STEPS):
        inside = np.array([np.take(starts, range(b, b + length), mode="wrap").sum() for b in range(STEPS)])
        under = np.array([np.take(waited, range(b, b + length), mode="wrap").sum() for b in range(STEPS)])
        rate = (starts.sum() - inside) / np.maximum(waited.sum() - under, 1.0)
        expected = under * np.minimum(rate, starts.sum() / waited.sum() * 4)
        surprise = expected - inside + inside * np.log(np.maximum(inside, 1e-9) / np.maximum(expected, 1e-9))
        surprise[inside > FEW_STARTS * expected] = 0.0
        k = int(np.argmax(surprise))
        if surprise[k] >= LEAST_SURPRISE and (best is None or surprise[k] > best[2]):
            best = (k, length, float(surprise[k]), int(inside[k]), float(expected[k]))
    return best


def _different(seen: list[_Closed]) -> list[_Closed]:
    """The closed hours of which none is much like a more surprising one."""
    kept: list[_Closed] = []
    for each in seen:
        if not any(_alike(each.gate, other.gate) for other in kept):
            kept.append(each)
    return kept


def _alike(gate: Gate, other: Gate) -> bool:
    same = (gate.days, gate.over_cpus, gate.partition, gate.timezone) == (
        other.days,
        other.over_cpus,
        other.partition,
        other.timezone,
    )
    times = [0 if each.over_time_s is None else each.over_time_s for each in (gate, other)]
    near = max(times) <= 1.5 * min(times)
    return same and near


def _gate_rule(closed: _Closed) -> IdentifiedRule:
    evidence = Evidence(starts=round(closed.expected), broken=closed.starts)
    return IdentifiedRule(HOURS, "queue" if closed.gate.partition else "all", gate=closed.gate, evidence=evidence)


def boundaries_seen(log: StartedJobs) -> list[IdentifiedRule]:
    """Minutes of the day past which hardly any job runs, all of them together first, then each alone."""
    if _days(log) < SHORTEST_DAYS:
        return []
    made: list[IdentifiedRule] = []
    for timezone in timezones_of(log):
        for days in DAYS.values():
            minutes = _rarely_crossed(log, timezone, days)
            for count in range(min(len(minutes), 2), 0, -1):
                for some in combinations(minutes[:3], count):
                    edges = tuple(Edge(days, minute, timezone) for minute, _, _ in some)
                    evidence = Evidence(
                        starts=round(sum(usual for _, _, usual in some)), broken=sum(across for _, across, _ in some)
                    )
                    made.append(IdentifiedRule(BOUNDARY, "all", edges=edges, evidence=evidence))
    return made


def _rarely_crossed(log: StartedJobs, timezone: str, days: tuple[int, ...]) -> list[tuple[int, int, float]]:
    """Minute of the day, running jobs past it in all, and running jobs at a usual minute, for those that are a valley among the others."""
    zero = log.zero_s or 0
    begin, end = int(log.jobs.submit[0]), int(log.jobs.submit[-1])
    step = STEP_MINUTES * 60
    seconds = np.arange((zero + begin) // step * step, zero + end, step)
    minute, day = wall_clock(seconds, timezone)
    at = seconds - zero
    starts, ends = np.sort(log.start), np.sort(log.start + log.jobs.runtime)
    running = np.searchsorted(starts, at) - np.searchsorted(
        ends, at, side="right"
    )  # began before and ends after this second
    chosen = np.isin(day, days)
    across = np.bincount(minute[chosen] // STEP_MINUTES, running[chosen], STEPS).astype(np.float64)
    usual = float(np.median(across))
    low = [k for k in range(STEPS) if across[k] <= FEW_CROSSING * usual and across[k] == _around(across, k).min()]
    low.sort(key=lambda k: across[k])
    return [(k * STEP_MINUTES, int(across[k]), usual) for k in low] if usual >= LEAST_SURPRISE else []


def _around(values: FloatArray, place: int, reach: int = 2) -> FloatArray:
    return np.take(values, range(place - reach, place + reach + 1), mode="wrap")
