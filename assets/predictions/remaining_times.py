"""The asset predictions/remaining_times: how long runs without an end still need."""

import dagster as dg

from assets.common.asset import asset
from assets.common.describe import table
from assets.common.partitions import VASP
from assets.common.storage import read_model
from assets.predictions.remaining_time_model import remaining_time_model
from assets.predictions.stored_runs import load_open_runs
from assets.raw.vasp_runs import vasp_runs
from models.remaining.evaluation import OtherVersion, remaining_from_bytes
from models.remaining.score_tables import QUANTILES, remaining_time_rows
from warehouse import Warehouse, first_row, replace_partitions


@asset(
    "predictions.remaining_times",
    group_name="vasp",
    deps=[vasp_runs, remaining_time_model],
    partitions_def=VASP,
    kinds={"duckdb"},
)
def remaining_times(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """How long every run without an end still needs, with quantiles, from the steps it has made so far."""
    source = context.partition_key
    with warehouse.read() as connection:
        model = first_row(
            connection, "SELECT file, sha256 FROM predictions.remaining_time_models WHERE source = ?", [source]
        )
    if model is None:  # the sensor asks before anything could be learned
        context.log.warning(f"no predictor for {source!r} yet: materialize predictions/remaining_time_model first")
        return dg.MaterializeResult(metadata={"dagster/row_count": 0})
    try:
        predictor = remaining_from_bytes(read_model(*model))
    except OtherVersion:
        raise ValueError(
            f"the predictor of {source!r} is of another version: materialize remaining_time_model again"
        ) from None
    rows = remaining_time_rows(*load_open_runs(warehouse, source), predictor)
    replace_partitions(warehouse, source, {"predictions.remaining_times": rows})
    shown = rows.select("folder", "state", "used_s", "electronic_steps", "ionic_steps", *QUANTILES, "expected_end")
    return dg.MaterializeResult(metadata={"dagster/row_count": rows.height, "remaining_times": table(shown)})
