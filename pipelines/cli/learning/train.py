"""`tracehouse train`: a scheduling policy as a file."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from assets.common.progress import LoggedBar, progress_bar
from assets.common.storage import open_warehouse
from assets.common.writing.locks import works_on
from assets.common.writing.outputs import write_output
from models.scheduling.options import (
    AGENT_PPO,
    PAPER_PPO,
    STARTED_FROM,
    InputLayout,
    LearningMethod,
    PolicyRules,
    Recipe,
    StartingPoint,
)
from pipelines.cli.errors import plain_errors
from pipelines.cli.learning.workers import reports_of, size_options, training_by_ppo, with_sizes, worker_options
from pipelines.cli.parameters.paths import FileToWrite, check_file, refuse_binary_on_terminal
from pipelines.cli.parameters.sources import source_argument
from pipelines.cli.replay_text import ITS_RULE, THIS_POLICY, print_costs, print_verdicts
from traces.catalogue.catalogue import load_catalogue

if TYPE_CHECKING:
    from tqdm import tqdm

    from assets.policies.training import TrainingSetup
    from models.scheduling.learning.recipes import PPOTraining
    from models.scheduling.learning.training import EpochReport
    from models.scheduling.learning.training_run import JudgedPolicy

COMPARED_HEURISTICS = ("FCFS", "SJF", "SAF", "F1")
"""Policies that a trained policy is compared with, by the goal."""
LEARNED = {
    "backfilling": ("pick:by=shortest,window=64-63", "FCFS", "picking"),
    "inspector": ("inspect:accept", "SJF", "inspecting"),
}
"""By what an agent learns: the default agent, the policy beside it, and what its network reads."""
FILE_CARD = (
    *(
        "source",
        "trace_sha256",
        "cluster_procs",
        "goal",
        "backfill",
        "estimates",
        "rules",
        "agent",
        "base",
        "window_jobs",
        "trained_jobs",
    ),
    *("best_epoch", "validation_cost", "parameters", "unseen_costs", "verdicts"),
)
"""The entries of the card in the policy file."""
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
@source_argument("A source that is in the warehouse.")
@click.option(
    "--learn",
    type=click.Choice(("order", *LEARNED)),
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
    learn: str,
    agent: str | None,
    policy: str | None,
    seeds: str,
    accept_trade: bool,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a scheduling policy on the first third of a source, and show how good it is on the jobs of its second half.

    The policy is a file with a card, and `tracehouse replay` takes it. The jobs between the two parts choose
    epoch and seed, and say whether that is better than what training started from. If it is not, the file holds the start.
    An interrupted training continues where it was. An agent is also kept in the warehouse. It is the champion of the source,
    which `tracehouse replay` knows as `learned`, if it is the first of its kind or dominates the one before.

    \b
    tracehouse train lublin-256 --goal bsld
    tracehouse train lublin-256 --learn backfilling --agent pick:by=shortest,window=64-63
    tracehouse train lublin-256 --workers 2 --trajectories 1024 --population 8
    """
    from assets.common.trace import load_trace
    from assets.policies.training import PolicyTask, TrainingSetup, split_of
    from models.scheduling.learning.training_run import best_by_validation
    from models.scheduling.policy_file import policy_to_bytes
    from models.scheduling.workers.launching import forget
    from pipelines.cli.replaying import say_if_slow

    numbers = _seeds(seeds)
    name = load_catalogue().source(source).name
    trace = load_trace(open_warehouse(), name)
    decides = _agent(learn, agent, policy, options)
    by_ppo = training_by_ppo(options["method"], options)
    recipe = _recipe(
        learn, options["goal"], **{each: options.pop(each) for each in ("method", "layout", "start", "paper", "epochs")}
    )
    recipe = with_sizes(recipe, **{each: options.pop(each) for each in ("trajectories", "minibatch")})
    recipe = recipe.model_copy(update={"accept_trade": accept_trade})
    setup = TrainingSetup.on_split(trace, PolicyTask(**options, **decides), split_of(trace, options["window_jobs"]))
    path = _path_of(out or Path(f"{name}-{recipe.method if learn == 'order' else learn}.json"), plot)
    policies = _train(setup, recipe, numbers, path, plot, by_ppo)
    best = best_by_validation(policies)
    with say_if_slow("comparing it with other policies on later jobs"):
        key, costs = _rivals(setup, policies, best)
    judged = _judged(setup, best, key) if setup.task.rules == "standard" else {}
    words = {name: str(judgement.verdict) for name, judgement in judged.items()}
    card = setup.card(best, FILE_CARD, unseen_costs=costs, verdicts=words)
    write_output(path, policy_to_bytes(best.trained.weights, card, setup.task.agent))
    happened = None if learn == "order" else _adopt(setup, policies, accept_trade)
    for seed in numbers:
        forget(_checkpoint_of(path, seed))
    if as_json:
        click.echo(json.dumps(card | {"file": str(path), "key": key, "champion": happened}, indent=1))
    else:
        _print_trained(setup, best, path, key, costs, judged, happened)


