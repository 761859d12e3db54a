"""`tracehouse train` and `tracehouse distil`: a scheduling policy as a file, and as a formula."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assets.common.progress import progress_bar
from assets.common.storage import open_warehouse, write_whole
from models.scheduling.options import PAPER, Recipe
from pipelines.cli.errors import plain_errors
from traces.catalogue.catalogue import load_catalogue

if TYPE_CHECKING:
    from models.scheduling.learning.training import EpochReport

TASK_OPTIONS = (
    click.option("--goal", "-g", default="bsld", show_default=True,
                 help="What to make small: bsld, slowdown, wait, turnaround, utilisation (made large), bsld:max_user, or a sum "
                 "such as '0.7*bsld + 0.001*wait'."),
    click.option("--backfill", "-b", default="easy", show_default=True, help="Backfilling: none, easy or easy-sjbf."),
    click.option("--estimates", "-e", default="requested", show_default=True,
                 help="Run times the scheduler believes: requested, predicted or predicted:p80, ..."),
    click.option("--rules", type=click.Choice(["standard", "rlscheduler"]), default="standard", show_default=True,
                 help="Replay rules; rlscheduler are those of that code, for its published tables."),
    click.option("--window-jobs", type=click.IntRange(min=8), default=256, show_default=True,
                 help="Consecutive jobs in a window of training."),
)  # fmt: skip


def _task_options(command):
    for option in reversed(TASK_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.option("--source", "-s", required=True, help="A source that is in the warehouse.")
@_task_options
@click.option("--method", "-m", type=click.Choice(["ppo", "evolution", "imitation"]), default="ppo", show_default=True,
              help="ppo: RLScheduler; evolution: evolution strategies; imitation: of a search that sees the future.")  # fmt: skip
@click.option("--layout", type=click.Choice(["plain", "informed", "paper"]), default="plain", show_default=True,
              help="What the network reads: plain, what every log has; informed, predictions and the state of the cluster, too; "
              "paper, RLScheduler's Table I.")  # fmt: skip
@click.option("--start", type=click.Choice(["saf", "key", "best", "nothing"]), default="saf", show_default=True,
              help="What training starts from: smallest area first, a copy of the best key, the better of both, or "
              "random weights.")  # fmt: skip
@click.option("--paper", is_flag=True, help="RLScheduler's own hyper-parameters, layout and start; takes its time.")
@click.option("--epochs", type=click.IntRange(min=1), help="Epochs, generations or passes. Default: the method's own.")
@click.option("--seeds", default="1,2,3", show_default=True, help="Training seeds; the best on later windows is kept.")
@click.option(
    "--out", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Policy file. Default: SOURCE-METHOD.json."
)
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path),
              help="Picture (PNG) of the training curves, drawn anew after every epoch.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the card of the policy as JSON.")
@plain_errors
def train(
    source: str, goal: str, backfill: str, estimates: str, rules: str, window_jobs: int, method: str, layout: str,
    start: str, paper: bool, epochs: int | None, seeds: str, out: Path | None, plot: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Train a scheduling policy on the first third of a source, and show what it is worth on the jobs of its second half.

    The policy is a file with a card, and `tracehouse replay` takes it. Windows between the two parts choose
    epoch and seed. An interrupted training goes on where it was.

    \b
    tracehouse train --source lublin-256 --goal bsld
    tracehouse train --source lublin-256 --method evolution --estimates predicted --layout informed
    """
    from assets.common.trace import load_trace
    from assets.policies.training import Task, card_of, draw_training, judge, train_seeds
    from models.scheduling.policy_file import policy_to_bytes
    from models.scheduling.priority_key import search_key

    numbers = _seeds(seeds)
    name = load_catalogue().source(source).name
    trace = load_trace(open_warehouse(), name)
    task = Task(goal, backfill, estimates, rules, window_jobs)
    recipe = Recipe(method=method, start="nothing" if paper else start)
    recipe.ppo = PAPER.model_copy() if paper else recipe.ppo.model_copy(update={"layout": layout})
    if paper and method != "ppo":
        raise ValueError("--paper is about ppo: leave --method out")
    if epochs:
        field = {"ppo": "epochs", "evolution": "generations", "imitation": "passes"}[method]
        setattr(recipe, method, getattr(recipe, method).model_copy(update={field: epochs}))
    path = out or Path(f"{name}-{method}.json")
    checkpoint = path.with_name(f".{path.name}.checkpoint")
    curves: list[dict] = []
    with progress_bar(f"training {len(numbers)} policies for {name}", recipe.epochs * len(numbers)) as bar:

        def on_epoch(seed: int, report: "EpochReport") -> None:
            bar.update()
            curves.append({"seed": seed} | asdict(report))
            if plot and report.validation_cost is not None:
                draw_training(plot, curves, goal)

        found, arena, split = train_seeds(trace, task, recipe, numbers, checkpoint, on_epoch)
    best = min(found, key=lambda policy: policy.validation_cost)
    key = search_key(arena, split.learn.thinned(recipe.key.windows), recipe.key, 1).best
    rivals = judge(
        arena, split,
        {name: name for name in ("FCFS", "SJF", "F1")}
        | {"key": key.policy, f"{method}, all seeds": [x.weights for x in found], "this policy": best.weights},
    )  # fmt: skip
    card = card_of(trace, task, split, best, rivals)
    write_whole(path, policy_to_bytes(best.weights, card))
    for seed in numbers:
        checkpoint.with_name(f"{checkpoint.name}-{seed}").unlink(missing_ok=True)
    if as_json:
        click.echo(json.dumps(card | {"file": str(path), "key": key.formula}, indent=1))
        return
    click.echo(
        f"{goal} on {len(split.judge)} windows of {split.judge.jobs:,} unseen jobs, {backfill}, {estimates} times\n"
    )
    for rival in rivals:
        apart = rival.minus_saf
        interval = "too few windows for an interval" if apart.low is None else f"{apart.low:+.2f} to {apart.high:+.2f}"
        said = "" if rival.name == "SAF" else f"{apart.mean:+10.2f} against SAF ({interval})"
        click.echo(f"{rival.name:<22} {rival.mean:>12.2f} {said}")
    click.echo(f"\nkey: {key.formula}\npolicy: {path}, seed {best.parameters['seed']}, epoch {best.best_epoch}")
    under = "" if rules == "standard" else f" --rules {rules}"
    click.echo(f"replay it: tracehouse replay {name} --policy {path}{under}")
    if rules == "standard" and recipe.ppo.layout != "paper":
        click.echo(f"as a formula: tracehouse distil {path} --source {name}")


