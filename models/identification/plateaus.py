"""Limits that a log shows: what a holder's running jobs had at most while more of its jobs waited beside room for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.identification.levels import HeldMoments, HolderLevels, need_of
from models.identification.logged_jobs import Holders, StartedJobs
from models.identification.rules import LIMIT_KINDS, Evidence, IdentifiedRule

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


def common_limits(pressure: Pressure, kind: str, count: int = TRIED_BOUNDS) -> Iterator[IdentifiedRule]:
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
    for bound in sorted(values, key=lambda each: -values[each])[:count]:
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
