"""A waiting queue whose order is known in advance. A short queue is a sorted list, a long one a tree in which no scan is needed.

Jobs are numbered by rank, their place in the order of all jobs of the trace. Most queues are short most of the time, and
nothing is faster then than a few numbers side by side. A queue that grows beyond SHORT moves into the tree until it is short again.

The tree covers all ranks, and a node has FANOUT children. A node knows the fewest processors of the waiting jobs below it. For each
*width class* (a range of processor counts) it also knows the shortest estimate in this class and all narrower ones. EASY backfilling
needs just that: the first job from some rank on that needs at most `extra` processors, or at most `free` and ends in time. Where
every processor count of the trace is a class of its own, a node never promises a job that it does not hold.

Nodes hold NOTHING minus the least value, so zero means that no job waits. Fresh memory is then an empty tree, and the parts that a
replay never uses cost nothing. A leaf holds all that is needed of its job in one number, so that the leaves of a node are
one line of the cache.
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
"""Jobs left in the tree when the queue moves back to the list. It is far below SHORT, so that moving costs little per job."""
NOTHING = 2**31 - 1
"""Above every processor count, and above every estimate below 68 years. Longer ones are examined one by one."""
MOST_PROCS = (1 << 28) - 1
"""Most processors of a job in the tree."""


class Queue(NamedTuple):
    """A queue as a list, and as a tree. Only one of them is in use at a time."""

    rank: IntArray  # (tasks,), of each task
    job_at: IntArray  # (jobs,), task of each rank
    procs: IntArray  # (tasks,)
    estimate: IntArray  # (tasks,), the seconds that decide whether a job may pass the head
    rows: IntArray  # (SHORT, 3), the list, ascending by rank: rank, processors, estimate
    leaf: IntArray  # (jobs, up to a multiple of FANOUT), by rank, see _packed
    first_node: IntArray  # (levels + 1,), first node of each level, the lowest first, each a multiple of FANOUT
    narrow: NDArray[np.int32]  # (nodes,)
    short: NDArray[np.int32]  # (nodes, MOST_CLASSES), never falling from class to class
    narrowest: IntArray  # (at most MOST_CLASSES,), fewest processors of each width class


def queue_by(score: NDArray[np.int64] | NDArray[np.float64], procs: IntArray, estimate: IntArray, first: int) -> Queue:
    """An empty queue ordered by (score, task). score: (num_jobs,), of the tasks from `first` on. procs, estimate: by task."""
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
        rank=rank,
        job_at=job_at,
        procs=procs,
        estimate=estimate,
        rows=np.zeros((SHORT, 3), dtype=np.int64),
        leaf=np.zeros(-(-num_jobs // FANOUT) * FANOUT, dtype=np.int64),
        first_node=first_node.astype(np.int64),
        narrow=np.zeros(first_node[-1], dtype=np.int32),
        short=np.zeros((first_node[-1], MOST_CLASSES), dtype=np.int32),
        narrowest=narrowest,
    )


def order_of(score: NDArray[np.int64] | NDArray[np.float64]) -> IntArray:
    """Indices by (score, index), int64 (num_jobs,). It is a stable sort, by the fastest way that these scores allow."""
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
    """Enters a job by its rank into the list of `count` jobs."""
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
    """Removes the job of this rank from the list of `count` jobs."""
    k = 0
    while rows[k, 0] != rank:
        k += 1
    for i in range(np.uint64(k), np.uint64(count - 1)):
        rows[i, 0] = rows[i + np.uint64(1), 0]
        rows[i, 1] = rows[i + np.uint64(1), 1]
        rows[i, 2] = rows[i + np.uint64(1), 2]


@lean
def next_in_list(rows, count, k, extra, free, slack):
    """First place from `k` on whose job needs at most `extra` processors, or at most `free` for at most `slack` seconds.
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
    """Enters a job. The nodes above its leaf take over what it needs."""
    index = queue.rank[job]
    narrow = np.int32(NOTHING - queue.procs[job])
    short = _shortness(queue.estimate[job])
    width = width_class(queue, queue.procs[job])
    queue.leaf[index] = _packed(width, short, queue.procs[job])
    for level in range(len(queue.first_node) - 1):
        index >>= SHIFT
        node = queue.first_node[level] + index
        if narrow <= queue.narrow[node] and short <= queue.short[node, width]:
            return
        queue.narrow[node] = max(queue.narrow[node], narrow)
        _raise_classes(queue.short, node, width, short)


