"""Plants a rule into a generated cluster so that it matters, and keeps what the log then shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.machine import SizeOverTime
from studies.planted.clusters import CORES, ORDERS, PBS, SLURM, PlantedCluster, Workload, planted_workload, starts_on
from traces.cluster.accounts import Limit
from traces.cluster.description import AdvanceReservation, Gate

IntArray = NDArray[np.int64]
Plant = Callable[[np.random.Generator, Workload, PlantedCluster], Iterator[tuple[PlantedCluster, Workload]]]

NONE, LIMIT, HOURS, SHARES, RESERVED, CLASSES, SIZES = (
    "none", "limit", "hours", "shares", "reservation", "classes", "sizes",
)  # fmt: skip
KINDS: tuple[tuple[str, str, str, str, int], ...] = (
    (NONE, "", "", ORDERS, 36),
    (NONE, "", "", SLURM, 2),
    (NONE, "", "", PBS, 2),
    (LIMIT, "running jobs", "user", ORDERS, 17),
    (LIMIT, "running jobs", "user", SLURM, 3),
    (LIMIT, "running jobs", "user", PBS, 4),
    (LIMIT, "running jobs", "account", ORDERS, 10),
    (LIMIT, "running jobs", "queue", ORDERS, 10),
    (LIMIT, "running cpu", "user", ORDERS, 12),
    (LIMIT, "running cpu", "user", SLURM, 2),
    (LIMIT, "running cpu", "user", PBS, 2),
    (LIMIT, "running cpu", "account", ORDERS, 10),
    (LIMIT, "running cpu", "queue", ORDERS, 8),
    (LIMIT, "outstanding cpu", "user", ORDERS, 16),
    (LIMIT, "outstanding cpu", "account", ORDERS, 6),
    (LIMIT, "outstanding cpu", "queue", ORDERS, 4),
    (HOURS, "", "", ORDERS, 20),
    (SHARES, "", "", ORDERS, 12),
    (RESERVED, "", "", ORDERS, 8),
    (CLASSES, "", "", ORDERS, 8),
    (SIZES, "", "", ORDERS, 8),
)
"""Kind, what a limit counts, whose jobs together, the engine, and how many of 200."""
CLUSTERS = sum(kind[-1] for kind in KINDS)
LEAST_CHANGED, CHANGED_S = 0.05, 60
"""Share of the jobs, in each half of the log, that must start at another time with the rule than without."""
MOST_TIMES, MOST_MORE_S, MOST_WAIT_S = 4.0, 6 * 3600, 72 * 3600
"""A rule must not choke the cluster: the mean wait may be so many times that without it, and so much more."""
POLICIES = ("FCFS",) * 7 + ("SJF", "SAF", "bounded-key")
BACKFILLS = ("easy",) * 7 + ("any", "easy-sjbf", "none")
OTHER_POLICIES = (*POLICIES, "WFP3", "fairshare:half_life_days=7", "multifactor")
OTHER_BACKFILLS = (*BACKFILLS, "conservative", "conservative")
RUNNING_LADDER = (2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 30, 32, 40, 50, 64, 80, 100)
CPU_LADDER = (1 / 16, 1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2)
HOURS_LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 36)
"""Outstanding processor-seconds are so many hours of a part of the cluster."""
OWN_BOUNDS_SHARE, OWN_FACTORS = 0.2, (0.5, 2.0, 3.0)
"""Some limits by user have other bounds for the three busiest users."""
ATTEMPTS = 40
SLURM_JOBS = 1500
"""First jobs of a log of Slurm's engine, whose replays take longer."""
RESOURCES = {
    "running jobs": ("running", "jobs"),
    "running cpu": ("running", "cpu"),
    "outstanding cpu": ("outstanding", "cpu"),
}


@dataclass(frozen=True)
class PlantedLog:
    """kind, counts, scope: of the rule. cluster: with it. bare: the same without. start: of each job, int64 (jobs,), as the log has it.
    changed: share of the later half's jobs that the rule moved."""

    number: int
    kind: str
    counts: str
    scope: str
    workload: Workload
    cluster: PlantedCluster
    bare: PlantedCluster
    start: IntArray
    changed: float


def planted_log(number: int, series: int = 0, of: int = CLUSTERS) -> PlantedLog:
    """Cluster `number` of `of`, whose kinds are those of KINDS in proportion. series: another one has other seeds.

    Raises ValueError where nothing that was tried matters, which is a fault of this module."""
    kind, counts, scope, engine = _kind_of((number + 0.5) / of * CLUSTERS)
    for attempt in range(ATTEMPTS):
        seed = (series * 1000 + number) * 100 + attempt
        rng = np.random.default_rng([seed, 1])
        planted = _attempt(rng, (kind, counts, scope, engine), planted_workload(seed))
        if planted is not None:
            return replace(planted, number=number)
    raise ValueError(f"planted cluster {number} of series {series}: no {kind} {counts} {scope} mattered in {ATTEMPTS}")


