"""The command `tracehouse health`."""

import click

from assets.common.storage import open_warehouse
from sql import load as sql_text
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import print_json
from tracehouse.cli.parameters.sources import complete_sources
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.catalogue import load_catalogue


@click.command()
@click.argument("source", shell_complete=complete_sources)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with what each finding means.")
@plain_errors
def health(source: str, as_json: bool) -> None:
    """Print what looks wrong in the log of a source that is in the warehouse, worst first."""
    source = load_catalogue().source(source).name
    with open_warehouse().read() as connection:
        findings = connection.sql(sql_text("marts.health_report"), params={"source": source}).pl().to_dicts()
    if not findings:
        raise ValueError(f"no report on source {source!r} yet: `tracehouse run {source} --job ingest`")
    if as_json:
        print_json(findings)
        return
    width = terminal_width()
    for row in findings:
        if row["found"]:
            share = "" if row["share"] is None else f" ({row['share']:.2%})"
            click.echo(folded(f"{row['found']:>12,} {row['unit']:<10} {row['finding']}{share}", width, 12))
            for text in filter(None, (row["meaning"], row["example"])):
                click.echo(folded(f"{'':>24}{text}", width, 0))
    absent = [row["finding"] for row in findings if not row["found"]]
    if absent:
        click.echo(folded(f"looked for and not found: {', '.join(absent)}", width))
