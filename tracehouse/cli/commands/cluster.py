"""The commands `tracehouse cluster ...`: what a cluster is, as its scheduler's configuration has it."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import click

from tracehouse.cli.commands.cluster_rules import adopt_found, identify
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_text, print_json
from tracehouse.cli.linking import link_to_a_source
from tracehouse.cli.parameters.sources import complete_sources, source_argument
from tracehouse.clusters import import_cluster, link_cluster, linkable
from tracehouse.text.cluster_text import cluster_summary, cluster_text, keys_left_out_text, keys_text
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.clusters import cluster_names, load_cluster
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
    from assets.usage.cluster_check import contradictions_of_source
    from traces.catalogue.catalogue import load_catalogue

    description = load_cluster(name).description
    contradictions = contradictions_of_source(open_warehouse(), load_catalogue().source(source), description)
    if as_json:
        print_json([asdict(each) for each in contradictions])
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
        print_json([asdict(each) for each in changes])
        return
    width = terminal_width()
    click.echo("\n".join(folded(str(each), width, 4) for each in changes) or f"{before} and {after} are the same")


@click.group()
def cluster() -> None:
    """Clusters: read a scheduler's configuration into one file, show it, check it against a log, find rules in a log."""


@cluster.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="DIR|FILE...", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name of the cluster. Its file is clusters/NAME.toml in the home.")
@click.option(
    "--source", "-s", shell_complete=complete_sources, help="Its log: the source names the cluster from now on."
)
@click.option(
    "--time-zone", help="Of the cluster, in which its files write dates. Default: that of --source, else UTC."
)
@click.option("--from", "valid_from", metavar="TIME", help="From when it holds, such as 2026-03-01. Default: always.")
@click.option(
    "--replace",
    "replaces",
    is_flag=True,
    help="Replace the file of a cluster that has this name. Adopted rules stay in it.",
)
@plain_errors
def import_files(
    paths: tuple[Path, ...],
    name: str,
    source: str | None,
    time_zone: str | None,
    valid_from: str | None,
    replaces: bool,
) -> None:
    """Read the configuration of Slurm, PBS, or Torque with Maui, and write it as one TOML file.

    Each file is known by its name or by what is in it: slurm.conf, gres.conf, topology.conf, what scontrol and sacctmgr show, of PBS what
    qmgr and pbsnodes print, sched_config, resource_group and maui.cfg. Reservations of PBS are read from its accounting
    logs. Files may be packed with gzip.

    Every key that changes schedules and is left out is listed with what it would have changed.

    With --source, replays of that source run on the cluster. A cluster with --from stands behind those that the source names already.
    """
    from assets.common.storage import open_warehouse
    from assets.ingest.zones import zone_of_source
    from traces.catalogue.catalogue import load_catalogue

    if source is not None:
        entry = linkable(source)  # before anything is written
        time_zone = time_zone or zone_of_source(open_warehouse(), load_catalogue(), entry)
    imported = import_cluster(paths, name, time_zone or "UTC", valid_from, replaces)
    width = terminal_width()
    click.echo(f"wrote {imported.path}")
    if imported.kept:
        rules = "1 rule" if imported.kept == 1 else f"{imported.kept:,} rules"
        revoke = f"`tracehouse cluster adopt {source or 'SOURCE'} --revoke` takes them out"
        click.echo(folded(f"kept {rules} that were found in the log and adopted: {revoke}", width))
    click.echo(folded(cluster_summary(imported.described.description), width))
    click.echo()
    click.echo(keys_text(imported.described.remarks, width))
    if text := keys_left_out_text(imported.described.remarks, width):
        click.echo(f"\n{text}")
    if source is not None:
        click.echo(f"\nsource {source}: cluster {link_cluster(source, name, is_later=valid_from is not None)}")
        click.echo(f"\nNext: tracehouse cluster check {name} {source}", err=True)
    else:
        link_to_a_source(name)


@cluster.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def show(name: str | None, as_json: bool) -> None:
    """Print the cluster NAME: nodes, partitions, limits, settings, and what its file leaves out. Without NAME, list all clusters."""
    if name is None:
        names = cluster_names()
        click.echo(json_text(names) if as_json else "\n".join(names) or "no clusters yet")
        return
    described = load_cluster(name)
    if as_json:
        print_json(asdict(described))
    else:
        click.echo(cluster_text(described, terminal_width()))


cluster.add_command(check)
cluster.add_command(diff)
cluster.add_command(identify)
cluster.add_command(adopt_found)
