"""Which nodes a job gets (select/cons_tres with cores and memory, or select/linear). Rules: docs/reference/slurm.md, "Nodes"."""

from __future__ import annotations

from simulator.compiled import compiled

_PER_NODE, _PER_CPU, _PER_GPU = range(3)
"""Places in MEMORY_PER and GPUS_PER."""


@compiled
def holds_whole_nodes(site, jobs, job, partition):
    """Whether the job has its nodes for itself."""
    return jobs.exclusive[job] > 0 or site.partition_exclusive[partition] > 0 or site.settings.whole_nodes > 0


@compiled
def wanted_cpus(jobs, job):
    """CPUs of the job's tasks."""
    return max(jobs.tasks[job] * jobs.cpus_per_task[job], jobs.min_nodes[job])


@compiled
def node_gpus(jobs, job, column):
    """GPUs of a type that the job wants on each node."""
    gpus = jobs.gpus[job, column]
    if jobs.gpus_per[job] == 1:
        nodes = jobs.min_nodes[job]
        return (gpus + nodes - 1) // nodes
    if jobs.gpus_per[job] == 2:
        nodes = jobs.min_nodes[job]
        return gpus * ((jobs.tasks[job] + nodes - 1) // nodes)
    return gpus


@compiled
def has_gpus(jobs, free, job, node):
    """Whether all GPUs that the job wants on a node are free there."""
    for column in range(jobs.gpus.shape[1]):
        wanted = node_gpus(jobs, job, column)
        if wanted > 0 and free.gpus[node, column] < wanted:
            return False
    return True


@compiled
def wants_gpus(jobs, job):
    """GPUs of all types that the job wants on each node."""
    gpus = 0
    for column in range(jobs.gpus.shape[1]):
        gpus += node_gpus(jobs, job, column)
    return gpus


@compiled
def node_memory(jobs, job, cpus):
    """Memory that the job holds on a node on which it has these CPUs."""
    memory = jobs.memory[job]
    if jobs.memory_per[job] == _PER_CPU:
        return memory * cpus
    if jobs.memory_per[job] == _PER_GPU:
        return memory * wants_gpus(jobs, job)
    return memory


@compiled
def usable_cpus(engine, free, job, whole, node):
    """CPUs that the job could use on the node, 0 where it cannot have the node."""
    site, jobs = engine.site, engine.jobs
    least = 1
    if jobs.tasks_per_node[job] > 0:
        least = jobs.tasks_per_node[job]
    elif jobs.max_nodes[job] == 1:
        least = jobs.tasks[job]
    least *= jobs.cpus_per_task[job]
    cpus = free.cpus[node]
    if whole:
        if free.jobs[node] > 0:
            return 0
    elif free.whole[node] > 0:
        return 0
    gpus = wants_gpus(jobs, job)
    if gpus > 0:
        if not has_gpus(jobs, free, job, node):
            return 0
        if jobs.max_nodes[job] == 1 and not whole:
            cpus = min(cpus, wanted_cpus(jobs, job))
    if jobs.memory[job] > 0 and site.memory[node] > 0:
        if jobs.memory_per[job] == _PER_CPU and not whole:
            cpus = min(cpus, free.memory[node] // jobs.memory[job])
        elif node_memory(jobs, job, cpus) > free.memory[node]:
            return 0
    if cpus < least:
        return 0
    if jobs.tasks_per_node[job] > 0 and jobs.max_nodes[job] > jobs.min_nodes[job]:
        return least
    return cpus


@compiled
def reset_weights(engine, partition):
    """Takes back what tests for GPUs left in the weights of a partition's nodes."""
    weight = engine.scratch.weight
    for node in range(len(weight)):
        if engine.site.partition_nodes[partition, node]:
            weight[node] = engine.site.weight[node] * 256 + 255


@compiled
def choose_nodes(engine, free, job, partition):
    """Chooses among the nodes `scratch.allowed`. Returns how many, 0 if the job does not fit, with `scratch.chosen` and `scratch.cpus`."""
    site, jobs, scratch = engine.site, engine.jobs, engine.scratch
    whole = holds_whole_nodes(site, jobs, job, partition)
    gpus = wants_gpus(jobs, job)
    usable = scratch.usable
    scratch.tested[job] = True
    count = 0
    total = 0
    for node in range(len(usable)):
        usable[node] = 0
        if scratch.allowed[node]:
            if gpus > 0 and has_gpus(jobs, free, job, node):
                scratch.weight[node] = site.weight[node] * 256 + max(255 - gpus, 0)
            usable[node] = usable_cpus(engine, free, job, whole, node)
            if usable[node] > 0:
                count += 1
                total += usable[node]
    wanted = wanted_cpus(jobs, job)
    while count >= jobs.min_nodes[job] and total >= wanted:
        if len(site.switch_level) > 0:
            chosen = _take_leaves(site, scratch, jobs.min_nodes[job], wanted, jobs.max_nodes[job], whole)
        else:
            chosen = _take_runs(jobs, scratch, job, whole)
        if chosen > 0:
            _lay_out(engine, job, whole, chosen)
            return chosen
        if count <= jobs.min_nodes[job]:
            return 0
        # too many small nodes: leave out those with the fewest CPUs
        least = usable.max()
        for node in range(len(usable)):
            if 0 < usable[node] < least:
                least = usable[node]
        for node in range(len(usable)):
            if usable[node] == least:
                usable[node] = 0
                count -= 1
                total -= least
    return 0


@compiled
def _take_runs(jobs, scratch, job, whole):
    """Takes the best runs of neighbours until nodes and CPUs suffice. Returns the number of nodes, or 0."""
    usable = scratch.usable
    cpus = scratch.cpus
    cpus[:] = 0
    nodes_left = jobs.min_nodes[job]
    cpus_left = wanted_cpus(jobs, job)
    taken = 0
    while nodes_left > 0 or cpus_left > 0:
        begin, end, suffices = _best_run(usable, cpus, scratch.weight, nodes_left, cpus_left)
        if begin < 0:
            return 0
        if suffices and nodes_left <= 1:
            single = -1
            for node in range(begin, end):
                if usable[node] >= cpus_left and (single < 0 or usable[node] < usable[single]):
                    single = node
            if single >= 0:
                begin, end = single, single + 1
        for node in range(begin, end):
            if nodes_left <= 0 and cpus_left <= 0:
                break
            if taken >= jobs.max_nodes[job]:
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
def _best_run(usable, taken, weight, nodes_left, cpus_left):
    """The best run of neighbours with one weight: its first node, the one behind it, and whether it suffices alone. -1 for none."""
    best_begin, best_end, best_suffices, best_cpus = -1, -1, False, 0
    node = 0
    while node < len(usable):
        if usable[node] == 0 or taken[node] > 0:
            node += 1
            continue
        begin = node
        cpus = 0
        while node < len(usable) and usable[node] > 0 and taken[node] == 0 and weight[node] == weight[begin]:
            cpus += usable[node]
            node += 1
        suffices = node - begin >= nodes_left and cpus >= cpus_left
        better = best_begin < 0
        if not better and weight[begin] != weight[best_begin]:
            better = weight[begin] < weight[best_begin]
        elif not better and suffices != best_suffices:
            better = suffices
        elif not better:
            better = cpus < best_cpus if suffices else cpus > best_cpus
        if better:
            best_begin, best_end, best_suffices, best_cpus = begin, node, suffices, cpus
    return best_begin, best_end, best_suffices


@compiled
def _lay_out(engine, job, whole, chosen):
    """Writes the chosen nodes in their order, and the CPUs that the job gets on each."""
    jobs, scratch = engine.jobs, engine.scratch
    k = 0
    for node in range(len(scratch.usable)):
        if scratch.cpus[node] > 0:
            scratch.chosen[k] = node
            scratch.cpus[k] = scratch.cpus[node]
            k += 1
    for k in range(chosen):
        if whole:
            scratch.cpus[k] = engine.site.cpus[scratch.chosen[k]]
        elif jobs.tasks_per_node[job] > 0:
            scratch.cpus[k] = jobs.tasks_per_node[job] * jobs.cpus_per_task[job]
        elif chosen == 1:
            scratch.cpus[k] = wanted_cpus(jobs, job)


@compiled
def _take_leaves(site, scratch, nodes_wanted, cpus_wanted, most_nodes, whole):
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
