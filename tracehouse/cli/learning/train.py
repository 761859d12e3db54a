"""`tracehouse train`: a scheduling policy as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from models.scheduling.options import STARTED_FROM, InputLayout, LearningMethod, PolicyRules, StartingPoint
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.learning.workers import size_options, worker_options
from tracehouse.cli.parameters.paths import FileToWrite
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.replay_text import print_costs, print_verdicts

if TYPE_CHECKING:
    from assets.policies.training import TrainingSetup
    from tracehouse.learning.policy_training import TrainingResult

TASK_OPTIONS = (
    click.option(
        "--goal",
        "-g",
        default="bsld",
        show_default=True,
        help="What to minimize: bsld, slowdown, wait, turnaround, utilisation (maximized), bsld:max_user, or a sum "
        "such as '0.7*bsld + 0.001*wait'.",
    ),
    click.option(
        "--backfill", "-b", default="easy", show_default=True, help="Backfilling: none, any, easy or easy-sjbf."
    ),
    click.option(
        "--estimates",
        "-e",
        default="requested",
        show_default=True,
        help="Run times the scheduler uses: requested, predicted or predicted:p80, ...",
    ),
    click.option(
        "--rules",
        type=click.Choice(get_args(PolicyRules)),
        default="standard",
        show_default=True,
        help="Replay rules. rlscheduler are those of that code, for its published tables.",
    ),
    click.option(
        "--window-jobs",
        type=click.IntRange(min=8),
        default=512,
        show_default=True,
        help="Consecutive jobs in a window of training, at most half of the jobs to learn from.",
    ),
)


def _task_options(command):
    for option in reversed(TASK_OPTIONS):
        command = option(command)
    return command


@click.command()
@source_argument("A source, or the path of a log.", or_log=True)
@click.option(
    "--learn",
    type=click.Choice(("order", "backfilling", "inspector")),
    default="order",
    show_default=True,
    help="A policy that orders the queue (order), an agent that picks what starts past a blocked job (backfilling), or one that "
    "accepts or rejects what a policy picks (inspector).",
)
@click.option(
    "--agent",
    metavar="TEXT",
    help="The agent, whose rule it starts from: pick:OPTIONS (default pick:by=shortest,window=64-63) or inspect:accept, "
    "inspect:unfit.",
)
@click.option(
    "--policy",
    "-p",
    metavar="NAME",
    help="The policy beside which an agent decides. Default: FCFS, for an inspector SJF.",
)
@_task_options
@click.option(
    "--method",
    "-m",
    type=click.Choice(get_args(LearningMethod)),
    default="ppo",
    show_default=True,
    help="ppo: as in RLScheduler. evolution: evolution strategies. imitation: of a search that sees the future.",
)
@click.option(
    "--layout",
    type=click.Choice(get_args(InputLayout)),
    help="What the network reads. plain (the default) is what every log has, informed has predictions and the state of the "
    "cluster, too, and paper is RLScheduler's Table I. Agents have their own, picking and inspecting.",
)
@click.option(
    "--start",
    type=click.Choice(get_args(StartingPoint)),
    help="What training starts from. saf (the default) is smallest area first, key a copy of the best key, best the better of "
    "both, and nothing random weights. An agent starts from its rule (rule) or from nothing.",
)
@click.option("--paper", is_flag=True, help="RLScheduler's own hyper-parameters, layout and start. It takes long.")
@click.option("--epochs", type=click.IntRange(min=1), help="Epochs, generations or passes. Default: the method's own.")
@size_options
@worker_options
@click.option("--seeds", default="1,2,3", show_default=True, help="Training seeds. The best on later jobs is kept.")
@click.option(
    "--accept-trade", is_flag=True, help="Also take a policy that is better on average while some jobs wait longer."
)
@click.option("--out", "-o", type=FileToWrite(), metavar="FILE", help="Policy file. Default: SOURCE-METHOD.json.")
@click.option(
    "--plot",
    type=FileToWrite(),
    metavar="FILE",
    help="Picture (PNG) of the training curves, drawn again after every epoch.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the card of the policy as JSON.")
@plain_errors
def train(
    source: str,
    seeds: str,
    accept_trade: bool,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a scheduling policy on the first third of a source or a log, and show how good it is on the jobs of its second half.

    The policy is a file with a card, and `tracehouse replay` takes it. The jobs between the two parts choose
    epoch and seed, and say whether that is better than what training started from. If it is not, the file holds the start.
    An interrupted training continues where it was. The policy of a source is also kept in the warehouse. It is the champion of the source,
    which `tracehouse replay` knows as `learned`, if it is the first of its kind or dominates the one before.

    \b
    tracehouse train lublin-256 --goal bsld
    tracehouse train mine.swf --goal wait
    tracehouse train lublin-256 --learn backfilling --agent pick:by=shortest,window=64-63
    tracehouse train lublin-256 --workers 2 --trajectories 1024 --population 8
    """
    from tracehouse.learning.policy_training import read_jobs, seeds_of, train_policy

    numbers = seeds_of(seeds)
    trained = train_policy(read_jobs(source, options["estimates"]), numbers, accept_trade, out, plot, options)
    if as_json:
        click.echo(
            json.dumps(
                trained.card | {"file": str(trained.path), "key": trained.key, "champion": trained.happened}, indent=1
            )
        )
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
    distils = setup.task.rules == "standard" and recipe.ppo.layout != "paper" and setup.task.agent is None
    if distils and trained.jobs.is_loaded:
        click.echo(f"as a formula: tracehouse distil {path} {given}")


def _how_to_replay(setup: TrainingSetup, path: Path) -> str:
    """The options of `tracehouse replay` for a policy file."""
    task = setup.task
    if task.agent is None:
        return f"--policy {path}" + ("" if task.rules == "standard" else f" --rules {task.rules}")
    return f"--policy {task.base} {'--backfill' if task.agent.startswith('pick') else '--inspector'} {path}"
