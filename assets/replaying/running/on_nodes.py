"""Replays on nodes: which nodes each job gets below a tree of switches, and what that costs (docs/guides/topology.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.replaying.running.settings import NodeSettings
from models.allocation.free import free_allocation
from models.allocation.scas import scas_allocation
from models.allocation.window import Window
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Placement, Schedule
from simulator.jobs.words import PLACES, TOGETHER
from simulator.replayer import Outcome, Replayer
from simulator.topology.choosing import Units, units_of
from simulator.topology.closed_loop import in_periods, in_whole_nodes
from simulator.topology.placement import PLACE_RULES, Solver, compact_hop_cost, place_schedule
from simulator.topology.slurm_tree import read_topology
from simulator.topology.tree import IntArray, SwitchTree, fit_tree, parse_tree, with_hops
from traces.catalogue.sources import Source
from traces.cluster.hostlists import HostNames

SOLVED = tuple(name for name in PLACES if name not in (*PLACE_RULES, TOGETHER))
"""Rules that place the jobs of a second together."""

PLACEMENT_METRICS = (
    "average_hop_cost",
    "average_compact_hop_cost",
    "area_weighted_hop_cost",
    "area_weighted_compact_hop_cost",
    "area_weighted_extra_hops",
    "average_leaves",
    "one_leaf_share",
    "one_pod_share",
    "fits_one_leaf_share",
    "scattered_jobs",
    "fragmentation",
)
"""Names of what `placement_metrics` gives, in this order; docs/reference/semantics.md defines them."""


@dataclass(frozen=True)
class Ground:
    """A cluster's nodes. remarks: sentences on what of the tree is not used."""

    settings: NodeSettings
    tree: SwitchTree
    units: Units
    procs_per_node: int
    remarks: list[str]

    def rounded(self, jobs: Jobs, cluster: Cluster) -> tuple[Jobs, Cluster]:
        """Jobs and cluster whose replay is that of whole nodes and periods."""
        if self.settings.nodes == "whole":
            jobs, cluster = in_whole_nodes(jobs, cluster, self.procs_per_node)
        if self.settings.period is not None:
            jobs, cluster = in_periods(jobs, cluster, self.settings.period)
        return jobs, cluster

    def place(self, jobs: Jobs, cluster: Cluster, schedule: Schedule) -> Placement:
        """The nodes of all jobs. jobs, cluster: rounded, as they were replayed."""
        rule, seed = self.settings.place, self.settings.placing_seed
        if rule in SOLVED:
            return place_schedule(jobs, cluster, schedule, self.units, solver=_solver(self.units, rule, seed))
        return place_schedule(jobs, cluster, schedule, self.units, rule, seed)

    def nodes_of(self, units: IntArray) -> IntArray:
        """Numbers of the nodes below these units, ascending."""
        return np.unique(self.units.switch[0, units]) if self.units.leaf else units


@dataclass(frozen=True)
class NodeReplayer:
    """Replays as another replayer does, and gives the jobs nodes as they start."""

    starts: Replayer
    ground: Ground
    honours: ClassVar = frozenset({"nodes"})

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """jobs, cluster: as `Ground.rounded` returns them. Raises as `starts` does."""
        outcome = self.starts.replay(jobs, cluster)
        return replace(outcome, placement=self.ground.place(jobs, cluster, outcome.schedule))


def node_settings(given: dict[str, Any], source: Source | None) -> NodeSettings | None:
    """The settings that are given. Tree and processors of a node are those of the source where they are not given. None without a tree.

    given: settings by name. source: its entry in the catalogue, None for a log that has none.
    """
    if source is None:
        return NodeSettings(**given) if "topology" in given else None
    of_source = {"topology": source.topology, "procs_per_node": source.procs_per_node}
    values = {name: value for name, value in of_source.items() if value is not None} | given
    if "topology" not in values:
        return None
    nodes = NodeSettings(**values)
    if "topology" not in given:
        nodes._declared_at = f"{source.declared_at}: [sources.{source.name}]"
    return nodes


