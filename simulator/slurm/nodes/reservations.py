"""Advance reservations: when a job may start, and on which nodes. Rules: docs/reference/slurm.md, "Reservations"."""

from __future__ import annotations

from simulator.compiled import referring


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