def _kind_of(place: float) -> tuple[str, str, str, str]:
    for kind, counts, scope, engine, count in KINDS:
        place -= count
        if place < 0:
            return kind, counts, scope, engine
    raise ValueError("there are fewer planted clusters than that")


def _attempt(rng: np.random.Generator, kind: tuple[str, str, str, str], workload: Workload) -> PlantedLog | None:
    what, counts, scope, engine = kind
    if engine == SLURM:
        workload = replace(workload, rows=workload.rows.head(SLURM_JOBS))
    usual = what == NONE and engine == ORDERS
    bare = PlantedCluster(
        workload.procs,
        str(rng.choice(OTHER_POLICIES if usual else POLICIES if engine == ORDERS else ["FCFS"])),
        str(rng.choice(OTHER_BACKFILLS if usual else BACKFILLS if engine == ORDERS else ["easy"])),
        engine=engine,
    )
    if what == NONE:
        start = _starts(bare, workload)
        good = start is not None and float((start - workload.jobs.submit).mean()) <= MOST_WAIT_S
        return PlantedLog(0, what, "", "", workload, bare, bare, start, 0.0) if good and start is not None else None
    planter = _limits(counts, scope) if what == LIMIT else PLANTERS[what]
    tried = list(planter(rng, workload, bare))
    for place in rng.permutation(len(tried)):
        cluster, changed_workload = tried[place]
        planted = _if_it_matters(cluster, bare, changed_workload)
        if planted is not None:
            return replace(planted, kind=what, counts=counts, scope=scope)
    return None


def _if_it_matters(cluster: PlantedCluster, bare: PlantedCluster, workload: Workload) -> PlantedLog | None:
    by_orders = [_starts(replace(each, engine=ORDERS), workload) for each in (cluster, bare)]
    if by_orders[0] is None or by_orders[1] is None:
        return None
    ruled, free = by_orders
    moved = np.abs(ruled - free) > CHANGED_S
    waits = [float((start - workload.jobs.submit).mean()) for start in (ruled, free)]
    halves = [float(moved[workload.later_half].mean()), float(moved[~workload.later_half].mean())]
    if min(halves) < LEAST_CHANGED or waits[0] > min(MOST_TIMES * waits[1] + MOST_MORE_S, MOST_WAIT_S):
        return None
    start = ruled if cluster.engine == ORDERS else _starts(cluster, workload)
    return None if start is None else PlantedLog(0, "", "", "", workload, cluster, bare, start, halves[0])


def _starts(cluster: PlantedCluster, workload: Workload) -> IntArray | None:
    try:
        return starts_on(cluster, workload, is_true=True)
    except ValueError:  # some job can never start
        return None


