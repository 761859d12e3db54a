"""Placing rules on real logs at identical starts: `python -m studies placing_rules`, where the archive logs are.

FCFS with EASY, whole nodes. No rule changes a start, so rules differ in hop costs only. The logs and their trees are those of
`placements`. Rules were chosen on the first half of HPC2N and of CTC-SP2, whose trees were the same then. The table has their
second halves, and the two other logs as a whole. *compact* is what every job would cost under the rule `tree` on an empty machine: where
that is less than 10 % below `tree`, no rule can save 10 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.allocation.compiled import compiled
from models.allocation.leaves import put_cheapest, set_tables
from models.allocation.window import FloatArray, IntArray
from papers.archive import SHARED, jobs_of_file
from papers.markdown import markdown
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Placement, Schedule
from simulator.topology.choosing import units_of
from simulator.topology.closed_loop import in_whole_nodes
from simulator.topology.placement import compact_hop_cost, place_schedule
from simulator.topology.tree import SwitchTree, first_nodes, parse_tree
from studies.placing.placements import LOGS

BLOCKS = 16
CHOSEN_ON = ("HPC2N", "CTC-SP2")
"""Logs on whose first halves rules were chosen."""


@dataclass(frozen=True)
class PlacingRule:
    """Each job gets its cheapest set of idle nodes, with values in hops of C(N).

    left: of an idle pair that shares a leaf or pod and is kept. late: price of a node in a leaf whose jobs are all expected to end
    before this one, by the logarithm of the ratio. apart: the same for a leaf whose jobs end earlier or later on average.
    """

    left: tuple[float, float]
    late: float = 0.0
    apart: float = 0.0


RULES = {
    "cheapest set": PlacingRule((0.0, 0.0)),
    "cheapest set, of equal ones what breaks least": PlacingRule((1e-4, 1e-5)),
    "cheapest set, idle pairs valued": PlacingRule((0.02, 0.005)),
    "the same beside jobs that end later": PlacingRule((0.02, 0.005), late=0.1),
    "the same long beside long": PlacingRule((0.02, 0.005), apart=0.1),
}
SOONEST = 60.0
"""Seconds that a job is expected to run on at least."""


class Placer:
    """Places the jobs of a schedule one by one in the order of their starts, as `place_schedule` asks."""

    def __init__(self, tree: SwitchTree, jobs: Jobs, schedule: Schedule, rule: PlacingRule) -> None:
        self._leaf, self._rule = tree.switch[0], rule
        self._first = np.flatnonzero(np.diff(self._leaf, prepend=-1))
        above = np.ascontiguousarray(tree.switch[:, self._first])
        self._tree = (above, np.diff(tree.hops), int(tree.hops[-1]), np.bincount(self._leaf))
        self._left = np.array(rule.left[: tree.levels - 1])
        self._tables = set_tables(tree.levels, len(self._first), tree.nodes)
        started = np.flatnonzero(schedule.started)
        self._order = started[np.argsort(schedule.start[started], kind="stable")].tolist()
        self._start, self._expected = schedule.start, schedule.start + jobs.estimate
        self._end, self._placed = np.zeros(tree.nodes), 0

    def __call__(self, idle: IntArray, sizes: IntArray) -> list[IntArray]:
        given = []
        free = np.zeros(len(self._end), dtype=np.bool_)
        free[idle] = True
        for size in sizes.tolist():
            job = self._order[self._placed]
            self._placed += 1
            prices = self._prices(job, free)
            nodes = _cheapest_nodes(self._tree, self._first, free, prices, self._left, size, self._tables)
            free[nodes] = False
            self._end[nodes] = self._expected[job]
            given.append(nodes)
        return given

    def _prices(self, job: int, free: np.ndarray) -> FloatArray:
        rule, busy = self._rule, ~free
        if not rule.late and not rule.apart:
            return np.zeros(len(self._first))
        now = self._start[job]
        own = np.log(max(self._expected[job] - now, SOONEST))
        left = np.log(np.maximum(self._end - now, SOONEST)) * busy
        last = np.maximum.reduceat(left, self._first)
        counts = np.add.reduceat(busy.astype(np.int64), self._first)
        mean = np.add.reduceat(left, self._first) / np.maximum(counts, 1)
        late = np.maximum(0.0, own - np.maximum(last, np.log(SOONEST)))
        return rule.late * late + rule.apart * np.where(counts > 0, np.abs(own - mean), 0.0)


@compiled
def _cheapest_nodes(tree, first, free, prices, left, size, tables):
    """The cheapest nodes of a job, int64 (size,), ascending."""
    leaves = len(first)
    idle, counts = np.zeros(leaves, dtype=np.int64), np.zeros(leaves, dtype=np.int64)
    for leaf in range(leaves):
        for node in range(first[leaf], first[leaf] + tree[3][leaf]):
            idle[leaf] += free[node]
    put_cheapest(tree, idle, prices, left, size, counts, tables)
    nodes, taken = np.empty(size, dtype=np.int64), 0
    for leaf in range(leaves):
        node = first[leaf]
        for _ in range(counts[leaf]):
            while not free[node]:
                node += 1
            nodes[taken] = node
            taken += 1
            node += 1
    return nodes


def main() -> None:
    lines = {name: placed_log(name) for name in LOGS}
    chosen_on = [lines[name][0] for name in CHOSEN_ON]
    titles = ["log", "jobs", "`tree`, hops a job", "compact", *RULES]
    print(f"hop cost against `tree`, first halves, where rules were chosen\n\n{markdown(titles, chosen_on)}\n")
    print(
        "hop cost against `tree`, and blocks below it of 16: second halves, and whole logs that no rule was chosen on\n"
    )
    print(markdown(titles, [line for _, line in lines.values()]))


def placed_log(name: str) -> tuple[list[str], list[str]]:
    """Lines of the first half and of what is left for the test: the second half, or the whole log."""
    log = LOGS[name]
    jobs, cluster = in_whole_nodes(jobs_of_file(SHARED / log.file), log.procs, log.procs_per_node)
    schedule = replay(jobs, cluster, "FCFS", "easy")
    whole_tree = parse_tree(log.tree)
    units = units_of(whole_tree, log.procs, log.procs_per_node, "whole")
    tree = first_nodes(whole_tree, log.procs // log.procs_per_node)
    usual = place_schedule(jobs, cluster, schedule, units, "tree")
    placed: dict[str, Placement] = {}
    for rule, values in RULES.items():
        placed[rule] = place_schedule(jobs, cluster, schedule, units, solver=Placer(tree, jobs, schedule, values))
    compact = compact_hop_cost(units, usual.size)
    half = len(jobs) // 2
    parts = (slice(0, half), slice(half if name in CHOSEN_ON else 0, len(jobs)))
    first, test = (line_of(name, part, usual.hop_cost, compact, placed) for part in parts)
    return first, test


def line_of(name: str, part: slice, usual: FloatArray, compact: FloatArray, placed: dict[str, Placement]) -> list[str]:
    """usual, compact: hop costs of all jobs, float64 (jobs,)."""
    cells = [
        name,
        f"{len(usual[part]):,}",
        f"{usual[part].mean():.2f}",
        f"{compact[part].mean() / usual[part].mean() - 1:+.1%}",
    ]
    rival = np.array([block.mean() for block in np.array_split(usual[part], BLOCKS)])
    for placement in placed.values():
        own = np.array([block.mean() for block in np.array_split(placement.hop_cost[part], BLOCKS)])
        change = placement.hop_cost[part].mean() / usual[part].mean() - 1
        cells.append(f"{change:+.1%} ({(own < rival).sum()})")
    return cells