def _adopt(setup: TrainingSetup, policies: list[JudgedPolicy], accept_trade: bool) -> str:
    """Keeps the agents in the warehouse. Returns what happened to the champion. Raises ValueError where the source is gone."""
    from assets.common.trace import load_clock
    from assets.policies.adoption import adopt_agents

    with works_on(setup.trace.source):
        load_clock(open_warehouse(), setup.trace.source)
        return adopt_agents(open_warehouse(), setup, policies, accept_trade)[2]


def _print_trained(
    setup: TrainingSetup,
    best: JudgedPolicy,
    path: Path,
    key: str,
    costs: dict[str, float],
    judged: dict[str, Any],
    happened: str | None,
) -> None:
    """How good the policy is, and how it is used. happened: to the champion, None for a policy that orders the queue."""
    print_costs(setup, costs)
    if judged:
        print_verdicts(setup, judged)
    _print_how_to_use(setup, best, path, key)
    if happened is not None:
        option = "backfill" if setup.arena.agent is not None and setup.arena.agent.picking.by else "inspector"
        click.echo(f"--{option} learned: {happened}")


def _print_how_to_use(setup: TrainingSetup, best: JudgedPolicy, path: Path, key: str) -> None:
    recipe, name = best.recipe, setup.trace.source
    if best.trained.best_epoch == 0 and recipe.start != "nothing":
        click.echo(f"\nnothing was learned: the policy is what training started from ({STARTED_FROM[recipe.start]})")
    click.echo(f"\nkey: {key}\npolicy: {path}, seed {best.seed}, epoch {best.trained.best_epoch}")
    click.echo(f"replay it: tracehouse replay {name} {_how_to_replay(setup, path)}")
    if setup.task.rules == "standard" and recipe.ppo.layout != "paper" and setup.task.agent is None:
        click.echo(f"as a formula: tracehouse distil {path} {name}")


def _how_to_replay(setup: TrainingSetup, path: Path) -> str:
    """The options of `tracehouse replay` for a policy file."""
    task = setup.task
    if task.agent is None:
        return f"--policy {path}" + ("" if task.rules == "standard" else f" --rules {task.rules}")
    return f"--policy {task.base} {'--backfill' if task.agent.startswith('pick') else '--inspector'} {path}"


