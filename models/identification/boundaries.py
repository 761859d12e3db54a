"""Minutes past which no job runs, and hours in which none does, read off a log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from models.identification.closed_hours import (
    DAY_STEPS,
    DAYS,
    LEAST_SURPRISE,
    SHORTEST_DAYS,
    STEP_MINUTES,
    days_of,
    timezones_of,
)
from models.identification.logged_jobs import StartedJobs
from models.identification.rules import BOUNDARY, Edge, Evidence, IdentifiedRule
from simulator.limits.hours import wall_clock

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

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
