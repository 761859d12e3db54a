"""The command `tracehouse sql`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assets.common.storage import open_warehouse
from assets.common.writing.outputs import refuse_binary_on_terminal, write_output
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.frame_text import table_text
from tracehouse.cli.parameters.paths import FileToWrite
from tracehouse.text.tables import terminal_width

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
