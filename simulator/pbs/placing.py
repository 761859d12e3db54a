"""Which nodes a job gets: chunk by chunk, on the first nodes that have room for as long as the job plans to run.

Rules: docs/reference/pbs.md, "Nodes".
"""

from __future__ import annotations

from simulator.compiled import compiled, inlined
from simulator.pbs.state import BEGINS, CONFIRMED, ENDS, EXCLUSIVE, PACK, SCATTER, UNDECIDED, VSCATTER, WHOLE


@compiled
def find_nodes(engine, load, ask, begin, end):
    """Looks for nodes from `begin` to `end` in what is left by `load` and by the plans of the pass. Returns how many rows of
    `engine.scratch.node` and `.chunk` are filled, 0 where the ask does not fit."""
    site, asks, scratch = engine.site, engine.asks, engine.scratch
    for kind in range(asks.total.shape[1]):
        if asks.total[ask, kind] > load.total[kind]:
            return 0
    if asks.arrangement[ask] != PACK:
        return _fill(engine, load, ask, begin, end, site.all_nodes)
    for host in range(len(scratch.host_taken)):
        rows = _fill(engine, load, ask, begin, end, site.host_nodes[site.host_first[host] : site.host_first[host + 1]])
        if rows > 0:
            return rows
    return 0


@compiled
def _fill(engine, load, ask, begin, end, nodes):
    """Puts all chunks of an ask on some of these nodes, in their order. Returns rows as `find_nodes` does."""
    site, asks, scratch = engine.site, engine.asks, engine.scratch
    scratch.search[0] += 1
    search = scratch.search[0]
    apart = asks.arrangement[ask] == SCATTER or asks.arrangement[ask] == VSCATTER
    by_host = asks.arrangement[ask] == SCATTER
    several = asks.first[ask + 1] - asks.first[ask] > 1
    rows = 0
    for row in range(asks.first[ask], asks.first[ask + 1]):
        left = asks.count[row]
        for node in nodes:
            if not site.usable[asks.mask[row], node]:
                continue
            if by_host and scratch.host_taken[site.host[node]] == search:
                continue
            if apart and scratch.taken_for[node] == search:
                continue
            fitting = _copies(engine, load, (ask, row, node), begin, end)
            if fitting <= 0:
                continue
            if apart:
                fitting = 1
                scratch.host_taken[site.host[node]] = search
                scratch.taken_for[node] = search
            fitting = min(fitting, left)
            for _ in range(fitting):
                scratch.node[rows] = node
                scratch.chunk[rows] = row
                rows += 1
            if several and not apart:
                _take(engine, row, node, fitting, search)
            left -= fitting
            if left == 0:
                break
        if left > 0:
            return 0
    return rows


@compiled
def _take(engine, row, node, count, search):
    """Notes what the job itself has taken of a node, for its further chunks."""
    scratch, amounts = engine.scratch, engine.asks.amounts
    if scratch.taken_for[node] != search:
        scratch.taken_for[node] = search
        for kind in range(amounts.shape[1]):
            scratch.taken[node, kind] = 0
    for kind in range(amounts.shape[1]):
        scratch.taken[node, kind] += count * amounts[row, kind]


@compiled
def is_whole(engine, ask, node):
    """Whether a job of the ask has the node for itself."""
    site = engine.site
    if site.forced[node] or engine.asks.exclusive[ask] == UNDECIDED:
        return site.sharing[node] == EXCLUSIVE
    return engine.asks.exclusive[ask] == EXCLUSIVE


@inlined
def _room(free, asks, row, node, taken, is_taken):
    """How many chunks fit on a node."""
    most = asks.count[row]
    for kind in range(asks.amounts.shape[1]):
        amount = asks.amounts[row, kind]
        if amount > 0:
            left = free[node, kind]
            if is_taken:
                left -= taken[node, kind]
            if left < amount * most:
                most = left // amount
    return most


@compiled
def _copies(engine, load, place, begin, end):
    """How many chunks of a row fit on a node from begin to end. place: ask, row and node."""
    ask, row, node = place
    site, asks, scratch, tops = engine.site, engine.asks, engine.scratch, engine.tops
    is_taken = scratch.taken_for[node] == scratch.search[0]
    most = _room(load.free, asks, row, node, scratch.taken, is_taken)
    if most <= 0 or load.jobs[node] >= WHOLE:
        return 0
    whole = is_whole(engine, ask, node)
    if whole and load.jobs[node] > 0:
        return 0
    if not _is_open(site, asks.reservation[ask], node, (begin, end), scratch.search[2]):
        return 0
    for top in range(tops.length[0]):
        if begin < tops.start[top] < end:
            if tops.jobs[top, node] >= WHOLE or (whole and tops.jobs[top, node] > 0):
                return 0
            most = min(most, _room(tops.free[top], asks, row, node, scratch.taken, is_taken))
    return most


@inlined
def _is_open(site, own, node, span, now):
    """Whether no reservation but the job's own has the node within a span, and its own has it."""
    if own >= 0:
        return site.reservation_nodes[own, node]
    for other in range(len(site.reservation_times)):
        times = site.reservation_times[other]
        if (
            span[0] < times[ENDS]
            and times[BEGINS] < span[1]
            and times[CONFIRMED] <= now
            and site.reservation_nodes[other, node]
        ):
            return False
    return True


@compiled
def add_rows(engine, load, ask, node, chunk, count, sign):
    """A job of the ask takes the first `count` rows of node and chunk (sign -1), or gives them back (1)."""
    amounts = engine.asks.amounts
    before = -1
    for row in range(count):
        for kind in range(amounts.shape[1]):
            amount = sign * amounts[chunk[row], kind]
            load.free[node[row], kind] += amount
            load.total[kind] += amount
        if node[row] != before:
            before = node[row]
            load.jobs[before] -= sign * (WHOLE if is_whole(engine, ask, before) else 1)


@compiled
def add_to_plan(engine, top, ask, rows):
    """A job that runs into a plan takes its rows of what the plan leaves. rows: node, chunk and how many."""
    node, chunk, count = rows
    amounts, tops = engine.asks.amounts, engine.tops
    before = -1
    for row in range(count):
        for kind in range(amounts.shape[1]):
            tops.free[top, node[row], kind] -= amounts[chunk[row], kind]
        if node[row] != before:
            before = node[row]
            tops.jobs[top, before] += WHOLE if is_whole(engine, ask, before) else 1


@compiled
def copy_load(source, target):
    """Makes one load like another."""
    target.free[:] = source.free
    target.jobs[:] = source.jobs
    target.total[:] = source.total
