"""The asset experiments/ddppo_transfer: policies of experiments/ddppo on logs that they have not seen (Sgambati et al. 2025, section 5)."""

from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table
from assets.common.storage import read_model
from assets.common.trace import Trace, load_trace
from assets.policies.training import PolicyTask, arena_of_task
from assets.policies.verdicts import BOUNDED_KEY, JudgedRule
from models.scheduling.arena import Windows
from models.scheduling.policy_file import policy_from_bytes
from papers.ddppo.ddppo import VARIANTS, ddppo
from papers.ddppo.plots import boxes
from papers.experiment_tables import ExperimentEntry, comparisons, costs_of, verdicts_on, write_results
from papers.rlscheduler.ten_windows import PUBLISHED_JOBS, PUBLISHED_LENGTH, PUBLISHED_WINDOWS
from warehouse import Warehouse

JUDGED_METRICS = ("bsld", "wait", "turnaround", "utilisation")
PAPER_RULES = ("FCFS", "SJF", "F1", "WFP3", "UNICEP", "SAF", "bounded-key")
"""The paper's rules, and two that anybody can have."""
COMPARED_RIVALS = ("SAF", "bounded-key", "FCFS")
SCORED_FROM = 0.2
"""Share of the log after which jobs of a continuous replay are scored."""


class DDPPOTransferConfig(dg.Config):
    trained_on: str = Field(
        default="", description="Source whose policies of experiments/ddppo are judged; all others if empty"
    )
    backfill: str = Field(default="easy", description="Backfilling rule")
    metrics: list[str] = Field(
        default=list(JUDGED_METRICS), min_length=1, description="What is judged: bsld, wait, turnaround, utilisation"
    )


@asset("experiments.ddppo_transfer", deps=[ddppo], table="experiments.comparisons", kinds={"numba"})
def ddppo_transfer(
    context: dg.AssetExecutionContext, config: DDPPOTransferConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """The paper's protocol: ten windows of 1,024 jobs, the same for all policies, each from an empty cluster, by four metrics. Beside it
    one continuous replay of the whole log. Nothing was learned from this log."""
    source = context.partition_key
    metrics = metrics_of(config)
    policies = _policies(warehouse, source, config)
    trace = load_trace(warehouse, source)
    windows = shared_windows(trace)
    learned = [
        (row, policy_from_bytes(read_model(row["file"], row["sha256"]))[0]) for row in policies.iter_rows(named=True)
    ]
    for metric in metrics:
        arena = arena_of_task(trace, PolicyTask(metric, config.backfill, "requested"))
        entries = [
            ExperimentEntry(name, "requested", None, None, arena.costs(name, windows), None) for name in PAPER_RULES
        ]
        for row, weights in learned:
            name = (
                f"{row['policy']}, {row['source']}, for {metric}"  # verdicts have no column for what was learned from
            )
            rule = JudgedRule(name, "learned", config.backfill, weights=weights) if row["goal"] == metric else None
            costs = arena.costs(weights, windows)
            entries.append(ExperimentEntry(name_of(row), "requested", row["source"], row["seed"], costs, rule))
        labels = {"experiment": "ddppo", "rules": "standard", "backfill": config.backfill, "goal": metric}
        rows = costs_of(entries, windows, labels)
        rivals = [(name, "requested") for name in (*COMPARED_RIVALS, *(f"{tuned}, for {metric}" for tuned in VARIANTS))]
        differences = comparisons(entries, windows, labels, rivals)
        judged = {"experiment": "ddppo", "goal": metric}
        plain = [JudgedRule(name, name, config.backfill) for name in PAPER_RULES if name != "FCFS"]
        shortest = JudgedRule("EASY-SJBF", backfill="easy-sjbf")
        scored = range(int(SCORED_FROM * trace.rows.height), trace.rows.height)
        verdicts = verdicts_on(trace, entries, [*plain, shortest, BOUNDED_KEY], scored, judged)
        write_results(warehouse, source, "ddppo", rows, differences, [], verdicts)
    return _metadata(warehouse, source)


def metrics_of(config: DDPPOTransferConfig) -> list[str]:
    """What is judged. The results for each metric are stored as they are there. Raises ValueError for an unknown metric."""
    unknown = [metric for metric in config.metrics if metric not in JUDGED_METRICS]
    if unknown:
        raise ValueError(f"unknown metrics {', '.join(unknown)}: choose among {', '.join(JUDGED_METRICS)}")
    return config.metrics


def name_of(row: dict[str, Any]) -> str:
    """What a policy is called in the tables: how it was tuned, and for what."""
    return f"{row['policy']}, for {row['goal']}"


def shared_windows(trace: Trace) -> Windows:
    """The ten windows of RLScheduler's tables, of the first 10,000 jobs. Raises ValueError for a shorter log."""
    if trace.rows.height < PUBLISHED_JOBS:
        raise ValueError(
            f"{trace.source}: {trace.rows.height:,} jobs, and the ten windows lie in the first {PUBLISHED_JOBS:,}: choose a longer log"
        )
    return Windows(np.array(PUBLISHED_WINDOWS, dtype=np.int64), PUBLISHED_LENGTH)


def _policies(warehouse: Warehouse, source: str, config: DDPPOTransferConfig) -> pl.DataFrame:
    """Policies that have not learned from this source. Raises ValueError where there are none."""
    with warehouse.read() as connection:
        policies = connection.sql(
            "SELECT source, policy, goal, seed, file, sha256 FROM experiments.policies "
            "WHERE experiment = 'ddppo' AND source <> $source AND backfill = $backfill "
            "AND ($trained_on = '' OR source = $trained_on) ORDER BY ALL",
            params={"source": source, "trained_on": config.trained_on, "backfill": config.backfill},
        ).pl()
    if policies.is_empty():
        raise ValueError(
            f"no policies of experiments/ddppo under {config.backfill} from {config.trained_on or 'another source'} that {source!r} could "
            "judge: materialize experiments/ddppo for a large log first"
        )
    return policies.filter(pl.col("policy").is_in(list(VARIANTS)))


def _metadata(warehouse: Warehouse, source: str) -> dg.MaterializeResult:
    with warehouse.read() as connection:
        costs, differences, verdicts = (
            connection.sql(
                f"FROM experiments.{name} WHERE source = $source AND experiment = 'ddppo'", params={"source": source}
            ).pl()
            for name in ("window_costs", "comparisons", "verdicts")
        )
    shown = verdicts.select("goal", "policy", "seed", "average_bounded_slowdown", "average_wait_s", "verdict")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": costs.height,
            "comparisons": table(differences.drop("source", "experiment", "rules")),
            "verdicts": table(shown),
            "windows": plot(boxes(costs)),
        }
    )
