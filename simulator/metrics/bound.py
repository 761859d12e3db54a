"""What no schedule can beat: a proven lower bound of the average wait of a trace, and so of its average turnaround.

The method is weak duality: Lagrangian relaxation of the time-indexed formulation (Dyer and Wolsey 1990). For jobs that need several
units of a resource it is due to Moehring, Schulz, Stork and Uetz 2003. Let every processor-second at time t cost beta(t) >= 0. Let each
job, knowing everything, choose the start S >= s that is best for itself alone:

    least cost of a job = min over S of  (S - s) + p * integral of beta over [S, S + r)

In any schedule the jobs together hold at most m processors at any time, so together they pay at most m * integral of
beta, and their waits sum to at least

    sum of least costs - m * integral of beta.

That holds for all prices. The proof, and how it relates to bounds of squashed areas, is in docs/reference/semantics.md. Good prices
make it a good bound. They begin as those of a fluid machine that runs the jobs preemptively, smallest area first. Then they are
raised where the jobs' choices overfill the cluster, and lowered where they leave it empty (subgradient ascent).
"""

from __future__ import annotations

import heapq
import math
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import NEVER, Jobs

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

ASCENT_ROUNDS = 40
"""Steps of the ascent. Later ones gain little."""
MOST_CELLS = 8192
"""Most intervals of constant price. A finer price follows the queue better and costs more."""
MOST_BOUNDS = 64
_total_waits: dict[bytes, float] = {}
"""Bounds of jobs that were asked for before in this process."""


def hindsight_bound(jobs: Jobs, cluster: int | Cluster, rounds: int = ASCENT_ROUNDS) -> dict[str, float]:
    """Averages below which no schedule of these jobs on this cluster can be, clairvoyant or not.

    least_average_wait_s, least_average_turnaround_s: lower bounds, in seconds, of the metrics average_wait_s and
    average_turnaround_s over all jobs that start. Outages, and jobs that run or wait when the replay begins, only take
    processors away, so a bound without them holds too. A job that could be cancelled (cancel < NEVER) may never start, so
    the bound does not need it to start: the schedule to beat starts such jobs where and if that lowers the average.
    rounds: steps of the ascent, >= 1. More of them give higher bounds. The result is the same on every call.
    Raises ValueError without any job and for a job wider than the cluster.
    """
    cluster = Cluster.of(cluster)
    cluster_procs = cluster.procs
    if cluster.waiting:
        jobs = jobs.window(cluster.waiting, len(jobs) - cluster.waiting)
    if len(jobs) == 0:
        raise ValueError("no job to bound: the replay is empty")
    if jobs.procs.max() > cluster_procs:
        index = int(jobs.procs.argmax())
        raise ValueError(f"job at index {index} needs {jobs.procs[index]} processors, the cluster has {cluster_procs}")
    certain = jobs.cancel == NEVER
    which = certain & (jobs.runtime > 0)  # a job without a run time can start at once and delays no other job
    least_wait = _kept_total_wait(jobs.submit[which], jobs.runtime[which], jobs.procs[which], cluster_procs, rounds)
    # Of the jobs that may be cancelled, k would start: for the average turnaround the k shortest, for whichever k is best.
    turnaround = least_wait + jobs.runtime[certain].sum() + np.cumsum([0, *np.sort(jobs.runtime[~certain])])
    started = int(certain.sum()) + np.arange(len(turnaround))
    return {
        "least_average_wait_s": least_wait / len(jobs),
        "least_average_turnaround_s": float((turnaround[started > 0] / started[started > 0]).min()),
    }


def _kept_total_wait(submit: IntArray, runtime: IntArray, procs: IntArray, cluster_procs: int, rounds: int) -> float:
    """As `_least_total_wait`, which takes longer than a replay: the same jobs are replayed under many settings."""
    jobs = blake2b(repr((len(submit), cluster_procs, rounds)).encode())
    for column in (submit, runtime, procs):
        jobs.update(column.tobytes())
    key = jobs.digest()
    if len(_total_waits) >= MOST_BOUNDS:
        _total_waits.clear()
    if key not in _total_waits:
        _total_waits[key] = _least_total_wait(submit, runtime, procs, cluster_procs, rounds)
    return _total_waits[key]