def _agent(learn: str, agent: str | None, policy: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """What is learned, as a PolicyTask has it. Raises ValueError for an agent of another kind, and for options that do not apply to it."""
    from simulator.policies.agents import agent_text, parse_agent

    if learn == "order":
        if agent is not None or policy is not None:
            raise ValueError("--agent and --policy are for agents: also give --learn backfilling or inspector")
        return {}
    if options["rules"] != "standard":
        raise ValueError(
            f"--learn {learn} follows the standard rules: leave --rules out. Inspectors by the rules of their paper are in "
            "experiments/inspector"
        )
    if learn == "backfilling" and options["backfill"] != "easy":
        raise ValueError("--learn backfilling decides itself what is backfilled: leave --backfill out, and see --agent")
    usual, base, _ = LEARNED[learn]
    if agent is not None and agent.partition(":")[0].strip().lower() != usual.partition(":")[0]:
        raise ValueError(f"--agent {agent!r}: --learn {learn} expects {usual.partition(':')[0]}:..., such as {usual}")
    return {"agent": agent_text(parse_agent(agent or usual)), "base": policy or base}


def _recipe(
    learn: str,
    goal: str,
    method: LearningMethod,
    layout: InputLayout | None,
    start: StartingPoint | None,
    paper: bool,
    epochs: int | None,
) -> Recipe:
    """How the policies are learned. Raises ValueError where the options contradict each other."""
    from models.scheduling.goals import parse_goal
    from models.scheduling.rewards import comes_on_the_way

    orders = learn == "order"
    usual: tuple[Any, Any] = ("plain", "saf") if orders else (LEARNED[learn][2], "rule")
    recipe = Recipe(method=method, start="nothing" if paper else start or usual[1])
    plain = PAPER_PPO if paper else recipe.ppo if orders or not comes_on_the_way(parse_goal(goal)) else AGENT_PPO
    recipe.ppo = plain if paper else plain.model_copy(update={"layout": layout or usual[0]})
    if paper and (method != "ppo" or not orders):
        raise ValueError("--paper is for ppo that orders the queue: leave --method and --learn out")
    return recipe.with_epochs(epochs) if epochs else recipe


def _train(
    setup: TrainingSetup, recipe: Recipe, seeds: list[int], path: Path, plot: Path | None, by_ppo: PPOTraining
) -> list[JudgedPolicy]:
    """A policy per seed, with a progress bar and, if the user wants one, a picture that is drawn again after every epoch. Raises
    ValueError where workers have ended."""
    from assets.policies.training import draw_training
    from models.scheduling.workers.launching import TrainingStopped

    curves: list[dict[str, Any]] = []
    steps = reports_of(recipe, by_ppo) * len(seeds)
    with _bar(f"training {setup.trace.source}: before the first epoch", steps) as bar:

        def on_epoch(seed: int, report: EpochReport) -> None:
            cost = "" if report.validation_cost is None else f", {setup.task.goal} {report.validation_cost:,.4g}"
            _describe(bar, f"training {setup.trace.source}: seed {seed}, epoch {report.epoch} of {recipe.epochs}{cost}")
            bar.update()
            curves.append({"seed": seed} | asdict(report))
            if plot and report.validation_cost is not None:
                draw_training(plot, curves, setup.task.goal)

        try:
            return list(setup.train(recipe, seeds, on_epoch, lambda seed: _checkpoint_of(path, seed), by_ppo))
        except TrainingStopped as error:
            raise ValueError(str(error)) from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the same command goes on from there") from None


def _bar(label: str, total: int) -> tqdm | LoggedBar:
    """A bar with the time that is left, on a terminal. Elsewhere it is lines on standard error."""
    if sys.stderr.isatty():
        return progress_bar(label, total)
    return LoggedBar(label, total, lambda text: click.echo(text, err=True))


def _describe(bar: tqdm | LoggedBar, label: str) -> None:
    if isinstance(bar, LoggedBar):
        bar.label = label
    else:
        bar.set_description_str(f"  {label}", refresh=False)


def _path_of(policy: Path, plot: Path | None) -> Path:
    """The file of the policy. Raises ValueError, before the training, where it cannot be written, or the picture would go to a terminal."""
    check_file(policy)
    if plot is not None:
        refuse_binary_on_terminal("a picture", plot)
    return policy


def _checkpoint_of(path: Path, seed: int) -> Path:
    return path.with_name(f".{path.name}.checkpoint-{seed}")


def _rivals(setup: TrainingSetup, policies: list[JudgedPolicy], best: JudgedPolicy) -> tuple[str, dict[str, float]]:
    """The formula of the best priority key, and the goal's cost of every policy on the jobs that judge."""
    from models.scheduling.priority_key import search_guarded_key, searched_jobs
    from simulator.policies.registry import assisted

    arena, judging = setup.arena, setup.judging
    key = search_guarded_key(arena, searched_jobs(setup.trained_jobs), best.recipe.key, 1).best
    costs = {name: float(arena.costs(name, judging).mean()) for name in COMPARED_HEURISTICS}
    if arena.agent is not None:
        costs[ITS_RULE] = float(arena.costs(assisted(arena.base, arena.agent), judging).mean())
    costs["key"] = float(arena.costs(key.policy, judging).mean())
    costs[f"{best.recipe.method}, all seeds"] = sum(float(each.costs.mean()) for each in policies) / len(policies)
    costs[THIS_POLICY] = float(best.costs.mean())
    return key.formula, costs


def _judged(setup: TrainingSetup, best: JudgedPolicy, key: str) -> dict[str, Any]:
    """The policy and its rivals on one replay of the whole log, over the jobs after those that training was open to."""
    from assets.policies.verdicts import JudgedRule, judge_rules, rivals_with

    task, agent = setup.task, setup.arena.agent
    ours = [JudgedRule("key", key, task.backfill, task.estimates)]
    weights = best.trained.weights
    if agent is None:
        ours.append(JudgedRule(THIS_POLICY, "learned", task.backfill, task.estimates, weights=weights))
    else:
        ours.append(JudgedRule(ITS_RULE, task.base, task.backfill, task.estimates, agent=agent))
        ours.append(JudgedRule(THIS_POLICY, task.base, task.backfill, task.estimates, agent=agent.learned(weights)))
    return judge_rules(setup.trace, (*rivals_with(task.estimates), *ours), setup.trained_jobs)


def _seeds(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--seeds {text!r}: expected whole numbers with commas between, such as 1,2,3") from None
    if min(numbers) < 0 or len(set(numbers)) < len(numbers):
        raise ValueError(f"--seeds {text!r}: expected different numbers from 0 on")
    return numbers
