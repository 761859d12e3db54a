"""The asset predictions/remaining_times: how long runs without an end still need."""

import json

import dagster as dg
import numpy as np
import polars as pl

from assets.common.describe import table, table_metadata
from assets.common.partitions import OWNERS, VASP
from assets.common.storage import read_model
from assets.vasp.remaining_time_model import remaining_time_model
from assets.vasp.runs import MODEL_VERSION, QUANTILES, load_runs
from assets.vasp.vasp_runs import vasp_runs
from models.remaining.evaluation import PREDICTORS as known
from models.remaining.snapshots import Moments
from warehouse import Warehouse, first_row, replace_partition

_WITHOUT_END = "elapsed_s IS NULL AND state <> 'finished'"


_LONGEST_S = 90 * 86400
"""Clocks that are further apart do not belong to one run: its time is taken from its steps then."""


@dg.asset(
    key=["predictions", "remaining_times"],
    deps=[vasp_runs, remaining_time_model],
    partitions_def=VASP,
    group_name="vasp",
    owners=OWNERS,
    kinds={"duckdb"},
    metadata=table_metadata("predictions.remaining_times"),
)
def remaining_times(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """How long every run without an end still needs, with quantiles, from the steps it has made so far."""

    source = context.partition_key
    with warehouse.read() as connection:
        model = first_row(
            connection, "SELECT file, sha256 FROM predictions.remaining_time_models WHERE source = ?", [source]
        )
        open_runs = connection.sql(
            "SELECT folder, outcar, launch, state, changed_at AS at_time, started_at, loops_s, electronic_steps, ionic_steps, "
            "launch = max(launch) OVER (PARTITION BY folder, outcar) AS is_last "
            f"FROM raw.vasp_runs WHERE source = $source AND {_WITHOUT_END} ORDER BY folder, outcar, launch",
            params={"source": source},
        ).pl()
    if model is None:  # the sensor asks before anything could be learned
        context.log.warning(f"no predictor for {source!r} yet: materialize predictions/remaining_time_model first")
        return dg.MaterializeResult(metadata={"dagster/row_count": 0})
    content = json.loads(read_model(*model))
    if content["version"] != MODEL_VERSION:
        raise ValueError(f"the predictor of {source!r} is of another version: materialize remaining_time_model again")
    predictor = known[content["predictor"]]()
    predictor.restore(content["state"])
    runs = load_runs(warehouse, source, _WITHOUT_END)
    clock = (pl.col("at_time") - pl.col("started_at")).dt.total_seconds().cast(pl.Float64)
    # the file goes on after a launch that was started again: its steps tell how long it ran
    used = pl.when(pl.col("is_last") & clock.is_between(0, _LONGEST_S)).then(clock)
    rows = open_runs.with_columns(used_s=pl.max_horizontal(used, "loops_s"), predictor=pl.lit(content["predictor"]))
    quantiles = predictor.predict(runs, Moments(np.arange(len(runs)), rows["used_s"].to_numpy()))
    rows = rows.with_columns(
        **{column: pl.Series(quantiles[:, k], dtype=pl.Float64) for k, column in enumerate(QUANTILES)}
    ).with_columns(expected_end=pl.col("at_time") + pl.duration(milliseconds=1000 * pl.col("remaining_p50_s")))
    with warehouse.write() as connection:
        replace_partition(
            connection, "predictions.remaining_times", source, rows.drop("started_at", "loops_s", "is_last")
        )
    shown = rows.select("folder", "state", "used_s", "electronic_steps", "ionic_steps", *QUANTILES, "expected_end")
    return dg.MaterializeResult(metadata={"dagster/row_count": rows.height, "remaining_times": table(shown)})
