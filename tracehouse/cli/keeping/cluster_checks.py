"""The commands `tracehouse cluster check` and `tracehouse cluster diff`."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby

import click

from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.clusters import load_cluster
from traces.cluster.checking import Contradiction
from traces.cluster.differing import changed_values

_MOST_OF_A_KIND = 10


@click.command()
@click.argument("name")
@source_argument()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@plain_errors
def check(name: str, source: str, as_json: bool) -> None:
    """Hold the cluster NAME against the log of a source: what does the log have that the cluster's file denies?

    It finds jobs that could never have run, limits that the log breaks, and partitions, accounts, users and nodes that only one of both
    has. A file from another time than the log is the usual reason.
    """
    from assets.common.storage import open_warehouse
    from assets.operations.cluster_check import contradictions_of_source
    from traces.catalogue.catalogue import load_catalogue

    description = load_cluster(name).description
    contradictions = contradictions_of_source(open_warehouse(), load_catalogue().source(source), description)
    if as_json:
        click.echo(json.dumps([asdict(each) for each in contradictions], indent=1))
    else:
        click.echo(contradictions_text(name, source, contradictions, terminal_width()))


def contradictions_text(name: str, source: str, contradictions: tuple[Contradiction, ...], width: int | None) -> str:
    """What is printed: the contradictions of each kind below its name. width: of the terminal in characters, None for a file."""
    if not contradictions:
        return f"cluster {name} and the log of {source} agree"
    points = f"{len(contradictions):,} point{'s' if len(contradictions) > 1 else ''}"
    lines = [f"cluster {name} and the log of {source} contradict each other in {points}"]
    for kind, of_kind in groupby(contradictions, key=lambda each: each.kind):
        listed = list(of_kind)
        lines += ["", f"{kind} ({len(listed)}):"]
        for each in listed[:_MOST_OF_A_KIND]:
            lines.append(folded(f"  {str(each).removeprefix(f'{kind}: ')}", width, 4))
        if len(listed) > _MOST_OF_A_KIND:
            lines.append(f"  and {len(listed) - _MOST_OF_A_KIND} more (--json has all)")
    return "\n".join(lines)


@click.command()
@click.argument("before")
@click.argument("after")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@plain_errors
def diff(before: str, after: str, as_json: bool) -> None:
    """Print what changed from the cluster BEFORE to the cluster AFTER, value by value. Nodes that changed alike share a line."""
    changes = changed_values(load_cluster(before).description, load_cluster(after).description)
    if as_json:
        click.echo(json.dumps([asdict(each) for each in changes], indent=1))
        return
    width = terminal_width()
    click.echo("\n".join(folded(str(each), width, 4) for each in changes) or f"{before} and {after} are the same")
