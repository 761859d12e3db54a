"""Repairing a window's assignment, one job after another: the Markov decision process of Neural Simulated Annealing, section V-B.

A window has idle nodes in ascending order and the sizes of its jobs. A job takes consecutive entries of the sequence Q of nodes that
are still idle, from its first node on and around the end (DCAS). An agent sees the first entries of Q and chooses the first node
among them. Functions are compiled, and batches hold many windows side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.allocation.compiled import compiled, lean
from models.allocation.neural.repair_networks import SEEN_NODES
from models.allocation.window import cost_of_hops
from simulator.topology.tree import SwitchTree, change_of_hops, count_node

IntArray = NDArray[np.int64]

LARGEST_JOB = 40
"""Nodes of the largest job: n_max of section V-B1, and sizes are divided by it."""

RepairView = Literal["paper", "code"]
FEATURES: dict[RepairView, int] = {"paper": 4, "code": 5}
"""Numbers that an agent sees of a node."""


class RepairProblem(NamedTuple):
    """What all windows of a cluster share.

    switch, hops: of the tree. share: number of the leaf and of the pod of each node, over how many there are, float32 (2, nodes).
    largest: nodes that count as 1. code_view: five features instead of four. integer: costs as in `Window`.
    """

    switch: IntArray
    hops: IntArray
    share: NDArray[np.float32]
    largest: float
    code_view: bool
    integer: bool


class WindowArrays(NamedTuple):
    """Windows side by side, their rows filled up with zeros.

    idle: node numbers, (windows, nodes). length: how many. sizes: of the jobs, (windows, jobs). owner: the job that has each idle
    node, or -1, (windows, nodes). cost: of each placed job, float64 (windows, jobs). to_place: jobs without nodes in the order in
    which they get some, (windows, jobs). placed, ends: how many of them have nodes by now, and how many there are.
    """

    idle: IntArray
    length: IntArray
    sizes: IntArray
    owner: IntArray
    cost: NDArray[np.float64]
    to_place: IntArray
    placed: IntArray
    ends: IntArray


def repair_problem(
    tree: SwitchTree, view: RepairView, integer: bool = False, largest: float = LARGEST_JOB
) -> RepairProblem:
    """view: features of section V-B1, or of the public code. integer: costs as in `Window`.

    The pods are the second level of switches. Raises ValueError for a tree of one level.
    """
    if tree.levels < 2:
        raise ValueError("a network sees the leaf and the pod of each node: the tree needs at least two levels")
    share = [tree.switch[level] / tree.switches(level) for level in (0, 1)]
    columns = np.array(share, dtype=np.float32)
    return RepairProblem(tree.switch, tree.hops, columns, float(largest), view == "code", integer)


class RepairBatch:
    """Windows whose jobs an agent places, in all of them at the same time.

    `begin_empty` or `destroy` says which jobs have no nodes. Then `look` and `place` take turns until nothing is left to place.
    """

    def __init__(
        self,
        problem: RepairProblem,
        windows: Sequence[tuple[IntArray, IntArray]],
        seen_nodes: int = SEEN_NODES,
    ) -> None:
        """windows: idle nodes, ascending, and sizes of jobs, which fit together. All jobs begin without nodes."""
        self.problem, self.seen_nodes = problem, seen_nodes
        count = len(windows)
        nodes, jobs = (max(len(window[part]) for window in windows) for part in (0, 1))
        self.arrays = WindowArrays(
            idle=np.zeros((count, nodes), dtype=np.int64),
            length=np.array([len(idle) for idle, _ in windows], dtype=np.int64),
            sizes=np.zeros((count, jobs), dtype=np.int64),
            owner=np.full((count, nodes), -1, dtype=np.int64),
            cost=np.zeros((count, jobs)),
            to_place=np.zeros((count, jobs), dtype=np.int64),
            placed=np.zeros(count, dtype=np.int64),
            ends=np.zeros(count, dtype=np.int64),
        )
        for row, (idle, sizes) in enumerate(windows):
            if sizes.sum() > len(idle):
                raise ValueError(f"window {row}: jobs of {sizes.sum()} nodes do not fit on {len(idle)} idle ones")
            self.arrays.idle[row, : len(idle)] = idle
            self.arrays.sizes[row, : len(sizes)] = sizes
        self.jobs = np.array([len(sizes) for _, sizes in windows], dtype=np.int64)
        self.begin_empty()

    def begin_empty(self) -> None:
        """Takes all nodes away. Jobs are then placed in the order of the queue, as the public code trains."""
        self.arrays.owner[:] = -1
        self.arrays.cost[:] = 0.0
        self.arrays.to_place[:] = np.arange(self.arrays.sizes.shape[1])
        self.arrays.placed[:] = 0
        self.arrays.ends[:] = self.jobs

    def place_in_sequence(self) -> None:
        """Places what is left to place, each job from the head of Q on: the paper's first solution."""
        while not self.done:
            self.place(np.zeros(len(self.jobs), dtype=np.int64))

    def destroy(self, rng: np.random.Generator, most_removed: int, descending: bool = True) -> None:
        """Takes the nodes of 1 to `most_removed` jobs of each window away, drawn with the same chance (section V-A).

        They are then placed in descending size, or in the order of the queue. Raises ValueError while jobs are left to place.
        """
        if not self.done:
            raise ValueError("only an assignment of all jobs can be destroyed")
        arrays = self.arrays
        for row, jobs in enumerate(self.jobs.tolist()):
            removed = np.sort(rng.permutation(jobs)[: rng.integers(1, min(most_removed, jobs) + 1)])
            if descending:
                removed = removed[np.argsort(-arrays.sizes[row, removed], kind="stable")]
            arrays.to_place[row, : len(removed)] = removed
            arrays.placed[row], arrays.ends[row] = 0, len(removed)
            arrays.owner[row][np.isin(arrays.owner[row], removed)] = -1
            arrays.cost[row, removed] = 0.0

    @property
    def done(self) -> bool:
        """Whether all jobs have nodes."""
        return bool((self.arrays.placed >= self.arrays.ends).all())

    @property
    def features(self) -> int:
        """Numbers that an agent sees of a node."""
        return FEATURES["code" if self.problem.code_view else "paper"]

    def look(self) -> tuple[NDArray[np.float32], IntArray]:
        """What the agent sees, (windows, features, seen_nodes), and how many nodes it may choose from, (windows,).

        Both are 0 in windows without a job to place.
        """
        seen = np.zeros((len(self.jobs), self.features, self.seen_nodes), dtype=np.float32)
        choices = np.zeros(len(self.jobs), dtype=np.int64)
        look_at_windows(self.problem, self.arrays, seen, choices)
        return seen, choices

    def place(self, first: IntArray) -> NDArray[np.float64]:
        """Places the next job of each window from this entry of Q on, (windows,). Windows without one ignore it.

        Returns rewards, float64 (windows,): 0 until the last job of a window, then minus the costs of what was placed.
        Raises ValueError for an entry that Q lacks, before anything is placed.
        """
        rewards = np.zeros(len(self.jobs))
        wrong = place_in_windows(self.problem, self.arrays, np.asarray(first, dtype=np.int64), rewards)
        if wrong >= 0:
            raise ValueError(f"window {wrong}: Q has no entry {first[wrong]}")
        return rewards

    def costs(self) -> NDArray[np.float64]:
        """Sum of the costs of each window's placed jobs, (windows,)."""
        return self.arrays.cost.sum(axis=1)

    def nodes_of(self, window: int) -> list[IntArray]:
        """The nodes of each job of a window, ascending; none for a job that is left to place."""
        owner, idle = self.arrays.owner[window], self.arrays.idle[window]
        return [idle[owner == job] for job in range(int(self.jobs[window]))]

    def rows(self, windows: IntArray) -> RepairBatch:
        """Copies of these windows in their state, each as often as it is named."""
        other = object.__new__(RepairBatch)
        other.problem, other.seen_nodes, other.jobs = self.problem, self.seen_nodes, self.jobs[windows]
        other.arrays = WindowArrays._make(array[windows] for array in self.arrays)
        return other


