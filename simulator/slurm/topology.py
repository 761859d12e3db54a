"""Which nodes a job gets where switches matter (topology/tree). Rules: docs/reference/slurm.md, "Nodes"."""

from __future__ import annotations

from simulator.compiled import compiled


@compiled
def take_leaves(site, scratch, nodes_wanted, cpus_wanted, most_nodes, whole):
    """Takes nodes below the lowest switch that suffices, leaf by leaf. Writes `scratch.cpus`. Returns the number of nodes, or 0.

    Of switches of one level the one with the fewest usable nodes is taken. Below it, a leaf that suffices alone comes first, the one with
    the fewest nodes; else the one with the most. Within a leaf nodes are taken by weight, then from the left.
    """
    usable, cpus = scratch.usable, scratch.cpus
    cpus[:] = 0
    top = _lowest_switch(site, usable, nodes_wanted, cpus_wanted)
    if top < 0:
        return 0
    nodes_left, cpus_left, taken = nodes_wanted, cpus_wanted, 0
    while nodes_left > 0 or cpus_left > 0:
        leaf = _best_leaf(site, scratch, top, nodes_left, cpus_left)
        if leaf < 0:
            return 0
        while nodes_left > 0 or cpus_left > 0:
            node = _next_node(site, scratch, leaf)
            if node < 0:
                break
            if taken >= most_nodes:
                return 0
            cut = usable[node]
            if not whole:
                cut = min(cut, max(cpus_left - max(nodes_left - 1, 0), 1))
            cpus[node] = cut
            nodes_left -= 1
            cpus_left -= cut
            taken += 1
    return taken


@compiled
def _lowest_switch(site, usable, nodes_wanted, cpus_wanted):
    """The switch of the lowest level that suffices, of several the one with the fewest usable nodes. -1 for none. Switches are by level."""
    best, best_count = -1, 0
    for switch in range(len(site.switch_level)):
        if best >= 0 and site.switch_level[switch] > site.switch_level[best]:
            break
        count, cpus = 0, 0
        for node in range(len(usable)):
            if site.switch_nodes[switch, node] and usable[node] > 0:
                count += 1
                cpus += usable[node]
        if count >= nodes_wanted and cpus >= cpus_wanted and (best < 0 or count < best_count):
            best, best_count = switch, count
    return best


@compiled
def _best_leaf(site, scratch, top, nodes_left, cpus_left):
    """The best leaf below a switch that still has nodes, -1 for none."""
    usable, taken = scratch.usable, scratch.cpus
    best, best_suffices, best_count = -1, False, 0
    for leaf in range(len(site.switch_level)):
        if site.switch_level[leaf] > 0:
            break
        count, cpus = 0, 0
        for node in range(len(usable)):
            if site.switch_nodes[leaf, node] and site.switch_nodes[top, node] and usable[node] > 0 and taken[node] == 0:
                count += 1
                cpus += usable[node]
        if count == 0:
            continue
        suffices = count >= nodes_left and cpus >= cpus_left
        better = best < 0
        if not better and suffices != best_suffices:
            better = suffices
        elif not better:
            better = count < best_count if suffices else count > best_count
        if better:
            best, best_suffices, best_count = leaf, suffices, count
    return best


@compiled
def _next_node(site, scratch, leaf):
    """The next node of a leaf: the lowest weight first, then from the left."""
    usable, taken, weight = scratch.usable, scratch.cpus, scratch.weight
    best = -1
    for node in range(len(usable)):
        if not site.switch_nodes[leaf, node] or usable[node] == 0 or taken[node] > 0:
            continue
        if best < 0 or weight[node] < weight[best]:
            best = node
    return best
