"""What the warehouse knows: SQL in, tables out."""

from __future__ import annotations

import polars as pl

from assets.common.storage import open_warehouse
from assets.operations.waits_and_waste import KINDS, waits_and_waste
from tracehouse.cli.query import query_rows
from traces.catalogue.catalogue import load_catalogue


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
    >>> tracehouse.saved_runs("lublin-256").select("run", "policy", "backfill").row(0)
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
        What jobs are grouped by: "user", "account" or "queue".
    period
        Only jobs that were submitted then, such as "last-month" or "2026-03". By default all.

    Returns
    -------
    polars.DataFrame
        A row for each `value` of `by`, the largest users of core-hours first. Waits are hours. `lost_core_hours` are
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
    >>> tracehouse.who("lublin-256", by="queue").columns[:3]
    ['value', 'known_waits', 'mean_wait_h']
    """
    if by not in KINDS:
        raise ValueError(f"by {by!r}: expected one of {', '.join(KINDS)}")
    rows = waits_and_waste(open_warehouse(), load_catalogue().source(source).name, period).groups(by)
    return rows.drop("kind")


def leaderboard(source: str) -> pl.DataFrame:
    """Policies ranked by their verdicts beside FCFS with EASY, over jobs of a source that no training has seen.

    Parameters
    ----------
    source
        Name of a source that has been evaluated (`tracehouse run NAME`).

    Returns
    -------
    polars.DataFrame
        The rows of the table `marts.leaderboard`, best first, with 95 % intervals. Waits are seconds.

    Raises
    ------
    ValueError
        The source has not been evaluated yet.
    CatalogueError, WarehouseError
        There is no such source, or no warehouse yet.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.leaderboard("lublin-256")["rank"].head(1).to_list()
    [1]
    """
    rows = _rows_of(source, "marts.leaderboard", "rank, policy, estimates")
    if rows.is_empty():
        raise ValueError(f"source {source!r} has not been evaluated yet: `tracehouse run {source}`")
    return rows


def _rows_of(source: str, table: str, order: str) -> pl.DataFrame:
    parameters = {"source": load_catalogue().source(source).name}
    statement = f"SELECT * EXCLUDE (source) FROM {table} WHERE source = $source ORDER BY {order}"
    with open_warehouse().read() as connection:
        return connection.sql(statement, params=parameters).pl()
