"""`tracehouse warehouse`: copying a warehouse between a file and a lake, and the upkeep of a lake."""

from __future__ import annotations

import os

import click

from tracehouse.cli.errors import plain_errors
from warehouse.lake_place import DATA


@click.group()
def warehouse() -> None:
    """Copy the warehouse to a lake or back, and keep a lake tidy (docs/guides/lake.md)."""


@warehouse.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--from-data", metavar="FOLDER", help=f"Where the tables of the lake FROM are. Default: ${DATA}.")
@click.option("--to-data", metavar="FOLDER", help=f"Where the tables of the lake TO are. Default: ${DATA}.")
@click.option("--replace", is_flag=True, help="Replace all rows of TO.")
@click.option(
    "--pseudonyms", is_flag=True, help="For readers who may see pseudonyms only: no names, log lines, paths, models."
)
@click.option(
    "--older-duckdb", is_flag=True, help="TO is a new file that DuckDB 1.0 and later open, such as that of the wheels."
)
@plain_errors
def copy(
    source: str,
    target: str,
    from_data: str | None,
    to_data: str | None,
    replace: bool,
    pseudonyms: bool,
    older_duckdb: bool,
) -> None:
    """Copy a warehouse, row for row, with its comments, histories and model files.

    FROM and TO are database files, homes (folders), or lakes such as 'ducklake:postgres:dbname=tracehouse host=db'. All rows are written
    in one transaction: if this is killed, nothing has changed, and it can be run again. Give passwords by PGPASSWORD or PGPASSFILE.
    """
    from assets.common.transfer import copy_warehouse, warehouse_at

    data = os.environ.get(DATA, "")
    former, made = warehouse_at(source, from_data or data), warehouse_at(target, to_data or data)
    copied = copy_warehouse(former, made, replace, pseudonyms, older_duckdb)
    for name, rows in copied.rows.items():
        if rows:
            click.echo(f"{rows:>12,}  {name}")
    click.echo(f"copied {sum(copied.rows.values()):,} rows and {copied.files:,} model files to {made.name}")


@warehouse.command()
@click.option(
    "--kept-days",
    type=click.FloatRange(min=0),
    default=2.0,
    show_default=True,
    help="Age at which a state of before goes.",
)
@plain_errors
def tidy(kept_days: float) -> None:
    """Merge small files of the lake, and remove old snapshots and what killed runs have left.

    Writers wait meanwhile. Readers go on, as long as what they read is younger than --kept-days.
    """
    from assets.common.storage import open_warehouse
    from warehouse.upkeep import tidy_tables

    click.echo(str(tidy_tables(open_warehouse(), kept_days)))
