"""The plan of a backfill cycle: on each node the times in which a waiting job is planned. Plans take whole nodes.

To Slurm the plan is a list of slices of time, each with the nodes that are free in it. Neighbours with the same nodes are one slice. A
slice ends wherever a plan begins or ends, so these times are kept beside the plans.

Advance reservations: when a job may start, and on which nodes. Rules: docs/reference/slurm.md, "Reservations".
"""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.jobs.cluster import FOREVER


@referring
def begin_plans(plans, now, settings):
    """Nothing is planned in the whole window."""
    plans.window[0] = now - now % settings.resolution
    plans.window[1] = now + settings.window - (now + settings.window) % settings.resolution
    for k in range(plans.num_planned[0]):
        plans.length[plans.planned[k]] = 0
    plans.num_planned[0] = 0
    plans.num_edges[0] = 0
    plans.rows[0] = 1
    plans.changes[0] = 0


@referring_apart
def narrow(plans, base, allowed, start, end):
    """Leaves in `allowed` those nodes of `base` that are free in all slices after `start` that begin by `end`. Returns the time at which
    a node may come free that is not among them, or 0, and how many nodes are left."""
    later, count = FOREVER, 0
    for node in range(len(base)):
        allowed[node] = base[node]
        count += base[node]
    for place in range(plans.num_planned[0]):
        node = plans.planned[place]
        if not base[node]:
            continue
        k, length = 0, plans.length[node]
        while k < length and plans.end[node, k] <= start:
            k += 1
        if k == length:
            continue
        later = min(later, plans.end[node, k])
        if plans.begin[node, k] <= end:
            allowed[node] = False
            count -= 1
    if later >= plans.window[1] or (later > end and _is_far(plans, later, end)):
        return 0, count
    return later, count


@referring
def _is_far(plans, time, end):
    """Whether a time lies behind the first slice that begins after `end`."""
    k = _edge(plans, end + 1)
    return k + 1 < plans.num_edges[0] and time > plans.edge[k + 1]


@referring
def is_free(plans, chosen, count, begin, end):
    """Whether the first `count` chosen nodes are free in all of [begin, end)."""
    for place in range(count):
        node = chosen[place]
        for k in range(plans.length[node]):
            if plans.begin[node, k] < end and plans.end[node, k] > begin:
                return False
    return True


@referring_apart
def take_nodes(plans, chosen, count, begin, end):
    """The chosen nodes are not free in [begin, end). The controller's table grows by a row for a begin or an end at which no slice ends
    yet."""
    begin, end = max(begin, plans.window[0]), min(end, plans.window[1])
    if begin >= end:
        return
    plans.rows[0] += _new_edges(plans, begin) + (_new_edges(plans, end) if end < plans.window[1] else 0)
    for place in range(count):
        _take(plans, chosen[place], begin, end)


@referring
def _take(plans, node, begin, end):
    """Joins [begin, end) with the plans of the node that it touches."""
    length = plans.length[node]
    if length == 0:
        plans.planned[plans.num_planned[0]] = node
        plans.num_planned[0] += 1
    first = 0
    while first < length and plans.end[node, first] < begin:
        first += 1
    behind = first
    low, high = begin, end
    while behind < length and plans.begin[node, behind] <= end:
        low, high = min(low, plans.begin[node, behind]), max(high, plans.end[node, behind])
        behind += 1
    _change_edge(plans, low, 1)
    _change_edge(plans, high, 1)
    for k in range(first, behind):
        _change_edge(plans, plans.begin[node, k], -1)
        _change_edge(plans, plans.end[node, k], -1)
    if behind == first:
        for k in range(length, first, -1):
            plans.begin[node, k] = plans.begin[node, k - 1]
            plans.end[node, k] = plans.end[node, k - 1]
    else:
        for k in range(behind, length):
            plans.begin[node, first + 1 + k - behind] = plans.begin[node, k]
            plans.end[node, first + 1 + k - behind] = plans.end[node, k]
    plans.begin[node, first] = low
    plans.end[node, first] = high
    plans.length[node] = length + 1 - (behind - first)


@referring
def _new_edges(plans, time):
    """1 where no plan begins or ends at this time, else 0."""
    place = _edge(plans, time)
    return 0 if place < plans.num_edges[0] and plans.edge[place] == time else 1


@referring
def _edge(plans, time):
    """The place of the first edge at this time or later."""
    low, high = 0, plans.num_edges[0]
    while low < high:
        middle = (low + high) // 2
        if plans.edge[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@referring
def _change_edge(plans, time, more):
    """One more plan begins or ends at this time (1), or one less (-1). Those of the window are no edges."""
    if time <= plans.window[0] or time >= plans.window[1]:
        return
    place, count = _edge(plans, time), plans.num_edges[0]
    if place < count and plans.edge[place] == time:
        plans.at_edge[place] += more
        if plans.at_edge[place] == 0:
            for k in range(place, count - 1):
                plans.edge[k] = plans.edge[k + 1]
                plans.at_edge[k] = plans.at_edge[k + 1]
            plans.num_edges[0] -= 1
        return
    for k in range(count, place, -1):
        plans.edge[k] = plans.edge[k - 1]
        plans.at_edge[k] = plans.at_edge[k - 1]
    plans.edge[place] = time
    plans.at_edge[place] = more
    plans.num_edges[0] += 1


# --- reservations


@referring
def covers_all(site, reservation):
    """Whether a reservation has all nodes of the cluster."""
    nodes = 0
    for node in range(len(site.cpus)):
        nodes += site.reservation_nodes[reservation, node]
    return nodes == len(site.cpus)


@referring
def narrow_to_reservations(engine, job, limit, start, now):
    """Takes nodes of other reservations out of `scratch.base`.

    Returns the earliest start of the job, -1 if it has none, and the end of the first reservation that takes nodes away, 0 for none.
    """
    site, base = engine.site, engine.scratch.base
    own = engine.jobs.reservation[job]
    if own >= 0:
        start = max(start, site.reservation_times[own, 0])
        for node in range(len(base)):
            base[node] = base[node] and site.reservation_nodes[own, node]
    moved = True
    while moved:
        moved = False
        for other in range(len(site.reservation_times)):
            if other == own or site.reservation_times[other, 2] > now or not covers_all(site, other):
                continue
            if site.reservation_times[other, 0] < start + limit and start < site.reservation_times[other, 1]:
                start = site.reservation_times[other, 1]
                moved = True
    if own >= 0 and start >= site.reservation_times[own, 1]:
        return -1, 0
    first_end = 0
    for other in range(len(site.reservation_times)):
        if other == own or site.reservation_times[other, 2] > now:
            continue
        if site.reservation_times[other, 0] < start + limit and start < site.reservation_times[other, 1]:
            end = site.reservation_times[other, 1]
            first_end = end if first_end == 0 else min(first_end, end)
            for node in range(len(base)):
                base[node] = base[node] and not site.reservation_nodes[other, node]
    return start, first_end
