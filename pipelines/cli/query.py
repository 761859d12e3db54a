"""The command `tracehouse sql`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.storage import open_warehouse
from pipelines.cli.errors import plain_errors
from warehouse import Warehouse

if TYPE_CHECKING:
    import polars as pl


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
@plain_errors
def sql(query: str, output_format: str, output: Path | None) -> None:
    """Run a read-only SQL query over the warehouse. `DESCRIBE core.jobs` and `FROM duckdb_columns()` teach."""
    import polars as pl

    if output_format == "parquet" and output is None and sys.stdout.isatty():
        raise click.ClickException("parquet is binary: give --output FILE, or send it into a file or a pipe")
    rows = query_rows(open_warehouse(), query, output_format)
    target: Any = output if output is not None else sys.stdout.buffer
    if output_format == "parquet":
        rows.write_parquet(target)
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
        output.write_text(text)
    else:
        click.echo(text, nl=False)


def query_rows(warehouse: Warehouse, query: str, output_format: str = "table") -> "pl.DataFrame":
    """The rows of a query, read-only, as a frame that the output format can hold. Raises ValueError for bad SQL."""
    import duckdb
    import polars as pl

    with warehouse.read() as connection:
        try:
            return _rows_of(connection.sql(query), output_format)
        except (duckdb.Error, pl.exceptions.PolarsError) as error:
            raise ValueError(f"SQL: {error}") from None


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
