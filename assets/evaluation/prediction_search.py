"""Stage 5, beside the evaluation: what use of predicted run times would have shortened waits."""

from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import OWNERS, SOURCES
from assets.common.progress import progress
from assets.common.trace import JOB_COLUMNS, load_trained_trace
from assets.evaluation import plots
from assets.ingest.core_jobs import jobs
from assets.predictions.runtime_predictions import runtime_predictions
from models.runtime import search
from models.runtime.search import Configuration, ReplayOutcome
from warehouse import Warehouse, replace_partition

SEARCH_COLUMNS = (
    *("family", "name", "average_bounded_slowdown", "average_wait_s", "p99_wait_s", "underestimated_share"),
    *("reservations_delayed_share", "mean_reservation_delay_s"),
)
"""Columns of the table in the UI."""


class PredictionSearchConfig(dg.Config):
    shakes: int = Field(
        default=2, ge=0, description="Shaken copies of the choosing part on which each configuration is tried, too"
    )
    seed: int = Field(default=1, ge=0, description="Seed of the shaking")


@dg.asset(
    key=["replay", "prediction_search"],
    deps=[runtime_predictions, jobs],
    partitions_def=SOURCES,
    group_name="evaluation",
    owners=OWNERS,
    kinds={"numba", "duckdb"},
    metadata=table_metadata("replay.prediction_search"),
)
def prediction_search(
    context: dg.AssetExecutionContext, config: PredictionSearchConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Orders, backfilling rules, estimates and corrections, tried with live predictions and those in use.

    The part before the split chooses. The best of each family is replayed on the rest, beside EASY, EASY++ and clairvoyance."""

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    submit, runtime, procs, requested = (trace.rows[name].to_numpy() for name in JOB_COLUMNS)
    whole = search.SearchLog(submit, runtime, procs, requested, trace.rows, trace.cluster_procs)
    first, rest = (whole.part(slice(0, test_position)), whole.part(slice(test_position, None)))
    trials = [first, *(search.shaken(first, config.seed + k) for k in range(config.shakes))]
    easy = [search.try_configuration(trial, search.EASY) for trial in trials]
    rows, chosen = [], []
    predicted = search.predicted_configurations()
    families = {
        "backfilling": search.backfilling_configurations() + predicted["backfilling"],
        "ordering": search.ordering_configurations() + predicted["ordering"],
    }
    for family, configurations in families.items():
        merits = []
        for configuration in progress(configurations, f"{family} with predictions"):
            outcomes = [search.try_configuration(trial, configuration) for trial in trials]
            merits.append(np.mean([search.merit(a, b) for a, b in zip(outcomes, easy, strict=True)]))
            rows.append(_row("choosing", family, str(configuration), configuration, outcomes[0]))
        best = int(np.argmin(merits))
        rows[best - len(configurations)]["chosen"] = True
        chosen.append((family, configurations[best]))
    for name, rival in search.PREDICTION_RIVALS.items():
        rows.append(_row("testing", "rival", name, rival, search.try_configuration(rest, rival)))
    for family, configuration in chosen:
        outcome = search.try_configuration(rest, configuration)
        rows.append(_row("testing", family, str(configuration), configuration, outcome) | {"chosen": True})
    searched = pl.DataFrame(rows)
    with warehouse.write() as connection:
        replace_partition(connection, "replay.prediction_search", source, searched)
    tested = searched.filter(pl.col("part") == "testing").sort("average_bounded_slowdown")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": searched.height,
            "jobs_choosing": test_position,
            "jobs_testing": trace.rows.height - test_position,
            "on_unseen_jobs": table(tested.select(SEARCH_COLUMNS)),
            "slowdown_and_wait": plot(plots.slowdown_and_wait(searched)),
        }
    )


def _row(part: str, family: str, name: str, configuration: Configuration, outcome: ReplayOutcome) -> dict[str, Any]:
    return {
        "part": part,
        "family": family,
        "name": name,
        "chosen": False,
        "policy": configuration.order,
        "backfill": configuration.backfill,
        "estimates": configuration.estimates,
        "factor": configuration.factor,
        "reserve_by": configuration.reserve_by,
        "correction": configuration.correction,
        "average_bounded_slowdown": outcome.bounded_slowdown,
        "average_wait_s": outcome.wait_s,
        "p99_wait_s": outcome.p99_wait_s,
        "underestimated_share": outcome.underestimated_share,
        "reservations_delayed_share": outcome.delayed_share,
        "mean_reservation_delay_s": outcome.mean_delay_s,
    }
