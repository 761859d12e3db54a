"""Which nodes a job gets: chunk by chunk, on the first nodes that have room for as long as the job plans to run.

Rules: docs/reference/pbs.md, "Nodes".
"""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.pbs.occurrences import held_entry
from simulator.pbs.state import BEGINS, CONFIRMED, ENDS, EXCLUSIVE, PACK, SCATTER, UNDECIDED, VSCATTER, WHOLE_VNODE


@referring
def is_whole(site, asks, ask, node):
    """Whether a job of the ask has the node for itself."""
    by_node = site.forced[node] or asks.exclusive[ask] == UNDECIDED
    return site.sharing[node] == EXCLUSIVE if by_node else asks.exclusive[ask] == EXCLUSIVE


@referring
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


@referring
def _is_open(site, own, node, span, now):
    """Whether no reservation but the job's own has the node within a span, and its own has it. own: its entry, -1 for none."""
    if own >= 0:
        return site.reservation_nodes[own, node]
    for other in range(site.reservation_first[0], len(site.reservation_times)):
        times = site.reservation_times[other]
        if times[BEGINS] >= span[1]:
            break
        if (
            span[0] < times[ENDS]
            and times[CONFIRMED] <= now
            and site.reservation_nodes[site.reservation_entry[other], node]
        ):
            return False
    return True


@referring
def _own_entry(site, asks, ask, now):
    """The entry of the reservation of an ask, -1 for none."""
    return held_entry(site, asks.reservation[ask], now) if asks.reservation[ask] >= 0 else -1


@referring
def _beside_plans(site, asks, tops, scratch, place, span, most):
    """How many of `most` chunks fit on a node beside the plans that begin within a span. place: ask, row and node."""
    ask, row, node = place
    whole = is_whole(site, asks, ask, node)
    is_taken = scratch.taken_for[node] == scratch.search[0]
    for top in range(tops.length[0]):
        if span[0] < tops.start[top] < span[1]:
            if tops.jobs[top, node] >= WHOLE_VNODE or (whole and tops.jobs[top, node] > 0):
                return 0
            most = min(most, _room(tops.free[top], asks, row, node, scratch.taken, is_taken))
    return most


@referring_apart
def find_nodes(site, asks, tops, scratch, load, ask, span):
    """Looks for nodes for a span of time in what is left by `load` and by the plans of the pass. Returns how many rows of
    `scratch.node` and `scratch.chunk` are filled, 0 where the ask does not fit."""
    for kind in range(asks.total.shape[1]):
        if asks.total[ask, kind] > load.total[kind]:
            return 0
    if asks.arrangement[ask] != PACK:
        return _fill(site, asks, tops, scratch, load, (ask, 0, len(site.all_nodes)), span)
    for host in range(len(scratch.host_taken)):
        place = (ask, site.host_first[host], site.host_first[host + 1])
        rows = _fill(site, asks, tops, scratch, load, place, span)
        if rows > 0:
            return rows
    return 0


@referring
def _fill(site, asks, tops, scratch, load, place, span):
    """Puts all chunks of an ask on some nodes, in their order. Returns rows as `find_nodes` does.

    place: the ask, and from where to where in the list of nodes, which are those of one host where the ask is packed."""
    ask, low, high = place
    scratch.search[0] += 1
    search, now = scratch.search[0], scratch.search[2]
    arrangement = asks.arrangement[ask]
    nodes = site.host_nodes if arrangement == PACK else site.all_nodes
    apart = arrangement in (SCATTER, VSCATTER)
    several = asks.first[ask + 1] - asks.first[ask] > 1
    has_reservations = site.reservation_first[0] < len(site.reservation_times)
    own = _own_entry(site, asks, ask, now)
    first_top = _first_plan(tops, span)
    rows = 0
    for row in range(asks.first[ask], asks.first[ask + 1]):
        left = asks.count[row]
        for k in range(low, high):
            node = nodes[k]
            if load.jobs[node] >= WHOLE_VNODE or not site.usable[asks.mask[row], node]:
                continue
            if apart and _is_taken_apart(site, scratch, arrangement, node):
                continue
            fitting = _room(load.free, asks, row, node, scratch.taken, scratch.taken_for[node] == search)
            if fitting <= 0 or (load.jobs[node] > 0 and is_whole(site, asks, ask, node)):
                continue
            if has_reservations and not _is_open(site, own, node, span, now):
                continue
            if first_top:
                fitting = _beside_plans(site, asks, tops, scratch, (ask, row, node), span, fitting)
                if fitting <= 0:
                    continue
            fitting = 1 if apart else min(fitting, left)
            for _ in range(fitting):
                scratch.node[rows] = node
                scratch.chunk[rows] = row
                rows += 1
            if several or apart:
                _take(site, asks, scratch, row, node, fitting)
            left -= fitting
            if left == 0:
                break
        if left > 0:
            return 0
    return rows


