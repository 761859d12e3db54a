"""The command `tracehouse sql`."""

import io
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.storage import open_warehouse, write_whole
from pipelines.cli.errors import plain_errors
from warehouse import Warehouse, confined

if TYPE_CHECKING:
    import duckdb
    import polars as pl

READING = ("SELECT", "EXPLAIN", "MULTI", "CREATE", "SET", "CALL")
"""Kinds of statements that `tracehouse sql` takes. MULTI: PIVOT. CREATE: of temporary tables, since the warehouse is open for reading."""


@click.command()
@click.argument("query")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    default="table",
    show_default=True,
)
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="File to write; default: print.")
@click.option(
    "--files",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder whose files the query may read, such as FROM 'FOLDER/projects.csv'. Without it, none.",
)
@plain_errors
def sql(query: str, output_format: str, output: Path | None, files: Path | None) -> None:
    """Run a read-only SQL query over the warehouse. `DESCRIBE core.jobs` and `FROM duckdb_columns()` teach.

    A query reaches no file and no network, but for the folder of --files. Results go out through --output."""
    import polars as pl

    if output_format == "parquet" and output is None and sys.stdout.isatty():
        raise click.ClickException("parquet is binary: give --output FILE, or send it into a file or a pipe")
    warehouse = open_warehouse()
    if output is not None and output.resolve().is_relative_to(warehouse.path.parent.resolve()):
        raise click.ClickException(
            f"{output}: {warehouse.path.parent} is where tracehouse keeps its own files. Give another"
        )
    rows = query_rows(warehouse, query, output_format, files)
    if output_format == "parquet":
        content = io.BytesIO()
        rows.write_parquet(content)
        _put(output, content.getvalue())
        return
    if output_format == "csv":
        text = rows.write_csv()
    elif output_format == "json":
        text = rows.write_json() + "\n"
    else:
        with pl.Config(
            tbl_rows=200,
            tbl_cols=60,
            tbl_width_chars=220,
            fmt_str_lengths=200,
            thousands_separator=True,
            tbl_hide_dataframe_shape=True,
            tbl_hide_column_data_types=True,
        ):
            text = f"{rows}\n({rows.height} row{'' if rows.height == 1 else 's'})\n"
    if output is not None:
        _put(output, text.encode())
    elif output_format == "table" or sys.stdout.isatty():
        click.echo(text, nl=False)
    else:  # data for another program, to the byte
        sys.stdout.buffer.write(text.encode())


def _put(output: Path | None, content: bytes) -> None:
    """Writes the file whole, or to standard output. Raises ClickException where its folder is missing."""
    if output is None:
        sys.stdout.buffer.write(content)
        return
    if not output.parent.is_dir():
        raise click.ClickException(f"{output}: no such folder for --output")
    write_whole(output, content)


def query_rows(
    warehouse: Warehouse, query: str, output_format: str = "table", files: Path | None = None
) -> "pl.DataFrame":
    """The rows of a query, read-only, as a frame that the output format can hold.

    files: a folder whose files the query may read. It reaches no other file and no network. Raises ValueError for bad SQL and
    for statements that write.
    """
    import duckdb
    import polars as pl

    # `_confine` opens the one folder, which it cannot do once all are closed
    with nullcontext() if files is None else confined(False), warehouse.read() as connection:
        try:
            _refuse_writing(connection, query)
            _confine(connection, files)
            return _rows_of(connection.sql(query), output_format)
        except duckdb.PermissionException as error:
            raise ValueError(
                f"SQL: {error}\nA query reads no files, but those of the folder given with `tracehouse sql --files`"
            ) from None
        except (duckdb.Error, pl.exceptions.PolarsError) as error:
            raise ValueError(f"SQL: {error}") from None


def _refuse_writing(connection: "duckdb.DuckDBPyConnection", query: str) -> None:
    """Raises ValueError for statements that could write a file. DuckDB never locks the database's own file and its journal away from
    COPY, so that the settings of `_confine` are not enough."""
    for statement in connection.extract_statements(query):
        kind = statement.type.name
        hides_another = kind in ("EXPLAIN", "MULTI") and re.search(r"\b(copy|export)\b", statement.query, re.IGNORECASE)
        if kind not in READING or hides_another:
            raise ValueError(
                f"SQL: {statement.query.strip()[:60]!r} is no query, and the warehouse is read-only here. Results go to a file "
                "with --output FILE"
            )


def _confine(connection: "duckdb.DuckDBPyConnection", files: Path | None) -> None:
    """Locks files and the network away, but for one folder, and the settings with them."""
    if files is not None:
        connection.execute("SET allowed_directories = [?]", [f"{files.resolve()}/"])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


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
        quoted = '"' + name.replace('"', '""') + '"'
        columns.append(f"CAST({quoted} AS VARCHAR) AS {quoted}" if kind.id in as_text else quoted)
    rows = relation.project(", ".join(columns)).pl()
    if output_format == "json":  # sums are 128-bit numbers, which would be written as text
        wide = [name for name, kind in rows.schema.items() if kind == pl.Int128 or kind == pl.Decimal(38, 0)]
        for name in wide:
            narrow = rows[name].cast(pl.Int64, strict=False)
            fits = narrow.null_count() == rows[name].null_count()
            rows = rows.with_columns(narrow if fits else rows[name].cast(pl.Float64))
    return rows
