"""Stage 5, beside the what-if runs: replays of a source on nodes below switches, saved by name."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import plot, table
from assets.common.progress import progress
from assets.common.trace import load_trace
from assets.core.jobs import jobs
from assets.replay.runs import OutageConfig
from assets.replaying import plots
from assets.replaying.compare_placements import WAITS
from assets.replaying.running.on_nodes import PLACEMENT_METRICS, node_settings, placed_jobs
from assets.replaying.running.replayers import check_settings, choose_policy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.settings import NodeSettings, RunSettings, check_run_name
from simulator.metrics.metrics import SEMANTICS
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import Source
from warehouse import Warehouse, replace_rows

ASSUMED_TREE = "16x8x64"
"""16 nodes a leaf switch, 8 leaves a pod: what many clusters have about. Give the tree of yours."""


class PlacementConfig(dg.Config, RunSettings, NodeSettings):
    name: str = Field(description="Name in replay.placements; a placement of the same name is replaced")
    topology: str | None = Field(  # type: ignore[assignment]
        default=None,
        description="The tree of switches, nodes per leaf x leaves per pod x pods, or a topology.conf (left out: that of the source in "
        f"the catalogue, or {ASSUMED_TREE})",
    )
    outages: list[OutageConfig] = Field(default=[], description="Processors that are missing for a while")  # type: ignore[assignment]


class ReplayPlacementConfig(dg.Config):
    placements: list[PlacementConfig] = Field(
        default=[  # Dagster takes defaults as the launchpad shows them
            {"name": "first-fit", "place": "first"},  # type: ignore[list-item]
            {"name": "tree", "place": "tree"},  # type: ignore[list-item]
        ],
        min_length=1,
        description="Replays on nodes; other saved placements of the source stay as they are",
    )


@asset(
    "replay.placement", deps=[jobs], table="replay.placements", tags={"needs": "topology"}, kinds={"numba", "duckdb"}
)
def replay_placement(
    context: dg.AssetExecutionContext, config: ReplayPlacementConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Where jobs would have run below a tree of switches, and how compactly: hop cost, leaves, fragmentation, and the waits that were
    paid. `tracehouse replay SOURCE --topology TREE --save NAME` adds one, `tracehouse compare` compares two."""
    source = context.partition_key
    names = [check_run_name(one.name) for one in config.placements]
    if len(set(names)) < len(names):
        raise ValueError("two placements have the same name: give each a name of its own")
    rows, placed, pictures = [], [], {}
    for one in progress(config.placements, "placements", len(names)):
        settings, nodes = settings_of_placement(one, load_catalogue().sources.get(source))
        trace = load_trace(warehouse, source, settings.cancelled, settings.labels)
        run = replay_run(trace, settings, choose_policy(settings, warehouse, source), nodes)
        rows.append(placement_row(one.name, run))
        placed.append(placed_rows(one.name, run))
        pictures[one.name] = plot(plots.nodes_of_run(run, one.name))

    def replace(connection: duckdb.DuckDBPyConnection) -> None:
        for name, row, of_jobs in zip(names, rows, placed, strict=True):
            key = {"source": source, "placement": name}
            replace_rows(connection, "replay.placements", key, row)
            replace_rows(connection, "replay.placed_jobs", key, of_jobs)

    warehouse.transact(source, replace)
    shown = ("placement", "place", *WAITS[:3], *PLACEMENT_METRICS)
    return dg.MaterializeResult(
        metadata={"dagster/row_count": len(rows), "placements": table(pl.concat(rows).select(shown)), **pictures}
    )


def settings_of_placement(config: PlacementConfig, source: Source | None) -> tuple[RunSettings, NodeSettings]:
    """The settings of the replay and of its nodes, checked, as the launchpad gives them. source: its entry in the catalogue."""
    values = config.model_dump()
    settings = RunSettings(**{name: values[name] for name in RunSettings.model_fields})
    of_nodes = {name: values[name] for name in NodeSettings.model_fields if values[name] is not None}
    nodes = node_settings(of_nodes, source) or NodeSettings(**of_nodes | {"topology": ASSUMED_TREE})
    return check_settings(settings, nodes), nodes


def placement_row(name: str, run: ReplayRun) -> pl.DataFrame:
    """The row of replay.placements (without `source`)."""
    assert run.ground is not None
    nodes, metrics = run.ground.settings, run.metrics()
    row: dict[str, Any] = {
        "placement": name,
        "topology": Path(nodes.topology).name,
        "hops": ",".join(str(hops) for hops in run.ground.tree.hops.tolist()),
        "procs_per_node": run.ground.procs_per_node,
        "nodes": nodes.nodes,
        "place": nodes.place,
        "placing_seed": nodes.placing_seed,
        "period_s": nodes.period,
        "switches": nodes.switches,
        "policy": run.policy.portable_text,
        "backfill": run.settings.portable_backfill,
        "estimates": run.estimates,
        "other_settings": other_settings_json(run),
        "procs": run.cluster.procs,
        "jobs": run.counts["jobs"],
        "trace_sha256": run.trace_sha256,
        "engine": run.engine,
        "semantics": SEMANTICS,
        **{name: metrics[name] for name in WAITS},
        **run.placement_metrics(),
    }
    return pl.DataFrame([row], schema_overrides={"period_s": pl.Int64(), "switches": pl.Utf8()})


def other_settings_json(run: ReplayRun) -> str:
    """The settings that decide starts and have no column of their own in replay.placements, where they are not the usual ones: JSON."""
    settings = run.settings
    other = settings.model_dump(exclude_defaults=True, exclude={"policy", "backfill", "estimates", "procs"})
    if settings.inspector:
        other["inspector"] = settings.portable_inspector
    assert run.ground is not None
    if run.ground.settings.guard is not None:
        other["guard"] = run.ground.settings.guard
    files = {"policy_sha256": run.policy.sha256, "agent_sha256": run.policy.agent_sha256}
    return json.dumps(other | {name: digest for name, digest in files.items() if digest is not None}, sort_keys=True)


def placed_rows(name: str, run: ReplayRun) -> pl.DataFrame:
    """The rows of replay.placed_jobs (without `source`), one per job of the replay. One that never ran has no nodes."""
    assert run.ground is not None and run.placement is not None
    started = pl.lit(pl.Series(run.schedule.started))
    start = pl.lit(pl.Series(run.schedule.start))
    of_jobs = placed_jobs(run.ground, run.placement)[run.cluster.waiting :]
    rows = run.rows.select(
        pl.lit(name).alias("placement"),
        "job_index",
        start_time=pl.lit(run.trace.clock_zero) + pl.duration(seconds=start),
        wait_s=start - pl.col("submit_s"),
    ).hstack(of_jobs)
    return rows.with_columns(pl.when(started).then(pl.exclude("placement", "job_index")))


CHECKS = [
    row_check(
        replay_placement,
        "checks.placed_jobs_are_possible",
        "every job that started has nodes below at least one leaf, no more leaves than units, and no negative wait",
    ),
]