@referring
def _first_plan(tops, span):
    """Whether a plan of the pass begins within a span."""
    begins = False
    for top in range(tops.length[0]):
        if span[0] < tops.start[top] < span[1]:
            begins = True
    return begins


@referring
def _is_taken_apart(site, scratch, arrangement, node):
    """Whether the job itself has a chunk on the node, or on its host."""
    by_host = arrangement == SCATTER and scratch.host_taken[site.host[node]] == scratch.search[0]
    return by_host or scratch.taken_for[node] == scratch.search[0]


@referring
def _take(site, asks, scratch, row, node, count):
    """Notes what the job itself has taken of a node, for its further chunks."""
    amounts = asks.amounts
    scratch.host_taken[site.host[node]] = scratch.search[0]
    if scratch.taken_for[node] != scratch.search[0]:
        scratch.taken_for[node] = scratch.search[0]
        for kind in range(amounts.shape[1]):
            scratch.taken[node, kind] = 0
    for kind in range(amounts.shape[1]):
        scratch.taken[node, kind] += count * amounts[row, kind]


@referring_apart
def find_own_nodes(site, asks, tops, scratch, load, running, whose, span):
    """As `find_nodes`, for a suspended job, which goes on where it was. whose: the job and its ask."""
    job, ask = whose
    first, count = running.first[job], running.count[job]
    scratch.search[0] += 1
    begins = _first_plan(tops, span)
    for k in range(count):
        node, row = running.node[first + k], running.chunk[first + k]
        if load.jobs[node] >= WHOLE_VNODE or (load.jobs[node] > 0 and is_whole(site, asks, ask, node)):
            return 0
        if _room(load.free, asks, row, node, scratch.taken, scratch.taken_for[node] == scratch.search[0]) <= 0:
            return 0
        if not _is_open(site, -1, node, span, scratch.search[2]):
            return 0
        if begins and _beside_plans(site, asks, tops, scratch, (ask, row, node), span, 1) <= 0:
            return 0
        _take(site, asks, scratch, row, node, 1)
        scratch.node[k] = node
        scratch.chunk[k] = row
    return count


@referring
def find_rows(engine, load, job, span):
    """As `find_nodes` for a job, and as `find_own_nodes` for one that is suspended."""
    site, asks, tops, scratch, ask = engine.site, engine.asks, engine.tops, engine.scratch, engine.jobs.ask[job]
    if engine.waiting.suspended[job]:
        return find_own_nodes(site, asks, tops, scratch, load, engine.running, (job, ask), span)
    return find_nodes(site, asks, tops, scratch, load, ask, span)


@referring_apart
def add_rows(site, asks, load, ask, rows, sign):
    """A job of the ask takes rows (sign -1), or gives them back (1). rows: node and chunk of each, the first one, and how many."""
    node, chunk, first, count = rows
    before = -1
    for row in range(first, first + count):
        for kind in range(asks.amounts.shape[1]):
            amount = sign * asks.amounts[chunk[row], kind]
            load.free[node[row], kind] += amount
            load.total[kind] += amount
        if node[row] != before:
            before = node[row]
            load.jobs[before] -= sign * (WHOLE_VNODE if is_whole(site, asks, ask, before) else 1)


@referring
def add_to_plan(site, asks, tops, top, ask, rows, sign):
    """A job that runs into a plan takes its rows (sign -1), as in `add_rows`, of what the plan leaves, or gives them back (1)."""
    node, chunk, first, count = rows
    before = -1
    for row in range(first, first + count):
        for kind in range(asks.amounts.shape[1]):
            tops.free[top, node[row], kind] += sign * asks.amounts[chunk[row], kind]
        if node[row] != before:
            before = node[row]
            tops.jobs[top, before] -= sign * (WHOLE_VNODE if is_whole(site, asks, ask, before) else 1)


@referring_apart
def copy_load(source, target):
    """Makes one load like another."""
    for node in range(len(source.jobs)):
        target.jobs[node] = source.jobs[node]
        for kind in range(len(source.total)):
            target.free[node, kind] = source.free[node, kind]
    for kind in range(len(source.total)):
        target.total[kind] = source.total[kind]
