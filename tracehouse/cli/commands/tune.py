"""The command `tracehouse tune`."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.terminal import printable
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_text
from tracehouse.cli.parameters.sources import complete_sources
from tracehouse.text.tables import terminal_width


@click.command("tune")
@click.argument("source", shell_complete=complete_sources)
@click.option(
    "--settings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="What may be changed, with bounds (TOML). Default: what the source's cluster has.",
)
@click.option("--list", "only_list", is_flag=True, help="Print what may be changed as such a file, and stop.")
@click.option(
    "--guard",
    "guards",
    multiple=True,
    metavar="NAME=RATIO",
    help="What a change may cost, for user, size, qos, queue, p95 or utilisation, such as qos=1.05. May be repeated.",
)
@click.option(
    "--trials", type=click.IntRange(4), default=60, show_default=True, help="How many candidates are replayed."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed gives the same answer."
)
@click.option("--cluster", metavar="NAME", help="A cluster of the home (clusters/NAME.toml) in place of the source's.")
@click.option(
    "--policy", metavar="ORDER", help="Adapt the constants of searched:balanced or formula:TEXT, in place of settings."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def tune_command(
    source: str,
    settings: Path | None,
    only_list: bool,
    guards: tuple[str, ...],
    trials: int,
    seed: int,
    cluster: str | None,
    policy: str | None,
    as_json: bool,
) -> None:
    """Which lines of the configuration should change? Searches settings by replays under the source's own scheduler.

    Candidates are replayed on the first half of the jobs. The best one that keeps every guard is confirmed on the later half, against the
    present settings and against random settings within the bounds. The first line is the verdict. Every replay is stored: the same command
    goes on where it was interrupted. It needs Optuna: pip install 'tracehouse[tune]'.

    \b
    Examples:
      tracehouse tune mycluster --list > settings.toml
      tracehouse tune mycluster --settings settings.toml --guard qos=1.05
      tracehouse tune mycluster --policy searched:balanced
    """
    from tracehouse.learning.tuning import tunable_settings, tune
    from tracehouse.text.tuning_text import tuned_text

    if only_list:
        click.echo(tunable_settings(source, cluster, policy), nl=False)
        return
    tuned = tune(source, settings, guards, trials, seed, cluster, policy)
    text = json_text(tuned.summary) if as_json else tuned_text(tuned.settings, tuned.trust, terminal_width())
    click.echo(printable(text))