@click.command()
@click.argument("policy", type=click.Path(path_type=Path))
@click.option("--source", "-s", required=True, help="The source whose decisions are copied.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the decisions that are met.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plain_errors
def distil(policy: Path, source: str, seed: int, as_json: bool) -> None:
    """Write a trained policy as a short formula, as a PBS job_sort_formula would have it, and show what is lost.

    The formula is fitted to the policy's choices in the first third of the source; both are replayed on the second half.

    \b
    tracehouse distil lublin-256-ppo.json --source lublin-256
    """
    from assets.common.trace import load_trace
    from assets.policies.training import Task, arena_of_task, judge, split_of
    from models.scheduling.distil import distil as fit
    from models.scheduling.policy_file import load_policy
    from simulator.policies.registry import parse_policy

    weights, card = load_policy(policy)
    names = ("goal", "backfill", "estimates", "rules", "window_jobs")
    if card.get("rules", "standard") != "standard":
        raise ValueError(
            f"{policy}: trained under the RLScheduler rules, which cannot follow a formula that looks at waits: distil a policy "
            "of the standard rules"
        )
    trace = load_trace(open_warehouse(), load_catalogue().source(source).name)
    task = Task(**{name: card[name] for name in names if name in card})
    arena, split = arena_of_task(trace, task), split_of(trace, task.window_jobs)
    found = fit(arena, weights, split.learn.thinned(100), seed)
    rivals = judge(arena, split, {"policy": weights, "formula": parse_policy(found.formula)})
    if as_json:
        told = {"formula": found.formula, "agreement": found.agreement, "decisions": found.decisions}
        click.echo(json.dumps(told | {"costs": {rival.name: rival.mean for rival in rivals}}, indent=1))
        return
    click.echo(f"{found.formula}\n\nmakes {100 * found.agreement:.0f} % of the policy's {found.decisions:,} choices")
    for rival in rivals:
        click.echo(f"{rival.name:<10} {rival.mean:>12.2f}")
    click.echo(f'\nreplay it: tracehouse replay {source} --policy "{found.formula}"')


def _seeds(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--seeds {text!r}: expected whole numbers with commas between, such as 1,2,3") from None
    if min(found) < 0 or len(set(found)) < len(found):
        raise ValueError(f"--seeds {text!r}: expected different numbers from 0 on")
    return found
