"""The commands `tracehouse cluster ...`: what a cluster is, as its scheduler's configuration has it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from tracehouse.cli.errors import plain_errors
from tracehouse.cli.keeping.cluster_checks import check, diff
from tracehouse.cli.keeping.cluster_rules import adopt_found, identify
from tracehouse.clusters import import_cluster
from tracehouse.text.cluster_text import cluster_summary, cluster_text, keys_left_out_text, keys_text
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.clusters import cluster_names, load_cluster


@click.group()
def cluster() -> None:
    """Clusters: read a scheduler's configuration into one file, show it, check it against a log, find rules in a log."""


@cluster.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="DIR|FILE...", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name of the cluster. Its file is clusters/NAME.toml in the home.")
@click.option("--time-zone", default="UTC", show_default=True, help="Of the cluster, in which its files write dates.")
@click.option("--from", "valid_from", metavar="TIME", help="From when it holds, such as 2026-03-01. Default: always.")
@click.option("--replace", "replaces", is_flag=True, help="Replace the file of a cluster that has this name.")
@plain_errors
def import_files(paths: tuple[Path, ...], name: str, time_zone: str, valid_from: str | None, replaces: bool) -> None:
    """Read the configuration of Slurm, PBS, or Torque with Maui, and write it as one TOML file.

    Each file is known by its name or by what is in it: slurm.conf, gres.conf, topology.conf, what scontrol and sacctmgr show, of PBS what
    qmgr and pbsnodes print, sched_config, resource_group and maui.cfg. Plain or packed with gzip.

    Every key that changes schedules and is left out is listed with what it would have changed.
    """
    imported = import_cluster(paths, name, time_zone, valid_from, replaces)
    width = terminal_width()
    click.echo(f"wrote {imported.path}")
    click.echo(folded(cluster_summary(imported.described.description), width))
    click.echo()
    click.echo(keys_text(imported.described.remarks, width))
    if text := keys_left_out_text(imported.described.remarks, width):
        click.echo(f"\n{text}")
    click.echo(f'\nNext: name it in the catalogue, at the source of its log: cluster = "{name}"', err=True)


@cluster.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def show(name: str | None, as_json: bool) -> None:
    """Print the cluster NAME: nodes, partitions, limits, settings, and what its file leaves out. Without NAME, list all clusters."""
    if name is None:
        names = cluster_names()
        click.echo(json.dumps(names) if as_json else "\n".join(names) or "no clusters yet")
        return
    described = load_cluster(name)
    if as_json:
        click.echo(json.dumps(asdict(described), indent=1, default=dict))
    else:
        click.echo(cluster_text(described, terminal_width()))


cluster.add_command(check)
cluster.add_command(diff)
cluster.add_command(identify)
cluster.add_command(adopt_found)
