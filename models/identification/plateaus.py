"""Limits that a log shows: what a holder's running jobs had at most while more of its jobs waited beside room for them.

Limits whose bounds differ by holder, and may change: read from what each holder had while more of its jobs waited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.identification.logged_jobs import HeldMoments, HolderLevels, Holders, StartedJobs, need_of
from models.identification.rules import LIMIT_KINDS, OUTSTANDING_CPU, RUNNING_CPU, Bound, Evidence, IdentifiedRule

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

FEWEST_STARTS = 20
"""Starts while more jobs wait, of a holder whose bound is looked at."""
RARE = 0.02
"""Share of its starts in which a holder may break a bound that it keeps."""
TRIED_BOUNDS = 5
"""Bounds of one kind and scope that are tried for everybody."""


@dataclass(frozen=True)
class Pressure:
    """What the holders of a scope had, by kind of limit, when more of their jobs waited. All arrays (starts,) or (moments,).

    starter, start, after: holder, second and level behind each start while more jobs of the holder wait.
    holder, second, weight, wanted: of a moment at which a job waited beside room. They are its holder, when, the seconds that it stands
    for, and the level if the job had started.
    runner, level: holder and level behind every start, (jobs,).
    """

    scope: str
    names: tuple[str, ...]
    starter: IntArray
    start: IntArray
    after: dict[str, IntArray]
    holder: IntArray
    second: IntArray
    weight: FloatArray
    wanted: dict[str, IntArray]
    runner: IntArray
    level: dict[str, IntArray]

    def without(self, holders: list[int]) -> Pressure:
        """What the others had."""
        start, moment = (~np.isin(each, holders) for each in (self.starter, self.holder))
        return replace(
            self,
            starter=self.starter[start],
            start=self.start[start],
            after={kind: level[start] for kind, level in self.after.items()},
            holder=self.holder[moment],
            second=self.second[moment],
            weight=self.weight[moment],
            wanted={kind: level[moment] for kind, level in self.wanted.items()},
        )


def pressure_of(log: StartedJobs, scope: str, moments: HeldMoments) -> Pressure:
    """What the holders of a scope had. scope: one that the log has, or "all"."""
    holders = holders_of(log, scope)
    number = holders.number
    levels = HolderLevels(log, number)
    owned = np.flatnonzero(number >= 0)
    was_held = np.zeros(len(number), dtype=np.bool_)
    was_held[moments.job] = True
    waiting = levels.waiting(number[owned], log.start[owned])
    is_pressed = (waiting > 0) & was_held[owned]
    pressed, level_behind = owned[is_pressed], levels.at(number[owned], log.start[owned])
    after = {kind: behind[is_pressed] for kind, behind in level_behind.items()}
    has_holder = number[moments.job] >= 0
    job, second = moments.job[has_holder], moments.second[has_holder]
    holder, need = number[job], need_of(log, job)
    level = levels.at(holder, second)
    weight = moments.weight[has_holder] / np.maximum(levels.waiting(holder, second), 1)
    wanted = {kind: level[kind] + need[kind] for kind in LIMIT_KINDS}
    starts = number[pressed], log.start[pressed], after
    return Pressure(scope, holders.names, *starts, holder, second, weight, wanted, number[owned], level_behind)


def holders_of(log: StartedJobs, scope: str) -> Holders:
    """Of a scope: for "all" one holder of all jobs."""
    return Holders(np.zeros(len(log.jobs), dtype=np.int64), ("",)) if scope == "all" else log.holders[scope]


def common_limits(pressure: Pressure, kind: str) -> Iterator[IdentifiedRule]:
    """Limits that may hold for every holder of the scope, the likeliest first, each with its evidence."""
    after, wanted = pressure.after[kind], pressure.wanted[kind]
    if len(after) < FEWEST_STARTS or not len(wanted):
        return
    values: dict[int, float] = {}
    best, gain = likeliest_bound(after, wanted, pressure.weight)
    values[best] = gain
    values.setdefault(int(np.quantile(after, 1 - RARE / 4)), 0.0)
    starts = np.bincount(pressure.starter, minlength=len(pressure.names))
    moments = np.bincount(pressure.holder, minlength=len(pressure.names))
    for holder in np.flatnonzero((starts >= FEWEST_STARTS) & (moments > 0)):
        own = pressure.holder == holder
        bound, gain = likeliest_bound(after[pressure.starter == holder], wanted[own], pressure.weight[own])
        values[bound] = values.get(bound, 0.0) + gain * float(np.sqrt(starts[holder]))
    for bound in sorted(values, key=lambda each: -values[each])[:TRIED_BOUNDS]:
        rule = IdentifiedRule(kind, pressure.scope, bound)
        yield replace(rule, evidence=evidence_of(pressure, kind, bound))


def likeliest_bound(after: IntArray, wanted: IntArray, weight: FloatArray) -> tuple[int, float]:
    """The bound for which the share of waiting that it explains, less the share of starts that it forbids, is largest, and that difference.

    after: levels behind starts. wanted: levels if a waiting job had started."""
    bounds = np.unique(np.quantile(after, np.linspace(0.05, 1, 96), method="inverted_cdf"))
    order = np.argsort(wanted)
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    explained = 1 - total[np.searchsorted(wanted[order], bounds, side="right")] / max(total[-1], 1e-9)
    broken = 1 - np.searchsorted(np.sort(after), bounds, side="right") / len(after)
    best = int(np.argmax(explained - broken))
    return int(bounds[best]), float(explained[best] - broken[best])


def evidence_of(pressure: Pressure, kind: str, bound: int) -> Evidence:
    """What speaks for a bound of everybody."""
    after, wanted, names = pressure.after[kind], pressure.wanted[kind], len(pressure.names)
    would_be_over = wanted > bound
    could = np.bincount(pressure.holder[would_be_over], minlength=names) > 0
    starts = np.bincount(pressure.starter, minlength=names)
    broken = np.bincount(pressure.starter[after > bound], minlength=names)
    could |= broken > 0
    total = float(pressure.weight.sum())
    return Evidence(
        holders=int(could.sum()),
        kept=int((could & (broken <= RARE * starts)).sum()),
        starts=len(after),
        broken=int(broken.sum()),
        explained=float(pressure.weight[would_be_over].sum()) / total if total else 0.0,
    )


# --- own bounds


MONTH_S = 30 * 86_400
BOUND_QUANTILES = (0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
"""Of the levels behind a holder's starts while more of its jobs waited: where its bound may be."""
PAST_MONTHS = (1, 2, 3)
"""Months of the past that the bounds of a month are read from."""
SHORTEST_MONTHS = 6
"""Of a log in which bounds are looked for that change."""
FLOOR_MONTHS = 12
"""No bound that changes is below the median of all holders' bounds in so many months. A quiet month makes no limit."""
FEWEST_HOLDERS = 3
"""Holders with bounds that change. The changes of one or two may be those of the cluster."""
LEAST_GAIN = 0.3
"""Of a bound that does not change: share of waiting that it explains, less the share of starts that it forbids."""
LEAST_GAIN_OF_FEW = 0.1
"""The same of what runs of a queue. There are few of them, and each is replayed alone."""
FEW_BOUNDS = 3
"""So many bounds of single holders are no more than any rule can have, and are judged by all that the search sees."""
TRIED_EXCEPTED, FEWEST_KEEPING, NEAR_PEAK = 3, 2, 0.98
"""Common bounds that are tried with exceptions, holders that must keep one without being an exception, and share of its peak at which a
holder is for half of its starts if that is a bound."""
NO_BOUND = -1