def _limits(counts: str, scope: str) -> Plant:
    def plant(
        rng: np.random.Generator, workload: Workload, bare: PlantedCluster
    ) -> Iterator[tuple[PlantedCluster, Workload]]:
        rows, procs = workload.rows, workload.procs
        owner = ("partition", str(rng.choice(["normal", "long"]))) if scope == "queue" else ("cluster", "")
        each = "all" if scope == "queue" else scope
        bounds = {
            "running jobs": RUNNING_LADDER,
            "running cpu": [max(int(procs * share) // CORES, 1) * CORES for share in CPU_LADDER],
            "outstanding cpu": [procs * share * hours * 900 for share in (1, 2) for hours in HOURS_LADDER],
        }[counts]
        by_user = scope == "user" and bare.engine == ORDERS and rng.random() < OWN_BOUNDS_SHARE
        busiest = rows["user_name"].value_counts(sort=True)["user_name"].head(len(OWN_FACTORS)).to_list()
        for bound in bounds:
            limits = [Limit(*owner, RESOURCES[counts][0], each, RESOURCES[counts][1], int(bound))]
            if by_user:
                own = zip(busiest, rng.permutation(OWN_FACTORS), strict=True)
                limits += [replace(limits[0], who=user, bound=max(int(bound * factor), 1)) for user, factor in own]
            least = min(limit.bound for limit in limits)
            narrowed = _within(workload, counts, least, owner[1])
            yield replace(bare, limits=tuple(limits)), narrowed

    return plant


def _within(workload: Workload, counts: str, bound: int, queue: str) -> Workload:
    """Nobody submits a job that a limit could never let start: wider jobs are cut, and requests that are too long stay."""
    if counts == "running jobs":
        return workload
    most = pl.lit(bound) if counts == "running cpu" else (bound // pl.col("requested_walltime_s")).clip(1)
    narrow = pl.min_horizontal("procs", most)
    if queue:
        narrow = pl.when(pl.col("queue") == queue).then(narrow).otherwise("procs")
    return replace(workload, rows=workload.rows.with_columns(narrow.cast(pl.Int64).alias("procs")))


def _hours(
    rng: np.random.Generator, workload: Workload, bare: PlantedCluster
) -> Iterator[tuple[PlantedCluster, Workload]]:
    days = tuple(range(5 if rng.random() < 0.7 else 7))
    begin, end = int(rng.integers(6, 11)) * 60, int(rng.integers(16, 21)) * 60
    if rng.random() < 0.2:
        begin, end = end, begin  # by night
    for hours in (1, 2, 4, 8, 12):
        yield replace(bare, gates=(Gate(days, begin, end, hours * 3600, timezone=workload.time_zone),)), workload
    for share in (1 / 16, 1 / 8, 1 / 4):
        cpus = int(workload.procs * share)
        yield replace(bare, gates=(Gate(days, begin, end, None, cpus, timezone=workload.time_zone),)), workload


def _shares(
    rng: np.random.Generator, workload: Workload, bare: PlantedCluster
) -> Iterator[tuple[PlantedCluster, Workload]]:
    for days in (1, 3, 7, 14):
        yield replace(bare, policy=f"fairshare:half_life_days={days}"), workload


def _reservations(
    rng: np.random.Generator, workload: Workload, bare: PlantedCluster
) -> Iterator[tuple[PlantedCluster, Workload]]:
    first = datetime.fromtimestamp(workload.zero_s, ZoneInfo(workload.time_zone)).replace(hour=0)
    for weekday in range(5):
        moment = (first + timedelta(days=weekday)).replace(hour=int(rng.integers(5, 11)))
        begin_s = int(moment.timestamp())
        end_s = begin_s + 3600 * int(rng.integers(4, 13))
        yield (
            replace(
                bare,
                reservations=(
                    AdvanceReservation("maintenance", begin_s, end_s, repeats="weekly", timezone=workload.time_zone),
                ),
            ),
            workload,
        )


def _classes(
    rng: np.random.Generator, workload: Workload, bare: PlantedCluster
) -> Iterator[tuple[PlantedCluster, Workload]]:
    """Each queue owns nodes, about as many as its work needs."""
    rows, procs = workload.rows, workload.procs
    area = rows.group_by("queue").agg((pl.col("procs") * pl.col("runtime_s")).sum().alias("area"))
    shares = dict(area.iter_rows())
    for evenly in (0.3, 0.5, 0.7):
        parts = {q: (1 - evenly) * size / sum(shares.values()) + evenly / len(shares) for q, size in shares.items()}
        owned = {q: max(int(procs * part) // CORES, 1) * CORES for q, part in sorted(parts.items())}
        largest = max(owned, key=lambda queue: owned[queue])
        owned[largest] += procs - sum(owned.values())
        most = pl.col("queue").replace_strict(owned, return_dtype=pl.Int64)
        narrow = rows.with_columns(pl.min_horizontal("procs", most))
        yield replace(bare, partitions=tuple(owned.items())), replace(workload, rows=narrow)


def _sizes(
    rng: np.random.Generator, workload: Workload, bare: PlantedCluster
) -> Iterator[tuple[PlantedCluster, Workload]]:
    first, last = workload.span
    for _ in range(6):
        small = max(int(workload.procs * rng.uniform(0.55, 0.85)) // CORES, 1) * CORES
        ends = [int(first + share * (last - first)) for share in (rng.uniform(0.1, 0.2), rng.uniform(0.28, 0.44))]
        grows = SizeOverTime((small, workload.procs), (ends[1],))
        shrinks = SizeOverTime((workload.procs, small), (ends[1],))
        dips = SizeOverTime((workload.procs, small, workload.procs), (ends[0], ends[1]))
        for sizes in (grows, shrinks, dips):
            narrow = workload.rows.with_columns(pl.col("procs").clip(1, small // 2))
            yield replace(bare, sizes=sizes), replace(workload, rows=narrow)


PLANTERS: dict[str, Plant] = {
    HOURS: _hours,
    SHARES: _shares,
    RESERVED: _reservations,
    CLASSES: _classes,
    SIZES: _sizes,
}
