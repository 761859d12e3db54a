"""A waiting queue whose order is known in advance: short, it is a sorted list; long, a tree in which no scan is needed.

Jobs are numbered by rank, their place in the order of all jobs of the trace. Most queues are short most of the time, and
nothing beats a few numbers side by side. A queue that outgrows SHORT moves into the tree until it is short again.

The tree covers all ranks with a fan-out of FANOUT; a node knows, of the waiting jobs below it, the fewest processors and,
for each *width class* (a range of processor counts), the shortest estimate in this class and all narrower ones. That is
what EASY backfilling asks for: the first job from some rank on that needs at most `extra` processors, or at most `free` and
ends in time. Where every processor count of the trace is a class of its own, a node never promises a job that it does
not hold.

Nodes hold NOTHING minus the least value, so that zero means that no job waits: fresh memory is an empty tree, and what a
replay never touches costs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import lean

IntArray = NDArray[np.int64]

SHIFT = 3
FANOUT = 1 << SHIFT
MOST_CLASSES = 16
SHORT = 128
"""Most jobs in the list."""
BACK = 16
"""Jobs left in the tree when it gives way to the list; far below SHORT, so that moving costs little per job."""
NOTHING = 2**31 - 1
"""Above every processor count, and above every estimate below 68 years; longer ones are looked at one by one."""


class Queue(NamedTuple):
    """An empty queue.

    rank: of each task, int64 (num_tasks,); job_at: task of each rank, int64 (num_jobs,). procs, estimate: by task.
    rows: the list, ascending by rank: rank, processors, estimate; int64 (SHORT, 3).
    The tree: waiting by rank, uint8 (num_jobs,); first_node of each level, the lowest first, int64 (levels + 1,), multiples
    of FANOUT; narrow int32 (nodes,), short int32 (nodes, MOST_CLASSES), never falling from class to class; narrowest: fewest
    processors of each width class, int64 (at most MOST_CLASSES,).
    """

    rank: IntArray
    job_at: IntArray
    procs: IntArray
    estimate: IntArray
    rows: IntArray
    waiting: NDArray[np.uint8]
    first_node: IntArray
    narrow: NDArray[np.int32]
    short: NDArray[np.int32]
    narrowest: IntArray


def queue_by(score: NDArray[np.int64] | NDArray[np.float64], procs: IntArray, estimate: IntArray, first: int) -> Queue:
    """An empty queue ordered by (score, task): score (num_jobs,) of the tasks from `first` on; procs, estimate by task."""
    order = order_of(score)
    num_jobs = len(order)
    job_at = order + first if first else order
    rank = np.empty(len(procs), dtype=np.int64)
    rank[job_at] = np.arange(num_jobs)
    sizes: list[int] = []
    size = num_jobs
    while size > 1 or not sizes:
        size = -(-size // FANOUT)
        sizes.append(size)
    first_node = np.concatenate(([0], np.cumsum([-(-size // FANOUT) * FANOUT for size in sizes])))
    narrowest = _width_classes(procs[first : first + num_jobs])
    return Queue(
        rank, job_at, procs, estimate,
        np.zeros((SHORT, 3), dtype=np.int64),
        np.zeros(num_jobs, dtype=np.uint8),
        first_node.astype(np.int64),
        np.zeros(first_node[-1], dtype=np.int32),
        np.zeros((first_node[-1], MOST_CLASSES), dtype=np.int32),
        narrowest,
    )  # fmt: skip


def order_of(score: NDArray[np.int64] | NDArray[np.float64]) -> IntArray:
    """Indices by (score, index), int64 (num_jobs,): a stable sort, by the fastest way that these scores allow."""
    num_jobs = len(score)
    if (score[1:] >= score[:-1]).all():
        return np.arange(num_jobs)
    bits = num_jobs.bit_length()
    if score.dtype == np.int64:
        least = int(score.min())
        if int(score.max()) - least < 1 << (62 - bits):  # score and index in one number: sorted several times faster
            whole = (score - least).astype(np.int64)
            return np.sort((whole << bits) | np.arange(num_jobs)) & ((1 << bits) - 1)
    return np.argsort(score, kind="stable")


def _width_classes(procs: IntArray) -> IntArray:
    """Fewest processors of each width class: the commonest processor counts, and the smallest."""
    if procs.max() < 1 << 16:
        per_count = np.bincount(procs)
        values = np.flatnonzero(per_count)
        counts = per_count[values]
    else:
        values, counts = np.unique(procs, return_counts=True)
    commonest = np.argsort(-counts, kind="stable")[: MOST_CLASSES - 1]
    return np.union1d(values[commonest], values[:1]).astype(np.int64)


@lean
def enter_list(rows, count, rank, procs, estimate):
    k = count
    while k > 0 and rows[k - 1, 0] > rank:
        rows[k, 0] = rows[k - 1, 0]
        rows[k, 1] = rows[k - 1, 1]
        rows[k, 2] = rows[k - 1, 2]
        k -= 1
    rows[k, 0] = rank
    rows[k, 1] = procs
    rows[k, 2] = estimate


@lean
def leave_list(rows, count, rank):
    k = 0
    while rows[k, 0] != rank:
        k += 1
    for i in range(np.uint64(k), np.uint64(count - 1)):
        rows[i, 0] = rows[i + np.uint64(1), 0]
        rows[i, 1] = rows[i + np.uint64(1), 1]
        rows[i, 2] = rows[i + np.uint64(1), 2]


@lean
def next_in_list(rows, count, k, extra, free, slack):
    """First place from `k` on whose job needs at most `extra` processors, or at most `free` for at most `slack` seconds;
    `count` when there is none."""
    while k < count:
        if rows[k, 1] <= extra or (rows[k, 1] <= free and rows[k, 2] <= slack):
            break
        k += 1
    return k


@lean
def list_to_tree(queue):
    """Moves a full list into the tree."""
    for k in range(SHORT):
        enter_tree(queue, queue.job_at[queue.rows[k, 0]])


@lean
def tree_to_list(queue):
    """Moves the BACK jobs that are left in the tree into the list."""
    rank = np.int64(-1)
    for k in range(BACK):
        rank = next_in_tree(queue, rank + 1, NOTHING, 0, 0)
        job = queue.job_at[rank]
        leave_tree(queue, job)
        queue.rows[k, 0] = rank
        queue.rows[k, 1] = queue.procs[job]
        queue.rows[k, 2] = queue.estimate[job]


@lean
def enter_tree(queue, job):
    rank = queue.rank[job]
    queue.waiting[rank] = 1
    narrow = np.int32(NOTHING - queue.procs[job])
    short = _shortness(queue.estimate[job])
    width = width_class(queue, queue.procs[job])
    index = rank
    for level in range(len(queue.first_node) - 1):
        index >>= SHIFT
        node = queue.first_node[level] + index
        if narrow <= queue.narrow[node] and short <= queue.short[node, width]:
            return
        queue.narrow[node] = max(queue.narrow[node], narrow)
        _raise_classes(queue.short, node, width, short)


@lean
def leave_tree(queue, job):
    rank = queue.rank[job]
    queue.waiting[rank] = 0
    gone_narrow = np.int32(NOTHING - queue.procs[job])
    gone_short = _shortness(queue.estimate[job])
    width = width_class(queue, queue.procs[job])
    index = rank
    for level in range(len(queue.first_node) - 1):
        below = (index >> SHIFT) << SHIFT
        index >>= SHIFT
        node = queue.first_node[level] + index
        if gone_narrow < queue.narrow[node] and gone_short < queue.short[node, width]:
            return
        narrow = np.int32(0)
        if level == 0:
            _clear_classes(queue.short, node)
            for i in range(below, min(below + FANOUT, len(queue.waiting))):
                if queue.waiting[i]:
                    other = queue.job_at[i]
                    narrow = max(narrow, np.int32(NOTHING - queue.procs[other]))
                    other_width = width_class(queue, queue.procs[other])
                    _raise_classes(queue.short, node, other_width, _shortness(queue.estimate[other]))
        else:
            below += queue.first_node[level - 1]
            for i in range(below, below + FANOUT):
                narrow = max(narrow, queue.narrow[i])
            _take_classes(queue.short, node, below)
        queue.narrow[node] = narrow


@lean
def _shortness(estimate):
    return np.int32(max(NOTHING - estimate, 1))


# One node's classes are one line of the cache, and these loops, of a length known beforehand and with unsigned indices, which
# numba does not test for being negative, are a few vector instructions each.


@lean
def _raise_classes(short, node, width, value):
    """Class `width` and all wider ones hold a job of this shortness."""
    n = np.uint64(node)
    for c in range(MOST_CLASSES):
        if c >= width:
            short[n, c] = max(short[n, c], value)


@lean
def _clear_classes(short, node):
    n = np.uint64(node)
    for c in range(MOST_CLASSES):
        short[n, c] = 0


@lean
def _take_classes(short, node, below):
    """The node holds what its children do, the FANOUT nodes from `below` on."""
    n = np.uint64(node)
    for c in range(MOST_CLASSES):
        short[n, c] = 0
    for child in range(np.uint64(below), np.uint64(below + FANOUT)):
        for c in range(MOST_CLASSES):
            short[n, c] = max(short[n, c], short[child, c])


@lean
def width_class(queue, procs):
    low = 0
    high = len(queue.narrowest)
    while high - low > 1:
        middle = (low + high) >> 1
        if queue.narrowest[middle] <= procs:
            low = middle
        else:
            high = middle
    return low


@lean
def next_in_tree(queue, rank, extra, free, slack):
    """First rank from `rank` on whose job waits and needs at most `extra` processors, or at most `free` for at most
    `slack` seconds; the number of jobs when there is none. Nodes that cannot hold such a job are passed over, the larger
    the better."""
    num_jobs = len(queue.waiting)
    levels = len(queue.first_node) - 1
    width = width_class(queue, free)
    narrow = max(NOTHING - extra, 1)
    short = max(NOTHING - slack, 1)
    root = queue.first_node[levels - 1]
    if queue.narrow[root] < narrow and queue.short[root, width] < short:
        return np.int64(num_jobs)
    while rank < num_jobs:
        if rank & (FANOUT - 1) == 0:
            index = rank >> SHIFT
            level = 0
            skip = 0
            while not (
                queue.narrow[queue.first_node[level] + index] >= narrow
                or queue.short[queue.first_node[level] + index, width] >= short
            ):
                skip = FANOUT << (SHIFT * level)
                level += 1
                if level == levels:
                    return np.int64(num_jobs)
                if index & (FANOUT - 1) != 0:
                    break
                index >>= SHIFT
            if skip > 0:
                rank += skip
                continue
        end = min((rank | (FANOUT - 1)) + 1, num_jobs)
        while rank < end:
            if queue.waiting[rank]:
                job = queue.job_at[rank]
                procs = queue.procs[job]
                if procs <= extra or (procs <= free and queue.estimate[job] <= slack):
                    return np.int64(rank)
            rank += 1
    return np.int64(num_jobs)
