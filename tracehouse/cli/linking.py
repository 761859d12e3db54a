"""What commands ask and say of the link between a log and its cluster."""

from __future__ import annotations

import sys

import click


def can_ask() -> bool:
    """Whether somebody sits at a terminal who can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def link_to_a_source(cluster: str) -> None:
    """Links a new cluster where only one log can be of it and the user agrees. Else prints the command that does."""
    from tracehouse.clusters import command_to_link, possible_sources

    possible = possible_sources(cluster)
    if len(possible) == 1:
        _ask_or_say(possible[0].name, cluster, command_to_link(possible[0], cluster))
    elif possible:
        click.echo("\nNext: name it at the source of its log:", err=True)
        for entry in possible:
            click.echo(f"  {command_to_link(entry, cluster)}", err=True)
    else:
        click.echo(f"\nNext: tracehouse ingest LOG --name {cluster} --cluster {cluster}", err=True)


def link_to_a_cluster(source: str) -> None:
    """The same for a log that was ingested. Says nothing where no cluster can be its own."""
    from tracehouse.clusters import command_to_link, possible_clusters
    from traces.catalogue.catalogue import load_catalogue

    entry = load_catalogue().source(source)
    possible = possible_clusters(entry)
    if len(possible) == 1:
        _ask_or_say(source, possible[0], command_to_link(entry, possible[0]))


def _ask_or_say(source: str, cluster: str, command: str) -> None:
    from tracehouse.clusters import link_cluster

    if can_ask():
        if click.confirm(f"\nIs {cluster} the cluster of {source}?", default=True, err=True):
            click.echo(f"source {source}: cluster {link_cluster(source, cluster)}")
    else:
        click.echo(f"\nIs {cluster} the cluster of {source}? Then: {command}", err=True)
