"""The command `tracehouse pseudonym`."""

import sys

import click

from assets.common.storage import open_warehouse, pseudonym_key
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_option, print_json
from traces.catalogue.places import pseudonym_key_path
from traces.common import pseudonyms
from traces.common.pseudonyms import PSEUDONYM_KINDS


@click.command()
@click.argument("kind", type=click.Choice(list(PSEUDONYM_KINDS)))
@click.argument("names", nargs=-1, required=True)
@json_option
@plain_errors
def pseudonym(kind: str, names: tuple[str, ...], as_json: bool) -> None:
    """Print the pseudonym of every name. `-` reads names from standard input, one a line.

    To find out whose pseudonym it is, give all names: `getent passwd | cut -d: -f1 | tracehouse pseudonym user -`
    """
    path = pseudonym_key_path()
    if not path.exists():
        raise click.ClickException(f"{path}: no key yet. The first PBS or Slurm log that is loaded makes one")
    key = pseudonym_key(open_warehouse())
    given = [name for word in names for name in (sys.stdin.read().split("\n") if word == "-" else [word]) if name]
    if as_json:
        print_json({"kind": kind, "pseudonyms": {name: pseudonyms.pseudonym_of(key, kind, name) for name in given}})
        return
    for name in given:
        click.echo(f"{pseudonyms.pseudonym_of(key, kind, name)}\t{name}")