@dataclass(frozen=True)
class BoundReading:
    """How the bounds of each holder are read. months: of the past that the bounds of a month come from, None for bounds that do not change.
    quantile: of the levels behind starts, None for the likeliest. beside: whether the months after count too, which no scheduler could
    know."""

    quantile: float | None = None
    months: int | None = None
    beside: bool = False


def readings_for(seconds: int) -> list[BoundReading]:
    """The readings that are tried for a log of so many seconds."""
    readings = [BoundReading(), BoundReading(1.0)]
    if seconds >= SHORTEST_MONTHS * MONTH_S:
        readings += [BoundReading(quantile, months) for months in PAST_MONTHS for quantile in BOUND_QUANTILES]
    return readings


def own_limits(
    pressure: Pressure, kind: str, reading: BoundReading, span: tuple[int, int], procs: int
) -> IdentifiedRule | None:
    """The limit with bounds of each holder. None where no holder shows one. span: first and last second. procs: of the cluster."""
    most = procs if kind == RUNNING_CPU else 1 << 60
    if reading.months is None:
        bounds = tuple(_fixed(pressure, kind, reading, span, most))
        return IdentifiedRule(kind, pressure.scope, bounds=bounds) if bounds else None
    bounds = tuple(_changing(pressure, kind, reading, span, most))
    few = len({bound.holder for bound in bounds}) < FEWEST_HOLDERS
    return None if few else IdentifiedRule(kind, pressure.scope, bounds=bounds)