def _least_total_wait(submit: IntArray, runtime: IntArray, procs: IntArray, cluster_procs: int, rounds: int) -> float:
    """Lower bound of the sum of waits over all schedules, seconds. Arrays are (num_jobs,), runtime >= 1."""
    if len(submit) == 0:
        return 0.0
    area = runtime * procs
    begin, end, job, completes = _fluid(submit, area, cluster_procs)
    edge = _cells(submit, end[completes], int(runtime.max()))
    length = np.diff(edge)
    cell = np.searchsorted(edge, submit, side="right") - 1
    proposed = _mean_prices(edge, begin, end, *_fluid_prices(begin, end, job, completes, area))
    best, best_price, best_overload = -math.inf, proposed, np.zeros_like(proposed)
    step, misses, direction = 1.0, 0, np.zeros_like(proposed)
    usual = proposed.mean()
    for _ in range(rounds):
        # A price that is a multiple of a power of two, chosen so that every cost below is an exact double: the bound
        # then does not depend on rounding. Any price will do.
        unit = 2.0 ** (math.frexp(cluster_procs * float(proposed @ length) + 1.0)[1] - 50)
        price = np.floor(proposed / unit) * unit
        use = np.zeros(len(price))
        least_costs = _least_costs(submit, runtime, procs, cell, edge, price, use)
        least_costs *= 1 - len(submit) * 2.0**-52  # only their sum is rounded, num_jobs times
        value = least_costs - cluster_procs * float(price @ length)
        overload = use / cluster_procs - 1  # a slope of the bound: where it is positive, a higher price promises more
        if value > best:
            best, best_price, best_overload, misses = value, price, overload, 0
        else:
            misses += 1
        if misses == 2:  # the steps were too large: return to the best, and continue with smaller ones
            price, overload, misses = best_price, best_overload, 0
            step, direction = 0.4 * step, np.zeros_like(price)
        direction = (direction + np.where((price > 0) | (overload > 0), overload, 0.0)) / 2
        proposed = np.maximum(0.0, price + step * (price + usual) / 2 * direction)
    return max(0.0, best)  # waits are not negative


