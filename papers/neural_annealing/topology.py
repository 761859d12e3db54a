"""The asset experiments/topology: the tables of Neural Simulated Annealing that need no network."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg
import duckdb
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table
from assets.common.plots import BLUE, INK, ORANGE, figure
from assets.common.progress import progress_bar
from models.allocation.window import FloatArray, IntArray
from papers.neural_annealing.protocol import (
    ALLOCATION_METHODS,
    HOP_COST,
    PUBLISHED_CLUSTERS,
    PublishedCluster,
    allocated,
    alone_costs,
    live,
    published_windows,
    solving,
)
from simulator.jobs.words import one_of
from warehouse import Warehouse, replace_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_BASE = "sequential"
_WAITS = ("average_wait_s", "p99_wait_s", "max_wait_s")


class TopologyConfig(dg.Config):
    trees: list[str] = Field(
        default=list(PUBLISHED_CLUSTERS),
        min_length=1,
        description="Tree and costs of the paper, or those of its public code",
    )
    methods: list[str] = Field(
        default=list(ALLOCATION_METHODS),
        description="Ways of choosing nodes, besides the sequential one, which is always there",
    )
    epochs: int = Field(
        default=10, ge=1, description="Epochs, each from an empty cluster. The defaults are the paper's"
    )
    windows: int = Field(default=100, ge=0, description="Windows of an epoch, one by one, or 0 for none")
    jobs: int = Field(default=300, ge=0, description="Jobs of an epoch in the closed loop, or 0 for none")
    most_jobs: int = Field(
        default=5, ge=0, description="Most jobs of a window, or 0 for as many as fit. The public code has 5"
    )
    seed: int = Field(default=0, ge=0, description="Seed of the jobs and of the searches")


@asset("experiments.topology", partitions_def=None, kinds={"numba"})
def topology(
    context: dg.AssetExecutionContext, config: TopologyConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Neural Simulated Annealing's protocol on jobs that it generates, so it needs no source: what sequential, exact, free and annealed
    placement cost window by window, and what they cost when each lives with what it leaves idle, beside the ideal. Annealing is as
    published, which never takes back a rejected move, and corrected. The defaults give the tables of docs/results/topology.md."""

    methods = [_BASE, *(name for name in config.methods if name != _BASE)]
    for name in methods:
        one_of("methods", name, ALLOCATION_METHODS)
    trees = list(dict.fromkeys(config.trees))
    for name in trees:
        one_of("trees", name, tuple(PUBLISHED_CLUSTERS))
    made = {}
    for name in trees:
        parts = []
        with progress_bar(f"topology, {name}", 2 * len(methods)) as bar:
            for protocol, method, part in _parts(PUBLISHED_CLUSTERS[name], config, methods):
                parts.append(part.with_columns(tree=pl.lit(name), protocol=pl.lit(protocol), method=pl.lit(method)))
                context.log.info(f"{name}, {protocol}, {method}: mean cost {part['cost'].to_numpy().mean():,.0f}")
                bar.update()
        made[name] = _beside_sequential(pl.concat(parts), config.seed)

    def replace(connection: duckdb.DuckDBPyConnection) -> None:
        for name, rows in made.items():
            replace_rows(connection, "experiments.topology", {"tree": name}, rows)

    warehouse.transact("topology", replace)
    return dg.MaterializeResult(metadata=_describe(pl.concat(made.values())))