def excepted_limits(pressure: Pressure, kind: str, since_s: int, procs: int) -> Iterator[IdentifiedRule]:
    """Limits for everybody from which up to FEW_BOUNDS holders are excepted, each with a bound of its own. procs: of the cluster."""
    names, level = pressure.names, pressure.level[kind]
    plateaus = dict(_own_plateaus(pressure, kind))
    runs = np.bincount(pressure.runner, minlength=len(names))
    for rule in list(common_limits(pressure, kind))[:TRIED_EXCEPTED]:
        over = np.bincount(pressure.runner[level > rule.value], minlength=len(names))
        excepted = {
            holder: plateaus.get(holder, int(level[pressure.runner == holder].max()))
            for holder in np.flatnonzero(over > RARE * runs).tolist()
        }
        excepted |= {holder: bound for holder, bound in plateaus.items() if bound < rule.value}
        evidence = evidence_of(pressure.without(list(excepted)), kind, rule.value)
        if 0 < len(excepted) <= FEW_BOUNDS and evidence.kept >= FEWEST_KEEPING and rule.value < procs:
            bounds = tuple(Bound(names[holder], since_s, value) for holder, value in excepted.items())
            yield replace(rule, bounds=bounds, evidence=evidence)


def _own_plateaus(pressure: Pressure, kind: str) -> Iterator[tuple[int, int]]:
    """Holders whose levels show a bound, and that bound: it explains their waiting, or they are there most of the time."""
    starts = np.bincount(pressure.starter, minlength=len(pressure.names))
    for holder in np.flatnonzero(starts >= FEWEST_STARTS).tolist():
        after, held = pressure.after[kind][pressure.starter == holder], pressure.holder == holder
        bound, gain = likeliest_bound(after, pressure.wanted[kind][held], pressure.weight[held])
        if gain >= LEAST_GAIN or np.median(after) >= NEAR_PEAK * after.max():
            yield holder, bound if gain >= LEAST_GAIN else int(after.max())


def _fixed(pressure: Pressure, kind: str, reading: BoundReading, span: tuple[int, int], most: int) -> Iterator[Bound]:
    early, inside = pressure.start < span[1], pressure.second < span[1]
    after, wanted = pressure.after[kind], pressure.wanted[kind]
    starts = np.bincount(pressure.starter[early], minlength=len(pressure.names))
    least = LEAST_GAIN_OF_FEW if pressure.scope == "queue" and kind != OUTSTANDING_CPU else LEAST_GAIN
    for holder in np.flatnonzero(starts >= FEWEST_STARTS):
        levels, own = after[early & (pressure.starter == holder)], inside & (pressure.holder == holder)
        if not own.any():
            continue
        value, gain = likeliest_bound(levels, wanted[own], pressure.weight[own])
        if reading.quantile is not None:
            value = int(np.quantile(levels, reading.quantile, method="inverted_cdf"))
            over = pressure.weight[own][wanted[own] > value].sum() / pressure.weight[own].sum()
            gain = float(over - (levels > value).mean())
        if value < most and gain >= least:
            yield Bound(pressure.names[holder], span[0], value)


def _changing(
    pressure: Pressure, kind: str, reading: BoundReading, span: tuple[int, int], most: int
) -> Iterator[Bound]:
    months = range(span[0], span[1], MONTH_S)
    table = _levels_by_month(pressure, kind, reading, months)
    for month in range(len(months)):
        recent = table[:, max(0, month - FLOOR_MONTHS) : month + 1]
        if (recent != NO_BOUND).any():
            least = int(np.quantile(recent[recent != NO_BOUND], 0.5))
            table[:, month] = np.where(table[:, month] == NO_BOUND, NO_BOUND, np.maximum(table[:, month], least))
    table[table >= most] = NO_BOUND
    for holder in np.flatnonzero((table != NO_BOUND).any(axis=1)):
        current = NO_BOUND
        for month, value in zip(months, table[holder].tolist(), strict=True):
            if value != current:
                yield Bound(pressure.names[holder], month, None if value == NO_BOUND else value)
                current = value


def _levels_by_month(pressure: Pressure, kind: str, reading: BoundReading, months: range) -> IntArray:
    """The quantile of each holder's levels in the months before each month, NO_BOUND where too few starts show it, (holders, months)."""
    assert reading.months is not None and reading.quantile is not None
    order = np.lexsort((pressure.start, pressure.starter))
    starter, start, after = pressure.starter[order], pressure.start[order], pressure.after[kind][order]
    edges = np.searchsorted(starter, np.arange(len(pressure.names) + 1))
    table = np.full((len(pressure.names), len(months)), NO_BOUND, dtype=np.int64)
    reach = reading.months * MONTH_S
    for holder in np.flatnonzero(np.diff(edges) >= FEWEST_STARTS):
        own = slice(edges[holder], edges[holder + 1])
        for number, month in enumerate(months):
            end = month + MONTH_S
            first, here, behind, last = np.searchsorted(start[own], [month - reach, month, end, end + reach])
            levels = after[own][first:here]
            if reading.beside:
                levels = np.concatenate([levels, after[own][behind:last]])
            if len(levels) >= FEWEST_STARTS:
                table[holder, number] = np.quantile(levels, reading.quantile, method="inverted_cdf")
    return table
