"""VASP runs from the warehouse, as predictors of remaining time read them."""

from typing import NamedTuple

import duckdb
import polars as pl

from models.remaining.evaluation import finished
from models.remaining.runs import KEY, IntArray, Runs, runs_of
from warehouse import Warehouse

PREDICTORS_HELP = (
    "inputs_only: the parameters alone; progress: boosted trees over the steps; multimodal: RLSchert's network"
)
_SAME_RUN = ["elapsed_s", "loops_s", "cores", "nelect", "electronic_steps"]
"""Columns of raw.vasp_runs that differ between two finished runs: the times of their steps, for one."""
WITHOUT_END = "elapsed_s IS NULL AND state <> 'finished'"
"""Condition in SQL of runs that have not told of their end."""


def load_runs(warehouse: Warehouse, source: str, condition: str = "true") -> Runs:
    """The runs of a source that fulfil a condition in SQL, ordered by folder, file and launch."""
    with warehouse.read() as connection:
        return _runs(connection, source, condition)


class TwoSources(NamedTuple):
    """Runs of two sources: the numbers of the finished ones of each, and how many of the second are left out because they are in
    the first as well."""

    runs: Runs
    first: IntArray
    second: IntArray
    repeated: int


def load_two_sources(warehouse: Warehouse, first: str, second: str) -> TwoSources:
    """Finished runs of two sources whose systems have the same numbers. Raises ValueError for a source that is not loaded."""
    with warehouse.read() as connection:
        frames = {source: _frames(connection, source, "true") for source in (first, second)}
    for source, (runs, *_) in frames.items():
        if runs.is_empty():
            raise ValueError(
                f"no VASP run of {source!r} is loaded yet: `tracehouse vasp run {source} --job vasp_ingest`"
            )
    (learned, *_), (judged, *steps) = frames[first], frames[second]
    ended = learned.filter(pl.col("elapsed_s").is_not_null())
    repeated = judged.join(ended, on=_SAME_RUN, how="semi", nulls_equal=True)
    frames[second] = (judged.join(repeated, on=KEY, how="anti"), *steps)
    parts = [
        [frame.with_columns(folder=pl.lit(f"{source}/") + pl.col("folder")) for frame in of_source]
        for source, of_source in frames.items()
    ]
    both = runs_of(*(pl.concat(pair) for pair in zip(*parts, strict=True)))
    ends = finished(both)
    return TwoSources(both, ends[ends < learned.height], ends[ends >= learned.height], repeated.height)


def _runs(connection: duckdb.DuckDBPyConnection, source: str, condition: str) -> Runs:
    return runs_of(*_frames(connection, source, condition))


def _frames(connection: duckdb.DuckDBPyConnection, source: str, condition: str) -> tuple[pl.DataFrame, ...]:
    """Rows of raw.vasp_runs, raw.vasp_electronic_steps and raw.vasp_ionic_steps."""
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
    return (runs, *steps)


def load_open_runs(warehouse: Warehouse, source: str) -> tuple[pl.DataFrame, Runs]:
    """Launches without an end, with the columns that `models.remaining.score_tables` wants, and their runs in the same order. Both
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