def _parts(
    cluster: PublishedCluster, config: TopologyConfig, methods: list[str]
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Protocol, method, and a row for each epoch, as they are computed. Raises ValueError where there is nothing to compute."""
    if not config.windows and not config.jobs:
        raise ValueError("windows and jobs are both 0: there is nothing to compute. Give one of them")
    most = config.most_jobs or None
    epochs = range(config.epochs)
    if config.windows:
        windows = [list(published_windows(cluster, config.windows, most, config.seed, epoch)) for epoch in epochs]
        for method in methods:
            costs = [
                np.mean([allocated(window, method, config.windows * epoch + k).cost for k, window in enumerate(chosen)])
                for epoch, chosen in enumerate(windows)
            ]
            yield "window", method, _epochs(HOP_COST * np.array(costs), config.windows)
    if config.jobs:
        for method in methods:
            seeds = range(config.seed, config.seed + config.epochs)
            lived = live(cluster, solving(cluster.tree, method, most, config.jobs), seeds, config.jobs)
            waits = [lived.where(lived.epoch == epoch).wait for epoch in epochs]
            yield "closed_loop", method, _epochs(lived.cost_of_epochs(), config.jobs, waits)
        alone = alone_costs(cluster, lived.size.tolist())  # all methods have the same jobs
        yield "closed_loop", "ideal", _epochs(alone.reshape(config.epochs, -1).mean(axis=1), config.jobs)


def _epochs(costs: FloatArray, cases: int, waits: list[IntArray] | None = None) -> pl.DataFrame:
    """A row for each epoch. costs: (epochs,). waits: of the jobs of each epoch, where there are any."""
    values = [(np.mean(wait), np.percentile(wait, 99), np.max(wait)) for wait in waits or []]
    columns = dict(zip(_WAITS, zip(*values, strict=True), strict=True)) if waits else dict.fromkeys(_WAITS)
    return pl.DataFrame(
        {"epoch": np.arange(len(costs)), "cases": np.full(len(costs), cases), "cost": costs} | columns,
        schema_overrides=dict.fromkeys(_WAITS, pl.Float64),
    )


def _beside_sequential(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Rows of experiments.topology of one tree."""
    base = rows.filter(method=_BASE).select("protocol", "epoch", base=pl.col("cost"))
    joined = rows.join(base, on=["protocol", "epoch"], how="left", maintain_order="left")
    return joined.with_columns(seed=pl.lit(seed, pl.Int64), of_sequential=pl.col("cost") / pl.col("base")).drop("base")


def _describe(made: pl.DataFrame) -> dict[str, Any]:
    metadata: dict[str, Any] = {"dagster/row_count": made.height, "costs": plot(allocation_costs(made))}
    for (protocol,), rows in made.group_by("protocol", maintain_order=True):
        means = rows.group_by("tree", "method", maintain_order=True).agg(
            pl.col("cost", "of_sequential", "average_wait_s").mean()
        )
        metadata[str(protocol)] = table(means.drop([] if protocol == "closed_loop" else ["average_wait_s"]))
    return metadata


PRINTED_SHARES = {
    "SA-500 as published": 91_813.2 / 105_023.5,
    "SA-1000 as published": 90_809.7 / 105_023.5,
    "SCAS, exact": 83_092.3 / 105_023.5,
}
"""Means of Tables III and IV over the sequential assignment's."""
_TREES = {"paper": ("paper's tree", ORANGE), "code": ("public code's tree", BLUE)}
_PROTOCOLS = {"window": "one window at a time", "closed_loop": "each method in a cluster of its own"}


def allocation_costs(rows: pl.DataFrame) -> "Figure":
    """rows: of experiments.topology. Cost over that of the sequential assignment, a panel for each protocol: a small dot for each epoch,
    a large one for their mean, and crosses where the paper prints a number."""
    shown = [protocol for protocol in _PROTOCOLS if rows.filter(protocol=protocol).height]
    canvas, axes = figure(height=3.4 * len(shown), rows=len(shown))
    for axis, protocol in zip(axes, shown, strict=True):
        part = rows.filter(protocol=protocol)
        methods = part["method"].unique(maintain_order=True).to_list()[::-1]
        place = {method: k for k, method in enumerate(methods)}
        for k, (tree, (label, colour)) in enumerate(_TREES.items()):
            mine = part.filter(tree=tree)
            heights = [place[method] + 0.16 * (1 - 2 * k) for method in mine["method"]]
            axis.scatter(mine["of_sequential"].to_numpy(), heights, s=8, color=colour, alpha=0.5)
            means = mine.group_by("method", maintain_order=True).agg(pl.col("of_sequential").mean())
            heights = [place[method] + 0.16 * (1 - 2 * k) for method in means["method"]]
            axis.scatter(means["of_sequential"].to_numpy(), heights, s=40, color=colour, label=label)
        printed = {name: share for name, share in PRINTED_SHARES.items() if protocol == "window" and name in place}
        if printed:
            axis.scatter(
                list(printed.values()),
                [place[name] for name in printed],
                marker="x",
                color=INK,
                label="printed in the paper",
            )
        axis.set_yticks(range(len(methods)), methods)
        axis.set_title(_PROTOCOLS[protocol], fontsize=9, color=INK)
        axis.set_xlabel("cost over that of the sequential assignment", fontsize=9)
        axis.legend(fontsize=8, frameon=False, loc="lower right")
    return canvas