@lean
def leave_tree(queue, job):
    """Removes a job. The nodes above its leaf are computed again, as far up as anything changes."""
    index = queue.rank[job]
    leaf = queue.leaf[index]
    queue.leaf[index] = 0
    gone_narrow = np.int32(NOTHING - _procs(leaf))
    gone_short = _short(leaf)
    width = _width(leaf)
    for level in range(len(queue.first_node) - 1):
        below = (index >> SHIFT) << SHIFT
        index >>= SHIFT
        node = queue.first_node[level] + index
        if gone_narrow < queue.narrow[node] and gone_short < queue.short[node, width]:
            return
        narrow = np.int32(0)
        before = _sum_classes(queue.short, node)
        if level == 0:
            _clear_classes(queue.short, node)
            for i in range(np.uint64(below), np.uint64(below + FANOUT)):
                other = queue.leaf[i]
                if other != 0:
                    narrow = max(narrow, np.int32(NOTHING - _procs(other)))
                    _raise_classes(queue.short, node, _width(other), _short(other))
        else:
            below += queue.first_node[level - 1]
            for i in range(below, below + FANOUT):
                narrow = max(narrow, queue.narrow[i])
            _take_classes(queue.short, node, below)
        # values only fall, so their sum shows whether any did
        if narrow == queue.narrow[node] and _sum_classes(queue.short, node) == before:
            return
        queue.narrow[node] = narrow


@lean
def _sum_classes(short, node):
    n = np.uint64(node)
    total = np.int64(0)
    for c in range(MOST_CLASSES):
        total += short[n, c]
    return total


@lean
def _packed(width, short, procs):
    """A leaf: width class, shortness (never 0), processors."""
    return (np.int64(width) << 59) | (np.int64(short) << 28) | procs


@lean
def _procs(leaf):
    return leaf & MOST_PROCS


@lean
def _short(leaf):
    return np.int32((leaf >> 28) & NOTHING)


@lean
def _width(leaf):
    return leaf >> 59


@lean
def _shortness(estimate):
    return np.int32(max(NOTHING - estimate, 1))


# One node's classes are one line of the cache. The length of these loops is known beforehand, and their indices are unsigned, so
# numba does not test for negative ones. Each loop compiles to a few vector instructions.


@lean
def _raise_classes(short, node, width, value):
    """Records that class `width` and all wider ones hold a job of this shortness."""
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
    """Gives the node what its children hold, the FANOUT nodes from `below` on."""
    n = np.uint64(node)
    for c in range(MOST_CLASSES):
        short[n, c] = 0
    for child in range(np.uint64(below), np.uint64(below + FANOUT)):
        for c in range(MOST_CLASSES):
            short[n, c] = max(short[n, c], short[child, c])


@lean
def width_class(queue, procs):
    """The number of the class in which so many processors are."""
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
    `slack` seconds. Returns the number of jobs when there is none. Nodes that cannot hold such a job are skipped, the larger
    ones first."""
    num_jobs = np.int64(len(queue.job_at))
    top = len(queue.first_node) - 2
    width = width_class(queue, free)
    narrow = max(NOTHING - extra, 1)
    short = max(NOTHING - slack, 1)
    level = -1  # that of the jobs themselves
    index = rank
    while True:
        while index & (FANOUT - 1) == 0 and level < top:  # the whole of the next node is still ahead
            index >>= SHIFT
            level += 1
        if level == top and index > 0:
            return num_jobs
        if level >= 0:
            node = queue.first_node[level] + index
            if queue.narrow[node] < narrow and queue.short[node, width] < short:
                index += 1
                continue
            index <<= SHIFT
            level -= 1
            while level >= 0:
                node = queue.first_node[level] + index
                if queue.narrow[node] >= narrow or queue.short[node, width] >= short:
                    index <<= SHIFT
                    level -= 1
                else:
                    index += 1  # what the node above promises is in one of its other children
        end = (index | (FANOUT - 1)) + 1
        while index < end:
            leaf = queue.leaf[index]
            if leaf != 0:
                procs = _procs(leaf)
                if procs <= extra:
                    return index
                in_time = procs <= free and _short(leaf) >= short
                if in_time and (short > 1 or queue.estimate[queue.job_at[index]] <= slack):
                    return index
            index += 1
        level = -1
