"""What the warehouse knows: SQL in, tables out."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from assets.common.storage import open_warehouse
from assets.replaying.own.wait_causes import chosen_waits, wait_causes
from assets.usage.waits_and_waste import KINDS, waits_and_waste
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse, confined

READING = ("SELECT", "EXPLAIN", "MULTI", "CREATE", "SET", "CALL")
"""Kinds of statements that `tracehouse sql` takes. MULTI: PIVOT. CREATE: of temporary tables, since the warehouse is open for reading."""
OF_CATALOGUE = re.compile(
    r"\b(postgres_\w+|ducklake_(add|cleanup|commit|delete|expire|flush|merge|rewrite|set)\w*)\"?\s*\(", re.IGNORECASE
)
"""Functions that reach PostgreSQL past DuckDB's locks, or change a lake."""
PREPARING = ("CREATE", "SET")
"""Kinds whose result need not be shown where others follow."""
COARSE = ("timestamp_s", "timestamp_ms")
"""Kinds of times whose infinite values would come out as finite ones."""
MOST_YEARS = 200_000
"""Before and after 1970. Polars writes no date that is much farther away."""


def query(sql: str) -> pl.DataFrame:
    """Run a read-only SQL query over the warehouse, as `tracehouse sql`.

    docs/guides/sql-cookbook.md shows queries. `DESCRIBE core.jobs` and `FROM duckdb_columns()` tell what there is.

    Parameters
    ----------
    sql
        One statement in DuckDB's SQL.

    Returns
    -------
    polars.DataFrame
        The rows; `.to_arrow()` makes an Arrow table of them. Times are UTC without zone, units are in the names of the
        columns, and intervals come as text.

    Raises
    ------
    ValueError
        The SQL is wrong. The message is DuckDB's.
    WarehouseError
        There is no warehouse yet, or another process keeps it busy.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.query("SELECT policy, rank FROM marts.leaderboard WHERE rank = 1").columns
    ['policy', 'rank']
    >>> tracehouse.query("SELECT 2 AS n").to_arrow().to_pydict()
    {'n': [2]}
    """
    return query_rows(open_warehouse(), sql)


def saved_runs(source: str) -> pl.DataFrame:
    """The saved what-if runs of a source, by name.

    Parameters
    ----------
    source
        Name of a source of the catalogue.

    Returns
    -------
    polars.DataFrame
        The rows of the table `replay.runs`: settings, counts and all metrics of each run, times in seconds. No row
        where nothing has been saved.

    Raises
    ------
    CatalogueError, WarehouseError
        There is no such source, or no warehouse yet.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.saved_runs("birch").select("run", "policy", "backfill").row(0)
    ('fcfs', 'FCFS', 'none')
    """
    return _rows_of(source, "replay.runs", "run")


def who(source: str, by: str = "user", period: str | None = None) -> pl.DataFrame:
    """Who waited, and who wasted, as `tracehouse who`: by user, account or queue.

    Parameters
    ----------
    source
        Name of a source of the catalogue.
    by
        What jobs are grouped by: "user", "account", "queue" or "gpu".
    period
        Only jobs that were submitted then, such as "last-month" or "2026-03". By default all.

    Returns
    -------
    polars.DataFrame
        A row for each `value` of `by`, the largest users of core-hours first. Waits are hours, of jobs that started;
        `left_jobs` left the queue before, after `left_hours` in all. `lost_core_hours` are
        those of jobs that did not complete, and `unused_core_hours` were requested and not used. All columns are
        explained in docs/reference/tables.md, at the view `marts.waste`. What the log does not tell is null.

    Raises
    ------
    ValueError
        The source has no jobs, none in the period, or `by` or `period` is none of the above.
    CatalogueError, WarehouseError
        There is no such source, or no warehouse yet.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.who("birch", by="queue").columns[:3]
    ['value', 'known_waits', 'mean_wait_h']
    """
    if by not in KINDS:
        raise ValueError(f"by {by!r}: expected one of {', '.join(KINDS)}")
    rows = waits_and_waste(open_warehouse(), load_catalogue().source(source).name, period).groups(by)
    return rows.drop("kind")


