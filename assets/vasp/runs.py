"""VASP runs from the warehouse, as predictors of remaining time read them."""

import duckdb
import polars as pl

from models.remaining.runs import Runs, runs_of
from warehouse import Warehouse

PREDICTORS_HELP = (
    "inputs_only: the parameters alone; progress: boosted trees over the steps; multimodal: RLSchert's network"
)
WITHOUT_END = "elapsed_s IS NULL AND state <> 'finished'"
"""Condition in SQL of runs that have not told of their end."""


def load_runs(warehouse: Warehouse, source: str, condition: str = "true") -> Runs:
    """The runs of a source that fulfil a condition in SQL, ordered by folder, file and launch."""
    with warehouse.read() as connection:
        return _runs(connection, source, condition)


def _runs(connection: duckdb.DuckDBPyConnection, source: str, condition: str) -> Runs:
    order = "ORDER BY folder, outcar, launch"
    parameters = {"source": source}
    runs = connection.sql(
        f"SELECT * FROM raw.vasp_runs WHERE source = $source AND {condition} {order}", params=parameters
    ).pl()
    steps = [
        connection.sql(
            f"SELECT s.* FROM raw.{name} AS s SEMI JOIN (SELECT * FROM raw.vasp_runs WHERE source = $source AND {condition}) "
            "AS r ON s.source = r.source AND s.folder = r.folder AND s.outcar = r.outcar AND s.launch = r.launch "
            f"{order}, position",
            params=parameters,
        ).pl()
        for name in ("vasp_electronic_steps", "vasp_ionic_steps")
    ]
    return runs_of(runs, *steps)


def load_open_runs(warehouse: Warehouse, source: str) -> tuple[pl.DataFrame, Runs]:
    """Launches without an end, with the columns that `models.remaining.open_runs` wants, and their runs in the same order. Both
    are of one moment, since runs may be read meanwhile.

    is_last: no launch stands behind it in its file, and none of another file of its folder began later. Launches that have ended
    count for that, too.
    """
    with warehouse.read() as connection:
        launches = connection.sql(
            "SELECT folder, outcar, launch, state, changed_at AS at_time, started_at, loops_s, electronic_steps, ionic_steps, "
            "is_last FROM (SELECT *, launch = max(launch) OVER (PARTITION BY folder, outcar) "
            "AND coalesce(started_at = max(started_at) OVER (PARTITION BY folder), false) AS is_last "
            f"FROM raw.vasp_runs WHERE source = $source) WHERE {WITHOUT_END} ORDER BY folder, outcar, launch",
            params={"source": source},
        ).pl()
        return launches, _runs(connection, source, WITHOUT_END)
