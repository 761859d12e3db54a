"""The command `tracehouse collect`."""

from __future__ import annotations

import click

from traces.collector.archive import collector_script


@click.command()
def collect() -> None:
    """Print a shell script that collects logs and configuration of a site.

    The script runs on a login node of a site with Slurm, PBS or Torque, and needs nothing of tracehouse there. It takes accounting by day,
    the scheduler's configuration and its state now, replaces the names of people, accounts and jobs by keyed pseudonyms, and packs
    one archive. The key stays at the site.

    \b
    tracehouse collect > collect.sh
    sh collect.sh --from 2026-01-01 --to 2026-03-31
    sh collect.sh --help
    """
    click.echo(collector_script(), nl=False)