def _cells(submit: IntArray, completion: FloatArray, longest: int) -> IntArray:
    """Edges of the intervals of constant price, seconds, ascending. Half of them are evenly spread over the events of the
    fluid machine. Half are spread over time until after its end, since a cluster that cannot cut jobs up takes longer."""
    events = np.sort(np.concatenate([submit, np.ceil(completion).astype(np.int64)]))
    first, last = int(events[0]), int(events[-1])
    end = last + (last - first) // 3 + 3 * longest
    number = min(MOST_CELLS, 64 + 2 * len(submit)) // 2
    spread = events[:: max(1, len(events) // number)]
    return np.unique(np.concatenate([spread, np.linspace(first, end, number).astype(np.int64)]))


@compiled
def _fluid(submit, area, cluster_procs):
    """Runs all jobs on one machine of speed `cluster_procs`, preemptively, the smallest (whole) area first.

    Returns stretches in which one job runs, (num_stretches,) each: begin and end in seconds, the job, whether it ends.
    """
    n = len(submit)
    begin, end = np.empty(2 * n), np.empty(2 * n)
    job, completes = np.empty(2 * n, dtype=np.int64), np.zeros(2 * n, dtype=np.bool_)
    left = area / cluster_procs  # seconds
    ready = [(0, 0)]
    ready.pop()
    arrived = stretches = 0
    now = 0.0
    while arrived < n or len(ready) > 0:
        if len(ready) == 0:
            now = max(now, float(submit[arrived]))
        while arrived < n and submit[arrived] <= now:
            heapq.heappush(ready, (area[arrived], arrived))
            arrived += 1
        _, current = ready[0]
        begin[stretches], job[stretches] = now, current
        if arrived < n and now + left[current] > submit[arrived]:
            left[current] -= submit[arrived] - now
            now = float(submit[arrived])
        else:
            heapq.heappop(ready)
            now += left[current]
            completes[stretches] = True
        end[stretches] = now
        stretches += 1
    return begin[:stretches], end[:stretches], job[:stretches], completes[:stretches]


@compiled
def _fluid_prices(begin, end, job, completes, area):
    """The fluid machine's prices (dual solution) at begin and end of each stretch, linear between them. (num_stretches,) each.

    While job j runs, the price is alpha_j - t / area_j, so that all its times suit j equally well. When j ends, the price is the
    next stretch's, or 0 where the machine then becomes idle. Computed from the last stretch to the first.
    """
    at_begin, at_end = np.zeros(len(begin)), np.zeros(len(begin))
    alpha = np.zeros(len(area))
    following = 0.0
    for k in range(len(begin) - 1, -1, -1):
        j = job[k]
        if k + 1 < len(begin) and begin[k + 1] > end[k]:
            following = 0.0
        if completes[k]:
            alpha[j] = following + end[k] / area[j]
        at_end[k] = max(0.0, alpha[j] - end[k] / area[j])
        at_begin[k] = max(0.0, alpha[j] - begin[k] / area[j])
        following = at_begin[k]
    return at_begin, at_end


@compiled
def _mean_prices(edge, begin, end, at_begin, at_end):
    """Mean price in each cell, (num_cells,), of a price that is linear in each stretch and 0 between stretches."""
    price = np.zeros(len(edge) - 1)
    cell = 0
    for k in range(len(begin)):
        t = begin[k]
        while t < end[k]:
            while edge[cell + 1] <= t:  # the last edge is behind the last stretch
                cell += 1
            until = min(end[k], float(edge[cell + 1]))
            share = ((t + until) / 2 - begin[k]) / (end[k] - begin[k])
            mean = at_begin[k] + share * (at_end[k] - at_begin[k])
            price[cell] += mean * (until - t) / (edge[cell + 1] - edge[cell])
            t = until
    return price


@compiled
def _least_costs(submit, runtime, procs, cell, edge, price, use):
    """Sum over jobs of the least (S - submit) + procs * integral of the price over [S, S + runtime), in seconds.

    cell: the cell of each submission. price: per processor-second in each cell, 0 outside all cells. Adds to `use`
    (num_cells,) the mean number of processors that the chosen starts hold in each cell.

    The cost is piecewise linear in S. Its kinks are where S or S + runtime meets an edge, all whole seconds, so one of
    them is best. A start at which the wait alone costs as much as the best so far ends the search.
    """
    num_cells = len(price)
    paid = np.zeros(num_cells + 1)  # integral of the price up to each edge
    for k in range(num_cells):
        paid[k + 1] = paid[k] + price[k] * (edge[k + 1] - edge[k])
    total = 0.0
    for j in range(len(submit)):
        start, end = submit[j], submit[j] + runtime[j]
        a = cell[j]
        b = np.searchsorted(edge[a:], end, side="right") - 1 + a  # num_cells where the end is behind the last edge
        paid_at_end = paid[b] + (end - edge[b]) * price[b] if b < num_cells else paid[num_cells]
        cost = procs[j] * (paid_at_end - paid[a] - (start - edge[a]) * price[a])
        least, best_start, best_cell = cost, start, a
        while start - submit[j] < least and a < num_cells:
            step = edge[a + 1] - start
            slope = 1.0 - procs[j] * price[a]
            if b < num_cells:
                step = min(step, edge[b + 1] - end)
                slope += procs[j] * price[b]
            start, end, cost = start + step, end + step, cost + step * slope
            if start == edge[a + 1]:
                a += 1
            if b < num_cells and end == edge[b + 1]:
                b += 1
            if cost < least:
                least, best_start, best_cell = cost, start, a
        total += least
        k, until = best_cell, best_start + runtime[j]
        while k < num_cells and edge[k] < until:
            held = min(until, edge[k + 1]) - max(best_start, edge[k])
            use[k] += procs[j] * held / (edge[k + 1] - edge[k])
            k += 1
    return total
