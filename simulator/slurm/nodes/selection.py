"""Which nodes a job gets (select/cons_tres with cores and memory, or select/linear). Rules: docs/reference/slurm.md, "Nodes".

Which nodes a job gets below the switches of topology/tree. Rules: docs/reference/slurm.md, "Nodes".
"""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.slurm.nodes.suspended import free_above, may_suspend
from simulator.slurm.nodes.usable import (
    copy_free,
    end_on_node,
    has_gpus,
    holds_whole_nodes,
    kept_shape,
    usable_cpus,
    wanted_cpus,
    wants_gpus,
)


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


# --- selection


@referring
def reset_weights(engine, partition):
    """Takes back what tests for GPUs left in the weights of a partition's nodes."""
    weight, marked = engine.scratch.weight, engine.scratch.marked
    left = 0
    for k in range(1, marked[0] + 1):
        node = marked[k]
        if engine.site.partition_nodes[partition, node]:
            weight[node] = unmarked_weight(engine.site, node)
        else:
            left += 1
            marked[left] = node
    marked[0] = left


@referring
def unmarked_weight(site, node):
    """The weight of a node in which no test has left anything."""
    return site.weight[node] * 256 + 255


@referring_apart
def choose_nodes(engine, free, job, partition):
    """Chooses among the nodes `scratch.allowed`. Returns how many, 0 if the job does not fit, with `scratch.chosen` and `scratch.cpus`."""
    whole = holds_whole_nodes(engine.site, engine.jobs, job, partition)
    scratch = engine.scratch
    scratch.tested[job] = True
    gpus = wants_gpus(engine.jobs, job)
    count, total = 0, 0
    for node in range(len(scratch.usable)):
        if scratch.allowed[node]:
            if gpus > 0:
                _weigh_gpus(engine, free, job, node)
            cpus = usable_cpus(engine, free, job, whole, node)
            if cpus > 0:
                scratch.usable[node] = cpus
                scratch.listed[count] = node
                count += 1
                total += cpus
    return _choose(engine, job, whole, count, total)


@referring_apart
def choose_now(engine, job, partition):
    """As `choose_nodes` on what is free, from what is kept of it."""
    whole = holds_whole_nodes(engine.site, engine.jobs, job, partition)
    shape = kept_shape(engine, job, partition)
    scratch, usable = engine.scratch, engine.shapes.usable
    scratch.tested[job] = True
    gpus = wants_gpus(engine.jobs, job)
    if gpus > 0:
        allowed, free_gpus = scratch.allowed, engine.free.gpus
        for node in range(len(allowed)):
            if allowed[node] and free_gpus[node, free_gpus.shape[1] - 1] >= gpus:
                _weigh_gpus(engine, engine.free, job, node)
    count, total = 0, 0
    if engine.shapes.num_usable[shape] >= engine.jobs.min_nodes[job]:
        # a loop that reads fields of the state would read them for each node
        allowed, kept, own, listed = scratch.allowed, usable[shape], scratch.usable, scratch.listed
        for node in range(len(allowed)):
            if allowed[node] and kept[node] > 0:
                own[node] = kept[node]
                listed[count] = node
                count += 1
                total += kept[node]
    return _choose(engine, job, whole, count, total)


@referring_apart
def choose_above(engine, job, partition):
    """As `choose_now`, and if that fails, where jobs that are suspended for this one do not count."""
    chosen = choose_now(engine, job, partition)
    if chosen == 0 and may_suspend(engine, partition):
        copy_free(engine.free, engine.scratch.trial)
        free_above(engine, engine.scratch.trial, partition)
        chosen = choose_nodes(engine, engine.scratch.trial, job, partition)
    return chosen


@referring_apart
def choose_later(engine, job, partition, shape, last):
    """As `choose_nodes`, where running jobs have ended up to `last`. shape: the place at which the job's is kept."""
    whole = holds_whole_nodes(engine.site, engine.jobs, job, partition)
    scratch, until = engine.scratch, engine.shapes.until[shape]
    gpus, end = wants_gpus(engine.jobs, job), engine.running.end[last]
    count, total = 0, 0
    for node in range(len(scratch.usable)):
        if scratch.allowed[node] and (until[node] <= end or gpus > 0):
            end_on_node(engine, node, last)
            if gpus > 0:
                _weigh_gpus(engine, scratch.trial, job, node)
            cpus = usable_cpus(engine, scratch.trial, job, whole, node)
            if cpus > 0:
                scratch.usable[node] = cpus
                scratch.listed[count] = node
                count += 1
                total += cpus
    return _choose(engine, job, whole, count, total)


@referring
def _weigh_gpus(engine, free, job, node):
    """A test for GPUs marks the allowed nodes that have them, until weights are reset."""
    if has_gpus(engine.jobs, free, job, node):
        weight, marked, unmarked = engine.scratch.weight, engine.scratch.marked, unmarked_weight(engine.site, node)
        if weight[node] == unmarked:
            marked[0] += 1
            marked[marked[0]] = node
        weight[node] = unmarked - min(wants_gpus(engine.jobs, job), 255)


