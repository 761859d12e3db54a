"""The command `tracehouse sources`."""

import click

from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import print_json
from tracehouse.ingesting import source_row
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.places import local_catalogue_path


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array instead of a table.")
@plain_errors
def sources(as_json: bool) -> None:
    """List the sources of the catalogue."""
    listed = list(load_catalogue().sources.values())
    if as_json:
        print_json([source_row(source) for source in listed])
        return
    width = max((len(source.name) for source in listed), default=4)
    for source in listed:
        where = str(source.path) if source.path else "generated"
        procs = f"{source.procs} procs" if source.procs else "procs from the log"
        line = f"{source.name:<{width}}  {source.format:<4}  {procs:<18}  {source.description or where}"
        click.echo(folded(line, terminal_width(), width + 2))
    hint = f"\nAdd one: tracehouse ingest PATH --name NAME (written to {local_catalogue_path()})"
    click.echo(folded(hint, terminal_width(of_errors=True)), err=True)