def why(source: str, user: str | None = None, period: str | None = None, replayed: bool = False) -> pl.DataFrame:
    """Why jobs waited, as `tracehouse why`: the seconds of every job by cause.

    Parameters
    ----------
    source
        Name of a source of the catalogue.
    user
        Only jobs of this user. By default all.
    period
        Only jobs that were submitted then, such as "last-month" or "2026-03". By default all.
    replayed
        Of the source's first replay, as `replay` has it, in place of the log's starts.

    Returns
    -------
    polars.DataFrame
        A row for each job, with `wait_s` and a column of seconds for each cause, which add up to it. `behind_job` is the job that it was
        behind longest at one go.

    Raises
    ------
    ValueError
        The source has no such job, `period` is none, or no cluster is described that could be replayed.
    CatalogueError, WarehouseError
        There is no such source, or no warehouse yet.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.why("birch").columns[:3]
    ['job_index', 'job_id', 'user']
    """
    warehouse, name = open_warehouse(), load_catalogue().source(source).name
    causes = wait_causes(warehouse, name, replayed)
    return chosen_waits(warehouse, name, causes, {"user": user}, period)[0]


def leaderboard(source: str) -> pl.DataFrame:
    """Policies ranked by their verdicts beside the cluster's scheduler, over jobs of a source that no training has seen.

    Parameters
    ----------
    source
        Name of a source that has been evaluated (`tracehouse run NAME`).

    Returns
    -------
    polars.DataFrame
        The rows of the table `marts.leaderboard`, best first, with 95 % intervals. Waits are seconds. Random orders, which know
        nothing of a job, have three rows without a rank: their mean, and 5 and 95 %. `random_orders_as_good` is the share of
        them that do at least as well as the policy in bounded slowdown and in mean wait.

    Raises
    ------
    ValueError
        The source has not been evaluated yet.
    CatalogueError, WarehouseError
        There is no such source, or no warehouse yet.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.leaderboard("birch")["rank"].head(1).to_list()
    [1]
    """
    from assets.replay.random_orders import in_place, stored_cloud, with_share_as_good

    rows = _rows_of(source, "marts.leaderboard", "ALL")
    if rows.is_empty():
        raise ValueError(f"source {source!r} has not been evaluated yet: `tracehouse run {source}`")
    cloud = stored_cloud(_rows_of(source, "replay.period_scores", "ALL"))
    return with_share_as_good(in_place(rows).drop("place", "gain"), cloud)


def _rows_of(source: str, table: str, order: str) -> pl.DataFrame:
    parameters = {"source": load_catalogue().source(source).name}
    statement = f"SELECT * EXCLUDE (source) FROM {table} WHERE source = $source ORDER BY {order}"
    with open_warehouse().read() as connection:
        return connection.sql(statement, params=parameters).pl()


def query_rows(warehouse: Warehouse, query: str) -> pl.DataFrame:
    """The rows of a query, read-only. Raises ValueError for bad SQL, for statements that write, and for several that give rows."""
    return only_result(query_results(warehouse, query))


def only_result(results: list[pl.DataFrame]) -> pl.DataFrame:
    """The one table. Raises ValueError for several."""
    if len(results) > 1:
        raise ValueError(
            f"SQL: {len(results)} statements give {len(results)} tables, and this holds one: give one statement, or print them as "
            "tables (--format table)"
        )
    return results[0]


