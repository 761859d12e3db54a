"""The plan of a backfill cycle: slices of time with the nodes that no waiting job is planned on. Plans take whole nodes."""

from __future__ import annotations

from simulator.compiled import compiled


@compiled
def begin_slices(slices, now, settings):
    """One slice for the whole window, in which all nodes are free."""
    slices.length[0] = 1
    slices.rows[0] = 1
    slices.begin[0] = now - now % settings.resolution
    slices.end[0] = now + settings.window - (now + settings.window) % settings.resolution
    slices.free[0, :] = True


@compiled
def narrow(slices, base, allowed, start, end):
    """Leaves in `allowed` those nodes of `base` that are free in all slices after `start` that begin by `end`. Returns the time at which
    a node may come free that is not among them, or 0."""
    later = 0
    for node in range(len(base)):
        allowed[node] = base[node]
    for k in range(slices.length[0]):
        if slices.end[k] <= start:
            continue
        if slices.begin[k] <= end:
            for node in range(len(base)):
                allowed[node] = allowed[node] and slices.free[k, node]
        if later == 0 and k + 1 < slices.length[0]:
            for node in range(len(base)):
                if base[node] and slices.free[k + 1, node] and not slices.free[k, node]:
                    later = slices.end[k]
                    break
        if slices.begin[k] > end:
            break
    return later


@compiled
def is_free(slices, chosen, count, begin, end):
    """Whether the first `count` chosen nodes are free in all slices that overlap [begin, end)."""
    for k in range(slices.length[0]):
        if slices.end[k] <= begin:
            continue
        if slices.begin[k] >= end:
            break
        for place in range(count):
            if not slices.free[k, chosen[place]]:
                return False
    return True


@compiled
def take_nodes(slices, chosen, count, begin, end):
    """The chosen nodes are not free in [begin, end). The table grows by a row for each end of this time at which no slice begins yet, and
    for a begin at its own."""
    slices.rows[0] += _split(slices, begin) + _split(slices, end) + (begin <= slices.begin[0])
    for k in range(slices.length[0]):
        if slices.begin[k] >= begin and slices.end[k] <= end:
            for place in range(count):
                slices.free[k, chosen[place]] = False
    _join_equal(slices)


@compiled
def _split(slices, time):
    """Makes a slice begin at the time, if it lies within one. Returns whether it did."""
    count = slices.length[0]
    for k in range(count):
        if slices.begin[k] < time < slices.end[k]:
            for later in range(count, k, -1):
                slices.begin[later] = slices.begin[later - 1]
                slices.end[later] = slices.end[later - 1]
                slices.free[later, :] = slices.free[later - 1, :]
            slices.end[k] = time
            slices.begin[k + 1] = time
            slices.length[0] += 1
            return 1
    return 0


@compiled
def _join_equal(slices):
    """Neighbours with the same free nodes become one slice."""
    kept = 0
    for k in range(1, slices.length[0]):
        equal = True
        for node in range(slices.free.shape[1]):
            if slices.free[k, node] != slices.free[kept, node]:
                equal = False
                break
        if equal:
            slices.end[kept] = slices.end[k]
        else:
            kept += 1
            if kept != k:
                slices.begin[kept] = slices.begin[k]
                slices.end[kept] = slices.end[k]
                slices.free[kept, :] = slices.free[k, :]
    slices.length[0] = kept + 1