def read_tree(text: str) -> SwitchTree:
    """A tree in words such as 16x8x4, or of a file. Raises ValueError with the remedy, and OSError for a file that cannot be read."""
    if Path(text).suffix in (".conf", ".yaml", ".yml") or Path(text).exists():
        return read_topology(Path(text))
    return parse_tree(text)


def tree_of(nodes: NodeSettings) -> SwitchTree:
    """The whole tree of the settings, with their hops. Raises ValueError as `read_tree`, and for hops that do not fit its levels."""
    with nodes.naming_catalogue():
        tree = read_tree(nodes.topology)
    return tree if nodes.hops is None else with_hops(tree, nodes.hops)


def ground_of(nodes: NodeSettings, cluster_procs: int, procs_per_node: float) -> Ground:
    """The nodes of a cluster. procs_per_node: of the source. Raises ValueError where the tree has too few nodes."""
    per_node = nodes.procs_per_node or (int(procs_per_node) if float(procs_per_node).is_integer() else 1)
    tree = tree_of(nodes)
    with nodes.naming_catalogue():
        tree, remarks = fit_tree(tree, cluster_procs, per_node, nodes.nodes == "whole")
    if nodes.place == TOGETHER and nodes.nodes == "shared" and per_node > 1:
        raise ValueError(f"--place {TOGETHER} gives jobs whole nodes: add --nodes whole")
    units = units_of(tree, cluster_procs, per_node, nodes.nodes)
    return Ground(nodes, tree, units, per_node, remarks)


def placement_metrics(units: Units, placement: Placement, jobs: Jobs, waiting: int = 0) -> dict[str, float]:
    """PLACEMENT_METRICS over the jobs that were placed. jobs: those of the placement. waiting: the first so many do not count."""
    placed = placement.size > 0
    placed[:waiting] = False
    size, cost = placement.size[placed], placement.hop_cost[placed]
    compact = compact_hop_cost(units, size)
    area = (size * jobs.runtime[placed]).astype(np.float64)
    leaves, pods = placement.leaves[placed], placement.pods[placed]
    wide, pairs = size > 1, np.maximum(size - 1, 1)
    largest = int(np.diff(units.first[units.leaf, : units.switches[units.leaf] + 1]).max())
    values = (
        _mean(cost),
        _mean(compact),
        _mean(cost, area),
        _mean(compact, area),
        _mean((cost - compact) / pairs, area),
        _mean(leaves),
        _mean(leaves[wide] == 1),
        _mean(pods[wide] == 1),
        _mean(size[wide] <= largest),
        float(placement.scattered[placed].sum()),
        float(placement.broken.sum() / max(placement.idle.sum(), 1)),
    )
    return dict(zip(PLACEMENT_METRICS, values, strict=True))


def placed_jobs(ground: Ground, placement: Placement) -> pl.DataFrame:
    """nodes (a list of names as Slurm writes it, null for a job without), units, hop_cost, compact_hop_cost, leaves and pods of each
    job, in the order of the placement."""
    names = HostNames(ground.tree.node_names or [f"n{node}" for node in range(ground.tree.nodes)])
    texts = [
        names.compress(ground.nodes_of(placement.units_of(job))) if size else None
        for job, size in enumerate(placement.size.tolist())
    ]
    return pl.DataFrame(
        {
            "nodes": pl.Series(texts, dtype=pl.Utf8),
            "units": placement.size,
            "hop_cost": placement.hop_cost,
            "compact_hop_cost": compact_hop_cost(ground.units, placement.size),
            "leaves": placement.leaves,
            "pods": placement.pods,
        }
    )


def _mean(values: NDArray[Any], weights: NDArray[np.float64] | None = None) -> float:
    """0 where there is nothing to average."""
    total = len(values) if weights is None else weights.sum()
    return float((values if weights is None else values * weights).sum() / total) if total else 0.0


def _solver(units: Units, rule: str, seed: int) -> Solver:
    return partial(_solve, SwitchTree(units.switch, units.hops), rule, seed)


def _solve(tree: SwitchTree, rule: str, seed: int, idle: IntArray, sizes: IntArray) -> list[IntArray]:
    window = Window(tree, idle, sizes)
    allocation = scas_allocation(window) if rule == "scas" else free_allocation(window, seed)
    return list(allocation.nodes)