def query_results(
    warehouse: Warehouse, query: str, output_format: str = "table", files: Path | None = None
) -> list[pl.DataFrame]:
    """The rows of each statement of a query that gives some, read-only, as frames that the output format can hold.

    files: a folder whose files the query may read. It reaches no other file and no network. Raises ValueError for bad SQL and
    for statements that write.
    """
    # `Warehouse.confine` opens the one folder, which it cannot do once all are closed
    with nullcontext() if files is None else confined(False), warehouse.read() as connection:
        try:
            statements = _readings(connection, query)
            warehouse.confine(connection, files)
            results = []
            for number, (kind, statement) in enumerate(statements, start=1):
                rows = _frame_of(connection.sql(statement), output_format)
                if kind not in PREPARING or number == len(statements):
                    results.append(rows)
            return results or [pl.DataFrame()]
        except duckdb.PermissionException as error:
            raise ValueError(
                f"SQL: {error}\nA query reads no files, but those of the folder given with `tracehouse sql --files`"
            ) from None
        except (duckdb.Error, pl.exceptions.PolarsError) as error:
            raise ValueError(f"SQL: {error}") from None


def _readings(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[str, str]]:
    """(kind, text) of each statement. Raises ValueError for statements that could write a file. DuckDB never locks the database's own
    file and its journal away from COPY, so that the settings of `Warehouse.confine` are not enough."""
    readings = []
    for statement in connection.extract_statements(query):
        kind = statement.type.name
        hides_another = kind in ("EXPLAIN", "MULTI") and re.search(r"\b(copy|export)\b", statement.query, re.IGNORECASE)
        if kind not in READING or hides_another or OF_CATALOGUE.search(statement.query):
            raise ValueError(
                f"SQL: {statement.query.strip()[:60]!r} is not a query, and the warehouse is read-only here. Results go to a file "
                "with --output FILE"
            )
        readings.append((kind, statement.query))
    return readings


def _frame_of(relation: Any, output_format: str) -> Any:
    """Rows of a DuckDB relation (None for a statement without any) as a frame that the output format can hold."""
    if relation is None:
        return pl.DataFrame()
    as_text: tuple[str, ...] = ("interval", "bit", "time with time zone")
    if output_format == "csv":
        as_text += ("list", "struct", "map", "array", "union")
    columns = []
    for name, kind in zip(relation.columns, relation.types, strict=True):
        quoted = _quoted(name)
        as_other = "VARCHAR" if kind.id in as_text else "TIMESTAMP" if kind.id in COARSE else ""
        columns.append(f"CAST({quoted} AS {as_other}) AS {quoted}" if as_other else quoted)
    rows = relation.project(", ".join(columns)).pl()
    if output_format != "parquet" and (far := [name for name in rows.columns if _has_far_dates(rows[name])]):
        texts = [f"CAST({_quoted(name)} AS VARCHAR) AS {_quoted(name)}" for name in far]
        columns = [
            texts[far.index(name)] if name in far else column
            for name, column in zip(rows.columns, columns, strict=True)
        ]
        rows = relation.project(", ".join(columns)).pl()
    if output_format == "json":  # sums are 128-bit numbers, which would be written as text
        wide = [name for name, kind in rows.schema.items() if kind == pl.Int128 or kind == pl.Decimal(38, 0)]
        for name in wide:
            narrow = rows[name].cast(pl.Int64, strict=False)
            fits = narrow.null_count() == rows[name].null_count()
            rows = rows.with_columns(narrow if fits else rows[name].cast(pl.Float64))
    return rows


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _has_far_dates(column: pl.Series) -> bool:
    """Whether there are dates that polars cannot write, also in lists and structures: infinite ones, and those beyond MOST_YEARS."""
    kind = column.dtype
    if isinstance(kind, pl.List | pl.Array):
        return _has_far_dates(column.explode())
    if isinstance(kind, pl.Struct):
        return any(_has_far_dates(column.struct.field(field.name)) for field in kind.fields)
    if not isinstance(kind, pl.Date | pl.Datetime):
        return False
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}
    per_day = 86_400 * per_second[kind.time_unit] if isinstance(kind, pl.Datetime) else 1
    numbers = column.to_physical()
    ends = [number for number in (numbers.min(), numbers.max()) if isinstance(number, int)]
    return any(abs(number) > MOST_YEARS * 365 * per_day for number in ends)
