"""Real logs on nodes below switches: `python -m studies placements`, about 20 CPU-seconds.

FCFS with EASY, and requested times. Every rule places the same starts; `--switches` alone moves them. The SP2 logs have 16 nodes below a
switch, as the frames of that machine did, and 8 switches a pod. HPC2N has 120 nodes of two processors, and the tree 10x12 is an
assumption. The trees were fixed before any result was seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assets.replaying.running.on_nodes import Ground, ground_of, placement_metrics
from assets.replaying.running.settings import NodeSettings
from models.judging.intervals import HOP_OFFSET, cut_into_blocks, ratio_interval
from papers.archive import SHARED, jobs_of_file
from papers.markdown import markdown
from simulator.engine.replay import OrderReplayer, replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Placement, Schedule
from simulator.topology.switches import SwitchReplayer, parse_switches


@dataclass(frozen=True)
class PlacedLog:
    """A log, its processors, and the tree that it runs on."""

    file: str
    procs: int
    tree: str
    procs_per_node: int = 1


LOGS = {
    "KTH-SP2": PlacedLog("KTH-SP2-1996-2.1-cln.swf.gz", 100, "16x8x1"),
    "CTC-SP2": PlacedLog("CTC-SP2-1996-3.1-cln.swf.gz", 338, "16x8x3"),
    "SDSC-SP2": PlacedLog("SDSC-SP2-1998-derived.swf.gz", 128, "16x4x2"),
    "HPC2N": PlacedLog("HPC2N-2002-2.2-cln.swf.gz", 240, "10x12", 2),
}
RULES = ("random", "first", "contiguous", "ring", "scas", "tree")
SWITCHES = ("1@1h", "1@4h")
INCUMBENT = "tree"
COLUMNS = (
    "hop cost",
    "by area",
    "extra hops",
    "one leaf",
    "one pod",
    "fragmentation",
    "mean wait, s",
    "p99 wait, s",
    "longest, h",
)
TIMES = 3


def main() -> None:
    for name, log in LOGS.items():
        print(f"\n{name}\n\n{table_of(log, jobs_of_file(SHARED / log.file))}", flush=True)
    print(f"\nspeed\n\n{speed_table()}")


def placed_by_rules(
    log: PlacedLog, jobs: Jobs, rules: tuple[str, ...] = RULES, patience: tuple[str, ...] = SWITCHES
) -> dict[str, tuple[Ground, Schedule, Placement]]:
    """What every rule makes of a log, and after them best fit with each `--switches`, as "tree, 1@4h"."""
    plain = replay(jobs, log.procs)
    placed: dict[str, tuple[Ground, Schedule, Placement]] = {}
    for rule in rules:
        ground = ground_of(NodeSettings(topology=log.tree, procs_per_node=log.procs_per_node, place=rule), log.procs, 1)
        placed[rule] = ground, plain, ground.place(jobs, Cluster(log.procs), plain)
    for switches in patience:
        settings = NodeSettings(topology=log.tree, procs_per_node=log.procs_per_node, switches=switches)
        ground = ground_of(settings, log.procs, 1)
        waits = SwitchReplayer(OrderReplayer(), ground.units, parse_switches(switches))
        outcome = waits.replay(jobs, Cluster(log.procs))
        assert outcome.placement is not None
        placed[f"tree, {switches}"] = ground, outcome.schedule, outcome.placement
    return placed


def table_of(log: PlacedLog, jobs: Jobs) -> str:
    """A row for each rule, and the ratio of its hop cost to that of the incumbent in the typical block."""
    placed = placed_by_rules(log, jobs)
    incumbent = placed[INCUMBENT][2]
    rows = [row_of(name, jobs, *parts, incumbent) for name, parts in placed.items()]
    compact = placement_metrics(placed[INCUMBENT][0].units, incumbent, jobs)
    ideal = (
        "each job alone",
        f"{compact['average_compact_hop_cost']:.2f}",
        f"{compact['area_weighted_compact_hop_cost']:.2f}",
    )
    rows.append((*ideal, "0", f"{compact['fits_one_leaf_share']:.3f}", *[""] * 6))
    return markdown(("rule", *COLUMNS, "hop cost by tree's"), rows)


def row_of(
    name: str, jobs: Jobs, ground: Ground, schedule: Schedule, placement: Placement, incumbent: Placement
) -> tuple[str, ...]:
    """The cells of one rule."""
    metrics, wait = placement_metrics(ground.units, placement, jobs), schedule.start - jobs.submit
    blocks = cut_into_blocks(np.ones(len(jobs), dtype=np.bool_))
    interval = ratio_interval(blocks.means(placement.hop_cost), blocks.means(incumbent.hop_cost), HOP_OFFSET)
    bounds = f"{interval.low:.3f} to {interval.high:.3f}" if interval.low is not None else interval.why_none
    return (
        name,
        f"{metrics['average_hop_cost']:.2f}",
        f"{metrics['area_weighted_hop_cost']:.2f}",
        f"{metrics['area_weighted_extra_hops']:.3f}",
        f"{metrics['one_leaf_share']:.3f}",
        f"{metrics['one_pod_share']:.3f}",
        f"{metrics['fragmentation']:.3f}",
        f"{wait.mean():,.0f}",
        f"{np.percentile(wait, 99):,.0f}",
        f"{wait.max() / 3600:,.1f}",
        "" if name == INCUMBENT else f"{interval.ratio:.3f} ({bounds})",
    )


def speed_table() -> str:
    """CPU time of a replay of HPC2N without nodes, and of placing its jobs; the least of TIMES."""
    log = LOGS["HPC2N"]
    jobs = jobs_of_file(SHARED / log.file)
    schedule = replay(jobs, log.procs)
    seconds = {"replay without nodes": _least_time(lambda: replay(jobs, log.procs))}
    for rule in ("first", "contiguous", "tree", "ring"):
        ground = ground_of(NodeSettings(topology=log.tree, procs_per_node=log.procs_per_node, place=rule), log.procs, 1)
        seconds[f"placing, {rule}"] = _least_time(
            lambda ground=ground: ground.place(jobs, Cluster(log.procs), schedule)
        )
    base = seconds["replay without nodes"]
    rows = [
        (name, f"{1000 * value:.0f}", "" if value is base else f"{(base + value) / base:.2f}")
        for name, value in seconds.items()
    ]
    return markdown(("HPC2N, 202,871 jobs", "CPU ms", "replay with nodes by replay without"), rows)


def _least_time(work: Callable[[], object]) -> float:
    work()  # compiled and in the cache
    times = []
    for _ in range(TIMES):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)