@compiled
def look_at_windows(problem, windows, seen, choices):
    """Fills `seen` and `choices` of RepairBatch.look, which come with zeros."""
    queue = np.empty(windows.idle.shape[1], dtype=np.int64)
    for w in range(len(windows.length)):
        at, end = windows.placed[w], windows.ends[w]
        if at >= end:
            continue
        count = idle_queue(windows.owner[w], windows.length[w], queue)
        others = 0
        for k in range(at + 1, end):
            others += windows.sizes[w, windows.to_place[w, k]]
        look_at_queue(
            problem,
            windows.idle[w],
            queue[:count],
            windows.sizes[w, windows.to_place[w, at]],
            others,
            end - at - 1,
            seen[w],
        )
        choices[w] = min(count, seen.shape[2])


@compiled
def place_in_windows(problem, windows, first, rewards):
    """RepairBatch.place. Returns the first window for which the entry is wrong, or -1."""
    queue = np.empty(windows.idle.shape[1], dtype=np.int64)
    counts = np.zeros((problem.switch.shape[0], problem.switch.shape[1]), dtype=np.int64)
    for w in range(len(windows.length)):
        count = idle_queue(windows.owner[w], windows.length[w], queue)
        if windows.placed[w] < windows.ends[w] and not 0 <= first[w] < count:
            return w
    for w in range(len(windows.length)):
        at, end = windows.placed[w], windows.ends[w]
        if at >= end:
            continue
        job = windows.to_place[w, at]
        count = idle_queue(windows.owner[w], windows.length[w], queue)
        windows.cost[w, job] = place_job(
            problem, counts, windows.idle[w], windows.owner[w], queue[:count], first[w], job, windows.sizes[w, job]
        )
        windows.placed[w] += 1
        if at + 1 == end:
            for k in range(end):
                rewards[w] -= windows.cost[w, windows.to_place[w, k]]
    return -1


