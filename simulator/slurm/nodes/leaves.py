"""Which nodes a job gets below the switches of topology/tree. Rules: docs/reference/slurm.md, "Nodes"."""

from __future__ import annotations

from simulator.compiled import referring


@referring
def take_leaves(site, scratch, count, wanted, whole):
    """Takes nodes below the lowest switch that suffices, leaf by leaf. Writes `scratch.taken`. Returns the number of nodes, or 0.

    count: of usable nodes, the first ones of `scratch.listed`. wanted: nodes, CPUs and at most so many nodes.

    Of switches of one level the one with the fewest usable nodes is taken. Below it, a leaf that suffices alone comes first, the one with
    the fewest nodes; else the one with the most. Within a leaf nodes are taken by weight, then from the left.
    """
    usable, listed, taken = scratch.usable, scratch.listed, scratch.taken
    nodes_left, cpus_left, most_nodes = wanted
    top = _lowest_switch(site, scratch, count, nodes_left, cpus_left)
    if top < 0:
        return 0
    chosen = 0
    while nodes_left > 0 or cpus_left > 0:
        leaf = _best_leaf(site, scratch, count, top, (nodes_left, cpus_left))
        if leaf < 0:
            return 0
        while nodes_left > 0 or cpus_left > 0:
            place = _next_place(site, scratch, count, leaf)
            if place < 0:
                break
            if chosen >= most_nodes:
                return 0
            cut = usable[listed[place]]
            if not whole:
                cut = min(cut, max(cpus_left - max(nodes_left - 1, 0), 1))
            taken[place] = cut
            nodes_left -= 1
            cpus_left -= cut
            chosen += 1
    return chosen


@referring
def _lowest_switch(site, scratch, listed_nodes, nodes_wanted, cpus_wanted):
    """The switch of the lowest level that suffices, of several the one with the fewest usable nodes. -1 for none. Switches are by level."""
    best, best_count = -1, 0
    for switch in range(len(site.switch_level)):
        if best >= 0 and site.switch_level[switch] > site.switch_level[best]:
            break
        count, cpus = 0, 0
        for k in range(listed_nodes):
            node = scratch.listed[k]
            if site.switch_nodes[switch, node]:
                count += 1
                cpus += scratch.usable[node]
        if count >= nodes_wanted and cpus >= cpus_wanted and (best < 0 or count < best_count):
            best, best_count = switch, count
    return best


@referring
def _best_leaf(site, scratch, listed_nodes, top, left):
    """The best leaf below a switch that still has nodes, -1 for none. left: nodes and CPUs."""
    best, best_suffices, best_count = -1, False, 0
    for leaf in range(len(site.switch_level)):
        if site.switch_level[leaf] > 0:
            break
        count, cpus = 0, 0
        for k in range(listed_nodes):
            node = scratch.listed[k]
            if site.switch_nodes[leaf, node] and site.switch_nodes[top, node] and scratch.taken[k] == 0:
                count += 1
                cpus += scratch.usable[node]
        if count == 0:
            continue
        suffices = count >= left[0] and cpus >= left[1]
        better = best < 0
        if not better and suffices != best_suffices:
            better = suffices
        elif not better:
            better = count < best_count if suffices else count > best_count
        if better:
            best, best_suffices, best_count = leaf, suffices, count
    return best


@referring
def _next_place(site, scratch, listed_nodes, leaf):
    """The place in the list of the next node of a leaf: the lowest weight first, then from the left."""
    listed, taken, weight = scratch.listed, scratch.taken, scratch.weight
    best = -1
    for k in range(listed_nodes):
        if not site.switch_nodes[leaf, listed[k]] or taken[k] > 0:
            continue
        if best < 0 or weight[listed[k]] < weight[listed[best]]:
            best = k
    return best
