"""The nodes of a cluster: how many its processors need, and the tree of just these nodes. Rules: docs/reference/semantics.md, Placement."""

from __future__ import annotations

from simulator.topology.tree import SwitchTree, first_nodes


def nodes_of_cluster(procs: int, procs_per_node: int) -> int:
    """Nodes that hold `procs` processors; the last may have fewer than the others. Raises ValueError for numbers below 1."""
    if procs_per_node < 1:
        raise ValueError(f"a node needs at least 1 processor, got {procs_per_node}")
    if procs < 1:
        raise ValueError(f"a cluster needs at least 1 processor, got {procs}")
    return -(-procs // procs_per_node)


def fit_tree(
    tree: SwitchTree, procs: int, procs_per_node: int, whole_nodes: bool = False
) -> tuple[SwitchTree, list[str]]:
    """(the tree cut to the first nodes that the cluster needs, sentences on what of the tree is not used).

    procs: processors of the cluster. whole_nodes: jobs take whole nodes.
    Raises ValueError, with the numbers and what to do, for a tree with too few nodes, and for processors that are not a whole number
    of nodes where jobs take whole nodes.
    """
    nodes = nodes_of_cluster(procs, procs_per_node)
    rest = procs % procs_per_node
    if rest and whole_nodes:
        multiples = [str(count) for count in (procs - rest, procs - rest + procs_per_node) if count]
        raise ValueError(
            f"{procs} processors are not a whole number of nodes with {procs_per_node} each: give a number of processors "
            f"a node that divides {procs}, or a cluster of {' or '.join(multiples)} processors, "
            "or share nodes"
        )
    if nodes > tree.nodes:
        raise ValueError(
            f"the tree has {tree.nodes} nodes, and {procs} processors with {procs_per_node} a node need {nodes}: give a "
            f"tree of {nodes} nodes or more, at least {-(-procs // tree.nodes)} processors a node, or a cluster of at most "
            f"{tree.nodes * procs_per_node} processors"
        )
    remarks = []
    if nodes < tree.nodes:
        remarks.append(
            f"The tree has {tree.nodes} nodes; its first {nodes} are used, {tree.name_of(0)} to {tree.name_of(nodes - 1)}, "
            f"since {procs} processors with {procs_per_node} a node need no more."
        )
    if rest:
        remarks.append(f"The last node, {tree.name_of(nodes - 1)}, has {rest} of {procs_per_node} processors.")
    return first_nodes(tree, nodes), remarks
