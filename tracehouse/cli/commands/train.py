"""`tracehouse train`: a scheduling policy as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.writing.options import written_settings
from assets.policies.settings import TrainingSettings
from models.scheduling.options import STARTED_FROM
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import print_json
from tracehouse.cli.parameters.paths import FileToWrite
from tracehouse.cli.parameters.settings import setting_options
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.training_text import print_costs, print_verdicts

if TYPE_CHECKING:
    from assets.policies.training import TrainingSetup
    from tracehouse.learning.policy_training import TrainingResult


@click.command()
@source_argument("A source, or the path of a log.", or_log=True)
@setting_options(TrainingSettings)
@click.option("--out", "-o", type=FileToWrite(), metavar="FILE", help="Policy file. Default: SOURCE-METHOD.json.")
@click.option(
    "--plot",
    type=FileToWrite(),
    metavar="FILE",
    help="Picture (PNG) of the training curves, drawn again after every epoch.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the card of the policy as JSON.")
@plain_errors
def train(source: str, out: Path | None, plot: Path | None, as_json: bool, **given: Any) -> None:
    """Train a scheduling policy on the first third of a source or a log, and show how good it is on the jobs of its second half.

    The policy is a file with a card, and `tracehouse replay` takes it. The jobs between the two parts choose
    epoch and seed, and say whether that is better than what training started from. If it is not, the file holds the start.
    An interrupted training continues where it was. The policy of a source is also kept in the warehouse. It is the champion of the source,
    which `tracehouse replay` knows as `learned`, if it is the first of its kind or dominates the one before.
    Where the source's cluster runs Slurm, an order is trained in the place of its priority, and is a file alone.

    \b
    tracehouse train birch --goal bsld
    tracehouse train mine.swf --goal wait
    tracehouse train birch --learn backfilling --agent pick:by=shortest,window=64-63
    tracehouse train mycluster --cluster ""
    tracehouse train birch --workers 2 --trajectories 1024 --population 8
    """
    from tracehouse.learning.policy_training import read_jobs, train_policy

    settings = written_settings(TrainingSettings, given)
    trained = train_policy(read_jobs(source, settings), settings, out, plot)
    if as_json:
        print_json(trained.card | {"file": trained.path, "key": trained.key, "champion": trained.happened})
    else:
        _print_trained(trained)


def _print_trained(trained: TrainingResult) -> None:
    """How good the policy is, and how it is used."""
    setup = trained.setup
    print_costs(setup, trained.costs)
    if trained.judged:
        print_verdicts(setup, trained.judged)
    _print_how_to_use(trained)
    if trained.happened is not None:
        agent = setup.arena.agent
        option = "policy" if agent is None else "backfill" if agent.picking.by else "inspector"
        click.echo(f"--{option} learned: {trained.happened}")


def _print_how_to_use(trained: TrainingResult) -> None:
    setup, best, path = trained.setup, trained.best, trained.path
    recipe, given = best.recipe, trained.jobs.given
    if best.trained.best_epoch == 0 and recipe.start != "nothing":
        click.echo(f"\nnothing was learned: the policy is what training started from ({STARTED_FROM[recipe.start]})")
    click.echo(f"\nkey: {trained.key}\npolicy: {path}, seed {best.seed}, epoch {best.trained.best_epoch}")
    click.echo(f"replay it: tracehouse replay {given} {_how_to_replay(setup, path)}")
    distils = (
        setup.task.cluster is None
        and setup.task.rules == "standard"
        and recipe.ppo.layout != "paper"
        and setup.task.agent is None
    )
    if distils and trained.jobs.is_loaded:
        click.echo(f"as a formula: tracehouse distil {path} {given}")


def _how_to_replay(setup: TrainingSetup, path: Path) -> str:
    """The options of `tracehouse replay` for a policy file."""
    task = setup.task
    if task.cluster is not None:
        return f"--policy slurm:{path} --cluster {task.cluster}"
    if task.agent is None:
        return f"--policy {path}" + ("" if task.rules == "standard" else f" --rules {task.rules}")
    return f"--policy {task.base} {'--backfill' if task.agent.startswith('pick') else '--inspector'} {path}"
