"""The command `tracehouse sql`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assets.common.storage import open_warehouse
from assets.common.writing.outputs import refuse_binary_on_terminal, write_output
from assets.pages.words import number_text
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.paths import FileToWrite
from tracehouse.text.tables import cut, folded, terminal_width

if TYPE_CHECKING:
    import polars as pl

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
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: one array, a row an object.")
@click.option("--wide", is_flag=True, help="All columns and whole texts, however wide the terminal is.")
@plain_errors
def sql(query: str, output_format: str, output: Path | None, files: Path | None, as_json: bool, wide: bool) -> None:
    """Run a read-only SQL query over the warehouse. `DESCRIBE core.jobs` and `FROM duckdb_columns()` show what there is.

    A query reaches no file and no network, but for the folder of --files. Results go out through --output. Several statements, with
    semicolons between, give several tables, one below the other.

    A table on a terminal is cut to its width, but for --wide. In a file or a pipe it is complete. Tables round numbers for reading. The
    other formats have all digits."""
    output = None if output == Path("-") else output
    output_format = "json" if as_json else output_format
    if output_format == "parquet":
        refuse_binary_on_terminal("parquet", output)
    from tracehouse.queries import only_result, query_results

    results = query_results(open_warehouse(), query, output_format, files)
    if output_format == "table":
        text = "\n".join(table_text(rows, None if wide or output is not None else terminal_width()) for rows in results)
        if output is None:
            click.echo(text, nl=False)
        else:
            write_output(output, text.encode())
        return
    content = _content(only_result(results), output_format)
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