@lean
def idle_queue(owner, length, queue):
    """Fills `queue` with Q, as positions in the window's idle nodes. Returns how many entries it has."""
    count = 0
    for k in range(length):
        if owner[k] < 0:
            queue[count] = k
            count += 1
    return count


@lean
def look_at_queue(problem, idle, queue, size, others, num_others, seen):
    """Fills `seen` (features, seen_nodes), which has zeros, for a job of `size` nodes.

    others, num_others: nodes and number of the other jobs that are left to place. Paper: leaf, pod, size, mean size of the others.
    Code: leaf, pod, 1 for a node that is there, size, summed size of the others.
    """
    last = seen.shape[0] - 1
    share = others / problem.largest
    if not problem.code_view and num_others > 0:
        share /= num_others
    for k in range(min(len(queue), seen.shape[1])):
        node = idle[queue[k]]
        seen[0, k] = problem.share[0, node]
        seen[1, k] = problem.share[1, node]
        if problem.code_view:
            seen[2, k] = 1.0
        seen[last - 1, k] = size / problem.largest
        seen[last, k] = share


@lean
def place_job(problem, counts, idle, owner, queue, first, job, size):
    """Gives a job `size` entries of Q from `first` on, around its end. Returns its cost. counts: zeros, (levels, nodes)."""
    for k in range(first, first + size):
        owner[queue[k if k < len(queue) else k - len(queue)]] = job
    return cost_at(problem, counts, idle, queue, first, size)


@lean
def cost_at(problem, counts, idle, queue, first, size):
    """Cost of a job that begins at this entry of Q. counts: zeros, (levels, nodes), which are zeros again afterwards."""
    pairs = np.int64(0)
    at = first
    for _ in range(size):
        node = idle[queue[at]]
        pairs += change_of_hops(problem.switch, problem.hops, counts, node)
        count_node(problem.switch, counts, node, 1)
        at = at + 1 if at + 1 < len(queue) else 0
    at = first
    for _ in range(size):
        count_node(problem.switch, counts, idle[queue[at]], -1)
        at = at + 1 if at + 1 < len(queue) else 0
    return cost_of_hops(pairs, size, problem.integer)
