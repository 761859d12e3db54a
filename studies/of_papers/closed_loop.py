"""Allocation methods that live with their own fragmentation: `python -m studies closed_loop`.

Each epoch has 300 jobs of 2 to 40 nodes, starts on an empty cluster and ends with the queue drained. A method that gets its jobs by
the paper's selection starts them when all others do, so that only the nodes differ. The rows *ideal* have every job alone on an
empty cluster. Costs are sums over ordered pairs on the paper's tree, and over unordered ones on the public code's, divided by the
nodes. A hop counts 1,000. The figures of the reference are ours, from running the public code's rules apart from this program.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from models.allocation.free import least_costs
from models.allocation.leaves import idle_leaves
from models.allocation.looking_ahead import PAPERS_VALUES, StartValues, looking_ahead
from models.allocation.window import Window
from papers.markdown import markdown
from papers.neural_annealing.integer_program import MOST_JOBS
from papers.neural_annealing.protocol import (
    LOOP_SIZES,
    PUBLISHED_CLUSTERS,
    Lived,
    PublishedCluster,
    alone_costs,
    live,
    solving,
)
from simulator.topology.closed_loop import PeriodScheduler, PeriodState
from simulator.topology.tree import IntArray, SwitchTree

EPOCHS, JOBS = 10, 300
"""Of a window, in the public code."""
CLASSES = ((2, 10), (11, 20), (21, 30), (31, 40))
FREE = "free, all that fit"
"""The rival: the shorter waits of the two readings."""
CLAIRVOYANT = 2.0
"""Price of an hour between the ends of neighbours."""
CODES_VALUES = StartValues(0.849, 0.0401, 1.09, 1.235, (0.05, 0.02), 11)
"""For the public code's tree, as PAPERS_VALUES for the paper's."""
NARROW_FIRST: dict[str, Any] = {"start": 1.87, "wait": 0.088, "power": 0.5, "guard": 13, "left": ()}
"""Lets wide jobs wait: shows how far the cost falls that way."""


@dataclass(frozen=True)
class Loop(PublishedCluster):
    """ideal: of the reference. values: of choosing jobs and nodes together. reference: cost per job by method."""

    ideal: float
    values: StartValues
    reference: dict[str, float]


LOOPS = {
    "paper's": Loop(
        **vars(PUBLISHED_CLUSTERS["paper"]),
        ideal=65_007,
        values=PAPERS_VALUES,
        reference={
            "sequential": 84_657,
            "SA-1000 as published": 78_919,
            "SA-1000 with undo": 73_301,
            "SCAS, exact": 71_739,
            "free": 71_497,
        },
    ),
    "public code's": Loop(
        **vars(PUBLISHED_CLUSTERS["code"]),
        ideal=22_503,
        values=CODES_VALUES,
        reference={
            "sequential": 35_143,
            "SA-1000 as published": 31_802,
            "SA-1000 with undo": 28_563,
            "SCAS, exact": 27_739,
            "free": 27_296,
        },
    ),
}
LOOP_METHODS = (
    "sequential",
    "tree, one job at a time",
    "SA-1000 as published",
    "SA-1000 with undo",
    "SCAS, exact",
    "free",
)


def main() -> None:
    """Prints the tables of both trees."""
    for name, loop in LOOPS.items():
        capped = {method: _live(loop, solving(loop.tree, method, MOST_JOBS, JOBS)) for method in LOOP_METHODS}
        others = {method: _live(loop, solving(loop.tree, method, None, JOBS)) for method in LOOP_METHODS}
        print(
            f"\nclosed loop, {name} tree: mean cost of a job\n\n{reproduction_table(loop, capped, others)}", flush=True
        )
        print(f"\nclosed loop, {name} tree: costs and waits by size\n\n{panel_table(loop, capped)}", flush=True)
        free = {f"free, at most {MOST_JOBS} jobs": capped["free"], FREE: others["free"]}
        watches = {method: Watched(loop.tree, values) for method, values in jointly(loop).items()}
        joint = free | {method: _live(loop, watched.of_epoch) for method, watched in watches.items()}
        print(f"\njobs and nodes together, {name} tree\n\n{joint_table(loop, joint, watches)}", flush=True)
        print(f"\njobs and nodes together, {name} tree: by size\n\n{panel_table(loop, joint)}", flush=True)


def _live(loop: Loop, scheduler_of: Callable[[int], PeriodScheduler]) -> Lived:
    return live(loop, scheduler_of, range(EPOCHS), JOBS)


def jointly(loop: Loop) -> dict[str, StartValues]:
    """Methods that choose jobs and nodes together. Those of a kind differ in what they see, or in what they aim at."""
    return {
        "looking ahead": loop.values,
        "the same, run times seen": replace(loop.values, ends=CLAIRVOYANT),
        "narrow jobs first": replace(loop.values, **NARROW_FIRST),
    }


class Watched:
    """A scheduler of jobs and nodes together, with its times and with what its jobs would cost alone on all nodes idle then."""

    def __init__(self, tree: SwitchTree, values: StartValues) -> None:
        self._tree, self._values = tree, values
        self.seconds: list[float] = []
        self.alone: list[float] = []

    def of_epoch(self, seed: int) -> PeriodScheduler:
        """The scheduler of an epoch, whose windows are counted."""
        scheduler = looking_ahead(self._tree, self._values, seed)

        def start(state: PeriodState) -> dict[int, IntArray]:
            began = time.process_time()
            given = scheduler(state)
            self.seconds.append(time.process_time() - began)
            if given:
                window = Window(self._tree, state.idle_nodes, state.jobs.size[list(given)])
                self.alone.extend(least_costs(window, idle_leaves(window)).tolist())
            return given

        return start


def joint_table(loop: Loop, methods: dict[str, Lived], watches: dict[str, Watched]) -> str:
    """The gap between free allocation and the ideal: share that is closed, from the reference's free allocation. Each job alone: what it
    would cost on the cheapest of all nodes that were idle at its start. CPU time: of a period."""
    reference, rival = loop.reference["free"], methods[FREE]
    lines = []
    for method, lived in methods.items():
        cost = lived.cost.mean()
        below = lived.cost_of_epochs() / rival.cost_of_epochs() - 1
        cells = [f"{cost:,.0f}", f"{(reference - cost) / (reference - loop.ideal):.0%}"]
        cells += [f"{below.mean():+.1%}", f"{(below < 0).sum()} of {len(below)}", f"{lived.wait.mean():,.0f}"]
        if method in watches:
            watched = watches[method]
            cells.append(f"{loop.pair_cost / 2 * np.mean(watched.alone):,.0f}")
            cells += [f"{1000 * np.mean(watched.seconds):.0f}", f"{1000 * np.percentile(watched.seconds, 99):.0f}"]
        else:
            cells += ["", "", ""]
        lines.append([method, *cells])
    titles = ["method", "cost of a job", "of the gap", f"to {FREE}", "epochs below it", "mean wait, s"]
    return markdown([*titles, "each job alone", "mean CPU ms", "99 %"], lines)


def ideal_cost(loop: Loop, least: int = LOOP_SIZES[0], most: int = LOOP_SIZES[1], by_node: bool = False) -> float:
    """The expected cost of a job of a size from `least` to `most`, alone on an empty cluster. by_node: per node, not per job."""
    sizes = np.arange(least, most + 1)
    return float(np.average(alone_costs(loop, sizes.tolist()), weights=sizes if by_node else None))


def reproduction_table(loop: Loop, capped: dict[str, Lived], others: dict[str, Lived]) -> str:
    """Costs beside the reference's. capped: windows of at most MOST_JOBS jobs. others: of as many as fit."""
    sequential, its_reference = capped["sequential"].cost.mean(), loop.reference["sequential"]
    without_limit = others["sequential"].cost.mean()
    lines = []
    for method, lived in capped.items():
        reference = loop.reference.get(method)
        lines.append(
            [
                method,
                f"{lived.cost.mean():,.0f}",
                f"{lived.cost.mean() / sequential:.3f}",
                f"{others[method].cost.mean():,.0f}",
                f"{others[method].cost.mean() / without_limit:.3f}",
                f"{reference:,.0f}" if reference else "",
                f"{reference / its_reference:.3f}" if reference else "",
            ]
        )
    ideal = ideal_cost(loop)
    lines.append(["ideal", f"{ideal:,.0f}", "", f"{ideal:,.0f}", "", f"{loop.ideal:,.0f}", ""])
    titles = ["method", f"at most {MOST_JOBS} jobs", "of sequential", "all that fit", "of sequential"]
    return markdown([*titles, "reference", "of sequential"], lines)


def panel_table(loop: Loop, methods: dict[str, Lived]) -> str:
    """Costs per job and per node, and waits, of all jobs and by size."""
    lines = []
    for least, most in (LOOP_SIZES, *CLASSES):
        sizes = f"{least} to {most}"
        for method, lived in methods.items():
            part = lived.of_class(least, most)
            waits = [part.wait.mean(), np.percentile(part.wait, 99), part.wait.max()]
            cells = [part.cost.mean(), np.average(part.cost, weights=part.size), *waits]
            lines.append([sizes, method, *(f"{cell:,.0f}" for cell in cells)])
        ideals = [ideal_cost(loop, least, most, by_node) for by_node in (False, True)]
        lines.append([sizes, "ideal", *(f"{cost:,.0f}" for cost in ideals), "", "", ""])
    waits_of = [f"{which} wait, s" for which in ("mean", "99 %", "longest")]
    return markdown(["nodes", "method", "cost of a job", "cost per node", *waits_of], lines)
