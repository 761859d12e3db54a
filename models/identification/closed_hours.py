"""Minutes past which no job runs, and hours in which none runs or none starts, read off a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from models.identification.logged_jobs import HeldMoments, StartedJobs
from models.identification.rules import BOUNDARY, HOURS, Edge, Evidence, IdentifiedRule
from simulator.limits.rules import DAY_MINUTES, wall_clock
from traces.cluster.description import Gate

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

DAYS = {"working days": (0, 1, 2, 3, 4), "weekends": (5, 6), "all days": (0, 1, 2, 3, 4, 5, 6)}
STEP_MINUTES = 30
DAY_STEPS, SHORTEST_STEPS = DAY_MINUTES // STEP_MINUTES, 4
ROUND_HOURS = (1, 2, 4, 6, 8, 12, 24)
"""Requests that a gate may stop what is above of, besides those that jobs ask for most often."""
COMMON_REQUESTS, COMMON_SIZES = 16, 24
MOST_GATES = 8
"""Of those that stop long jobs, wide ones, and others each."""
LEAST_SURPRISE = 20.0
"""Log-likelihood ratio that closed hours must have against starts at all hours alike."""
FEW_STARTS = 0.1
"""Share of the starts that were to be expected in closed hours that may be there."""
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
    """Gates, the most surprising and least broken first: hours in which jobs above a request, or above a number of processors, waited and
    hardly any started."""
    if days_of(log) < SHORTEST_DAYS:
        return []
    seen: list[_Closed] = []
    for timezone in timezones_of(log):
        clocks = _Clocks(log, moments, timezone)
        for words in stopped_words(log):
            seen += clocks.closed(words)
    seen.sort(key=lambda each: -each.surprise * (1 - each.starts / (FEW_STARTS * each.expected)))
    counts: Counter[tuple[bool, bool]] = Counter()
    rules = []
    for each in _different(seen):
        stops = each.gate.over_time_s is not None, each.gate.over_cpus is not None
        counts[stops] += 1
        if counts[stops] <= MOST_GATES:
            rules.append(_gate_rule(each))
    return rules


def days_of(log: StartedJobs) -> float:
    """From the first submission to the last."""
    return float(log.jobs.submit[-1] - log.jobs.submit[0]) / 86_400


def stopped_words(log: StartedJobs) -> Iterator[dict[str, int | str]]:
    """What a gate may stop: everything, or what asks for more than some time or processors, in all queues or in one."""
    yield {}
    for over in sorted({*_common(log.jobs.limit, COMMON_REQUESTS), *(hours * 3600 for hours in ROUND_HOURS)}):
        yield {"over_time_s": over}
    for over in sorted(_common(log.jobs.procs, COMMON_SIZES)):
        yield {"over_cpus": over}
    queues = log.holders.get("queue")
    for name in queues.names if queues is not None and len(queues.names) > 1 else ():
        yield {"partition": name}


def _common(values: IntArray, count: int) -> list[int]:
    """The values that are there most often, without the largest of all."""
    different, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts[:-1], kind="stable")[:count]
    return [int(value) for value in different[order]]


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

    def evidence_of(self, gate: Gate) -> Evidence:
        """Starts that were to be expected in the hours of a gate, and those that were there."""
        stops = stopped_by(self.log, gate_words_of(gate))
        starts = self._by_step(stops & np.isin(self.start_day, gate.days), self.start_step, None)
        waits = stops[self.moments.job] & np.isin(self.wait_day, gate.days)
        waited = self._by_step(waits, self.wait_step, self.moments.weight)
        begin, length = gate.begin_minute // STEP_MINUTES, (gate.end_minute - gate.begin_minute) % DAY_MINUTES
        inside = np.isin(np.arange(DAY_STEPS), (begin + np.arange(length // STEP_MINUTES)) % DAY_STEPS)
        outside = max(float(waited[~inside].sum()), 1.0)
        rate = min(starts[~inside].sum() / outside, 4 * starts.sum() / max(waited.sum(), 1.0))
        return Evidence(starts=round(waited[inside].sum() * rate), broken=int(starts[inside].sum()))

    @staticmethod
    def _by_step(chosen: NDArray[np.bool_], step: IntArray, weight: FloatArray | None) -> FloatArray:
        weights = None if weight is None else weight[chosen]
        return np.bincount(step[chosen], weights=weights, minlength=DAY_STEPS).astype(np.float64)


def gate_evidence(log: StartedJobs, moments: HeldMoments, gate: Gate) -> Evidence:
    """What speaks for a gate."""
    return _Clocks(log, moments, gate.timezone).evidence_of(gate)


def gate_words_of(gate: Gate) -> dict[str, int | str]:
    """What a gate stops, as `stopped_words` has it."""
    words = {"over_time_s": gate.over_time_s, "over_cpus": gate.over_cpus, "partition": gate.partition}
    return {name: word for name, word in words.items() if word not in (None, "")}


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
    inside, under = _in_spans(starts), _in_spans(waited)
    rate = (starts.sum() - inside) / np.maximum(waited.sum() - under, 1.0)
    expected = under * np.minimum(rate, starts.sum() / waited.sum() * 4)
    surprise = expected - inside + inside * np.log(np.maximum(inside, 1e-9) / np.maximum(expected, 1e-9))
    surprise[inside > FEW_STARTS * expected] = 0.0
    length, begin = np.unravel_index(int(np.argmax(surprise)), surprise.shape)
    if surprise[length, begin] < LEAST_SURPRISE:
        return None
    place = (length, begin)
    return int(begin), int(length) + SHORTEST_STEPS, float(surprise[place]), int(inside[place]), float(expected[place])


def _in_spans(values: FloatArray) -> FloatArray:
    """Sums over all spans of the day, float64 (lengths from SHORTEST_STEPS on, begins)."""
    total = np.concatenate([[0.0], np.cumsum(np.concatenate([values, values]))])
    begin = np.arange(DAY_STEPS)
    return total[begin + np.arange(SHORTEST_STEPS, DAY_STEPS)[:, None]] - total[begin]


def _different(seen: list[_Closed]) -> list[_Closed]:
    """The closed hours of which none is much like a more surprising one."""
    kept: list[_Closed] = []
    for each in seen:
        if not any(_alike(each.gate, other.gate) for other in kept):
            kept.append(each)
    return kept


def _alike(gate: Gate, other: Gate) -> bool:
    """Clocks with and without summer time are alike."""
    same = (gate.days, gate.over_cpus, gate.partition) == (other.days, other.over_cpus, other.partition)
    times = [0 if each.over_time_s is None else each.over_time_s for each in (gate, other)]
    near = max(times) <= 1.5 * min(times)
    return same and near


def _gate_rule(closed: _Closed) -> IdentifiedRule:
    evidence = Evidence(starts=round(closed.expected), broken=closed.starts)
    return IdentifiedRule(HOURS, "queue" if closed.gate.partition else "all", gate=closed.gate, evidence=evidence)


# --- boundaries


FEW_CROSSING = 0.35
"""Share of the usual number of running jobs that may run past a boundary."""
FEW_RUNNING, FEWEST_STEPS, MOST_CLOSURES = 0.02, 3, 6
"""Of a closure that is tried: share of the usual number of running jobs, and half hours. Of each clock so many are tried."""


def boundaries_seen(log: StartedJobs) -> list[IdentifiedRule]:
    """Minutes of the day past which hardly any job runs. All of them together come first, then each alone."""
    if days_of(log) < SHORTEST_DAYS:
        return []
    made: list[IdentifiedRule] = []
    for timezone in timezones_of(log):
        step, running = _running_by_step(log, timezone)
        for days in DAYS.values():
            minutes = _rarely_crossed(step, running, days)
            for count in range(min(len(minutes), 2), 0, -1):
                for some in combinations(minutes[:3], count):
                    edges = tuple(Edge(days, minute, timezone) for minute, _, _ in some)
                    evidence = Evidence(
                        starts=round(sum(usual for _, _, usual in some)), broken=sum(across for _, across, _ in some)
                    )
                    made.append(IdentifiedRule(BOUNDARY, "all", edges=edges, evidence=evidence))
    return made


def closures_seen(log: StartedJobs) -> list[IdentifiedRule]:
    """Hours in which hardly any job ever runs. Those of several days come first, and the longest before shorter ones."""
    if days_of(log) < SHORTEST_DAYS:
        return []
    made: list[IdentifiedRule] = []
    for timezone in timezones_of(log):
        step, running = _running_by_step(log, timezone)
        across = np.bincount(step, running, 7 * DAY_STEPS)
        usual = float(np.median(across))
        if usual < LEAST_SURPRISE:
            continue
        spans = [(begin, count) for begin, count in _spans(across <= FEW_RUNNING * usual) if count >= FEWEST_STEPS]
        edges: dict[Edge, Evidence] = {}
        for begin, count in spans:
            place, length = begin % DAY_STEPS, count - 1
            days = {other // DAY_STEPS for other, steps in spans if (other % DAY_STEPS, steps) == (place, count)}
            same = [group for group in DAYS.values() if days.issuperset(group)] or [(begin // DAY_STEPS,)]
            inside = np.take(across, range(begin, begin + count), mode="wrap").sum()
            edge = Edge(same[-1], place * STEP_MINUTES, timezone, length * STEP_MINUTES)
            edges[edge] = Evidence(starts=round(usual * count), broken=int(inside))
        order = sorted(edges, key=lambda edge: (-len(edge.days), -edge.minutes))[:MOST_CLOSURES]
        made += [IdentifiedRule(BOUNDARY, "all", edges=(edge,), evidence=edges[edge]) for edge in order]
    return made


def _running_by_step(log: StartedJobs, timezone: str) -> tuple[IntArray, IntArray]:
    """Of each half hour of a log: its place in the week, and how many jobs run past its first second."""
    zero = log.zero_s or 0
    begin, end = int(log.jobs.submit[0]), int(log.jobs.submit[-1])
    width = STEP_MINUTES * 60
    seconds = np.arange((zero + begin) // width * width, zero + end, width)
    minute, day = wall_clock(seconds, timezone)
    starts, ends = np.sort(log.start), np.sort(log.start + log.jobs.runtime)
    at = seconds - zero
    running = np.searchsorted(starts, at) - np.searchsorted(ends, at, side="right")
    return day * DAY_STEPS + minute // STEP_MINUTES, running


def _rarely_crossed(step: IntArray, running: IntArray, days: tuple[int, ...]) -> list[tuple[int, int, float]]:
    """Minute of the day, running jobs past it in all, and running jobs at a usual minute, for those that are a valley among the others."""
    chosen = np.isin(step // DAY_STEPS, days)
    across = np.bincount(step[chosen] % DAY_STEPS, running[chosen], DAY_STEPS).astype(np.float64)
    usual = float(np.median(across))
    low = [k for k in range(DAY_STEPS) if across[k] <= FEW_CROSSING * usual and across[k] == _around(across, k).min()]
    low.sort(key=lambda k: across[k])
    return [(k * STEP_MINUTES, int(across[k]), usual) for k in low] if usual >= LEAST_SURPRISE else []


def _around(values: FloatArray, place: int, reach: int = 2) -> FloatArray:
    return np.take(values, range(place - reach, place + reach + 1), mode="wrap")


def _spans(chosen: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First place and length of each run of chosen places on a circle that is not chosen everywhere."""
    for begin in np.flatnonzero(chosen & ~np.roll(chosen, 1)).tolist():
        count = 1
        while chosen[(begin + count) % len(chosen)]:
            count += 1
        yield begin, count
