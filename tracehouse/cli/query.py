"""The command `tracehouse sql`."""

from __future__ import annotations

import io
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.storage import open_warehouse
from assets.common.writing.outputs import write_output
from assets.report.words import number_text
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.paths import FileToWrite, refuse_binary_on_terminal
from tracehouse.cli.tables import cut, folded, terminal_width
from warehouse import Warehouse, confined

if TYPE_CHECKING:
    import duckdb
    import polars as pl

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
TERMINAL_ROWS = 200
"""Rows that a terminal shows."""
CELL_WIDTHS = (200, 60, 40, 30, 20)
"""Longest texts of a cell that are tried until a table fits the terminal."""


@click.command()
@click.argument("query")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    default="table",
    show_default=True,
)
@click.option(
    "--output", "-o", type=FileToWrite(may_be_dash=True), metavar="FILE", help="File to write. Default: print."
)
@click.option(
    "--files",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder whose files the query may read, such as FROM 'FOLDER/projects.csv'. Without it, none.",
)
@click.option("--wide", is_flag=True, help="All columns and whole texts, however wide the terminal is.")
@plain_errors
def sql(query: str, output_format: str, output: Path | None, files: Path | None, wide: bool) -> None:
    """Run a read-only SQL query over the warehouse. `DESCRIBE core.jobs` and `FROM duckdb_columns()` show what there is.

    A query reaches no file and no network, but for the folder of --files. Results go out through --output. Several statements, with
    semicolons between, give several tables, one below the other.

    A table on a terminal is cut to its width, but for --wide. In a file or a pipe it is complete. Tables round numbers for reading. The
    other formats have all digits."""
    output = None if output == Path("-") else output
    if output_format == "parquet":
        refuse_binary_on_terminal("parquet", output)
    warehouse = open_warehouse()
    results = query_results(warehouse, query, output_format, files)
    if output_format == "table":
        text = "\n".join(table_text(rows, None if wide or output is not None else terminal_width()) for rows in results)
        if output is None:
            click.echo(text, nl=False)
        else:
            write_output(output, text.encode())
        return
    content = _content(_only(results), output_format)
    if output is not None:
        write_output(output, content)
    elif sys.stdout.isatty():
        click.echo(content.decode(), nl=False)
    else:  # data for another program, which must be exact
        sys.stdout.buffer.write(content)


def _content(rows: pl.DataFrame, output_format: str) -> bytes:
    """Rows as csv, json or parquet."""
    if output_format == "csv":
        return rows.write_csv().encode()
    if output_format == "json":
        return (rows.write_json() + "\n").encode()
    content = io.BytesIO()
    rows.write_parquet(content)
    return content.getvalue()


def table_text(rows: pl.DataFrame, width: int | None) -> str:
    """A table for people, and how many rows it has. width: of the terminal. None for all of it, whatever its size.

    On a terminal, texts are cut first, and then columns are left out from the right. A line says so.
    """
    if width is None:
        return f"{_drawn(rows, 10**6)}\n({rows.height} row{'' if rows.height == 1 else 's'})\n"
    shown = rows.head(TERMINAL_ROWS)
    has_lines = _has_lines(shown)
    whole = text = _drawn(shown, 10**6 if has_lines else CELL_WIDTHS[0])
    columns = shown.width
    if not has_lines:
        for cell_width in CELL_WIDTHS:
            text = _drawn(shown, cell_width)
            if _width_of(text) <= width:
                break
        while _width_of(text) > width and columns > 1:
            columns -= 1
            text = _drawn(shown[:, :columns], CELL_WIDTHS[-1])
    text = "\n".join(cut(line, width) for line in text.split("\n"))
    remark = "" if shown.height == rows.height else f", the first {shown.height} are shown"
    said = f"({rows.height} row{'' if rows.height == 1 else 's'}{remark})"
    if columns < rows.width:
        said += f"\n{rows.width - columns} columns are left out, from {rows.columns[columns]} on: name those you need, or add --wide"
    elif text != whole:
        said += "\ntexts are cut: --wide has all of them"
    return f"{text}\n{folded(said, width)}\n"


def _has_lines(rows: pl.DataFrame) -> bool:
    """Whether a text has several lines, as a plan of EXPLAIN has, which must not be cut in the middle."""
    import polars as pl

    return any("\n" in text for column in rows.select(pl.selectors.string()) for text in column.drop_nulls())


def _width_of(text: str) -> int:
    return max(map(len, text.split("\n")))


def _drawn(rows: pl.DataFrame, cell_width: int) -> str:
    import polars as pl

    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=65_535,
        fmt_str_lengths=cell_width,
        thousands_separator=True,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
    ):
        return str(rows.with_columns(_numbers_for_reading(rows)))


def _numbers_for_reading(rows: pl.DataFrame) -> list[pl.Series]:
    """Columns of numbers that are no integers, as texts with the digits that a reader needs."""
    import polars as pl

    return [
        pl.Series(column.name, [None if x is None else number_text(float(x)) for x in column], dtype=pl.String)
        for column in rows
        if column.dtype.is_float() or column.dtype.is_decimal()
    ]


def _only(results: list[pl.DataFrame]) -> pl.DataFrame:
    """The one table. Raises ValueError for several."""
    if len(results) > 1:
        raise ValueError(
            f"SQL: {len(results)} statements give {len(results)} tables, and this holds one: give one statement, or print them as "
            "tables (--format table)"
        )
    return results[0]


def query_rows(warehouse: Warehouse, query: str) -> pl.DataFrame:
    """The rows of a query, read-only. Raises ValueError for bad SQL, for statements that write, and for several that give rows."""
    return _only(query_results(warehouse, query))


def query_results(
    warehouse: Warehouse, query: str, output_format: str = "table", files: Path | None = None
) -> list[pl.DataFrame]:
    """The rows of each statement of a query that gives some, read-only, as frames that the output format can hold.

    files: a folder whose files the query may read. It reaches no other file and no network. Raises ValueError for bad SQL and
    for statements that write.
    """
    import duckdb
    import polars as pl

    # `Warehouse.confine` opens the one folder, which it cannot do once all are closed
    with nullcontext() if files is None else confined(False), warehouse.read() as connection:
        try:
            statements = _readings(connection, query)
            warehouse.confine(connection, files)
            results = []
            for number, (kind, statement) in enumerate(statements, start=1):
                rows = _rows_of(connection.sql(statement), output_format)
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


def _rows_of(relation: Any, output_format: str) -> Any:
    """Rows of a DuckDB relation (None for a statement without any) as a frame that the output format can hold."""
    import polars as pl

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
    import polars as pl

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