@referring_apart
def _choose(engine, job, whole, count, total):
    """Chooses among the first `count` nodes of `scratch.listed`, which have `total` usable CPUs."""
    site, jobs, scratch = engine.site, engine.jobs, engine.scratch
    usable, listed = scratch.usable, scratch.listed
    wanted = wanted_cpus(jobs, job)
    while count >= jobs.min_nodes[job] and total >= wanted:
        for k in range(count):
            scratch.taken[k] = 0
        if len(site.switch_level) > 0:
            chosen = take_leaves(site, scratch, count, (jobs.min_nodes[job], wanted, jobs.max_nodes[job]), whole)
        else:
            chosen = _take_runs(jobs, scratch, count, job, whole)
        if chosen > 0:
            _lay_out(engine, job, whole, count, chosen)
            return chosen
        if count <= jobs.min_nodes[job]:
            return 0
        # too many small nodes: leave out those with the fewest CPUs
        least = usable[listed[0]]
        for k in range(count):
            least = min(least, usable[listed[k]])
        kept = 0
        for k in range(count):
            if usable[listed[k]] > least:
                listed[kept] = listed[k]
                kept += 1
        total -= least * (count - kept)
        count = kept
    return 0


@referring
def _take_runs(jobs, scratch, count, job, whole):
    """Takes the best runs of neighbours until nodes and CPUs suffice. Returns the number of nodes, or 0."""
    usable, listed, taken = scratch.usable, scratch.listed, scratch.taken
    nodes_left = jobs.min_nodes[job]
    cpus_left = wanted_cpus(jobs, job)
    chosen = 0
    while nodes_left > 0 or cpus_left > 0:
        begin, end, suffices = _best_run(scratch, count, nodes_left, cpus_left)
        if begin < 0:
            return 0
        if suffices and nodes_left <= 1:
            single = -1
            for k in range(begin, end):
                if usable[listed[k]] >= cpus_left and (single < 0 or usable[listed[k]] < usable[listed[single]]):
                    single = k
            if single >= 0:
                begin, end = single, single + 1
        for k in range(begin, end):
            if nodes_left <= 0 and cpus_left <= 0:
                break
            if chosen >= jobs.max_nodes[job]:
                return 0
            # one further node may be enough, and then it need not be the next one
            if k > begin and nodes_left == 1 and usable[listed[k]] < cpus_left:
                break
            cut = usable[listed[k]]
            if not whole:
                cut = min(cut, max(cpus_left - max(nodes_left - 1, 0), 1))
            taken[k] = cut
            nodes_left -= 1
            cpus_left -= cut
            chosen += 1
    return chosen


@referring
def _best_run(scratch, count, nodes_left, cpus_left):
    """The best run of neighbours with one weight: its first place in the list, the one behind it, and whether it suffices alone. -1 for
    none."""
    usable, listed, taken, weight = scratch.usable, scratch.listed, scratch.taken, scratch.weight
    best_begin, best_end, best_suffices, best_cpus = -1, -1, False, 0
    place = 0
    while place < count:
        if taken[place] > 0:
            place += 1
            continue
        begin, first = place, listed[place]
        cpus = 0
        while place < count and listed[place] == first + place - begin and taken[place] == 0:
            if weight[listed[place]] != weight[first]:
                break
            cpus += usable[listed[place]]
            place += 1
        suffices = place - begin >= nodes_left and cpus >= cpus_left
        better = best_begin < 0
        if not better and weight[first] != weight[listed[best_begin]]:
            better = weight[first] < weight[listed[best_begin]]
        elif not better and suffices != best_suffices:
            better = suffices
        elif not better:
            better = cpus < best_cpus if suffices else cpus > best_cpus
        if better:
            best_begin, best_end, best_suffices, best_cpus = begin, place, suffices, cpus
    return best_begin, best_end, best_suffices


@referring
def _lay_out(engine, job, whole, count, chosen):
    """Writes the chosen nodes in their order, and the CPUs that the job gets on each."""
    jobs, scratch = engine.jobs, engine.scratch
    place = 0
    for k in range(count):
        if scratch.taken[k] > 0:
            scratch.chosen[place] = scratch.listed[k]
            scratch.cpus[place] = scratch.taken[k]
            place += 1
    for k in range(chosen):
        if whole:
            scratch.cpus[k] = engine.site.cpus[scratch.chosen[k]]
        elif jobs.tasks_per_node[job] > 0:
            scratch.cpus[k] = jobs.tasks_per_node[job] * jobs.cpus_per_task[job]
        elif chosen == 1:
            scratch.cpus[k] = wanted_cpus(jobs, job)
