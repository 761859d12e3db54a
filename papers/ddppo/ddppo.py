"""The asset experiments/ddppo: policies by decentralised PPO on a large log, with and without tuning (Sgambati et al. 2025)."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table
from assets.common.progress import progress_bar
from assets.common.trace import Trace, load_trace
from assets.core.jobs import jobs
from assets.policies.config import text_field
from assets.policies.population import MembersConfig, PopulationPPOConfig
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task, store_policy
from assets.policies.workers import WorkersConfig, checkpoint_file, on_workers
from models.scheduling.arena import Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.learning.training_run import JudgedPolicy
from models.scheduling.options import PopulationOptions, PPOOptions, Recipe
from models.scheduling.workers.launching import OnWorkers, forget
from models.scheduling.workers.task_folder import map_jobs
from papers.ddppo.plots import reward_curves
from papers.experiment_tables import EXPERIMENT_CARD, store_curves, store_trained
from warehouse import Warehouse


class Variant(NamedTuple):
    """A way to learn. tuned: how a population is, or None for one training. ppo, workers: what differs from the configuration."""

    tuned: dict[str, bool] | None = None
    ppo: dict[str, Any] = {}
    workers: dict[str, Any] = {}


PUBLISHED = Variant(
    {"drawn": True, "exploit": True},
    {"reward": "plain", "baseline": "critic", "siblings": 1, "critic_layers": [64, 32, 8], "gae_lambda": 0.95},
    {"workers": 2, "sync_fraction": 0.4},
)
"""DD-PPO as its paper has it. The worker that has finished its windows stops the other, so two trainings differ. Wijmans et al. stop
the others when more than 60 % have finished, which never happens with two."""
VARIANTS = {
    "population": Variant({"drawn": True, "exploit": True}),
    "without PBT": Variant({"drawn": True, "exploit": False}),
    "without FT": Variant({"drawn": False, "exploit": True}),
    "ppo": Variant(),
    "dd-ppo": PUBLISHED,
}
"""What tunes hyper-parameters: FT draws those that training begins with, PBT copies and changes them between generations. PPO has those of
the options, and as many epochs as all members together. The number of workers changes no policy of these four."""
SHARE_THAT_CHOOSES = 0.2
"""Last share of the jobs that are learned from, whose windows choose."""
WINDOWS_THAT_CHOOSE = 64


class DDPPOConfig(dg.Config):
    goals: list[str] = Field(
        default=["bsld", "wait", "turnaround", "utilisation"], min_length=1, description="One policy for each"
    )
    variants: list[str] = Field(default=list(VARIANTS), description=", ".join(VARIANTS))
    seeds: list[int] = Field(default=[1, 2, 3, 4, 5], min_length=1, description="Training seeds")
    jobs: int = Field(default=0, ge=0, description="First jobs of the log that are learned from; 0 for all")
    window_jobs: int = Field(default=256, ge=32, description="Jobs in a window of training")
    backfill: str = Field(default="easy", description="Backfilling rule")
    start: str = text_field(Recipe, "start", default="nothing")
    workers: WorkersConfig = WorkersConfig(workers=2, backlog_policy="FCFS")
    population: MembersConfig = MembersConfig()
    ppo: PopulationPPOConfig = PopulationPPOConfig(epochs=20, trajectories=256)


@asset("experiments.ddppo", deps=[jobs], table="experiments.policies", kinds={"pytorch", "numba"})
def ddppo(
    context: dg.AssetExecutionContext, config: DDPPOConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Policies for four goals, learned from one log on many workers: tuned by population-based training, by a random search, by both and
    by neither, at equal decisions. `ddppo_transfer` judges them on logs that they have not seen."""
    source = context.partition_key
    setups, jobs_folder = _setups(load_trace(warehouse, source), config)
    recipe = Recipe(start=config.start, cautious=False, ppo=PPOOptions(**config.ppo.model_dump()))  # type: ignore[arg-type]
    rows: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    checkpoints: list[Path] = []  # of finished trainings, too: a run that is killed goes on behind the last of them
    steps = [(goal, variant, seed) for goal in config.goals for variant in config.variants for seed in config.seeds]
    with progress_bar(f"dd-ppo on {source}", len(steps)) as bar:
        for goal, variant, seed in steps:
            setup = setups[goal]
            checkpoint = checkpoint_file(config.workers, source, f"ddppo-{goal}-{variant}-{seed}".replace(" ", "_"))
            by_ppo, asked = training_of(variant, config, recipe, context)
            (policy,) = setup.train(asked, [seed], checkpoint_of=dict.fromkeys([seed], checkpoint).get, by_ppo=by_ppo)
            rows.append(_stored(setup, policy, variant))
            curves += [_report_row(f"ddppo, {goal}", variant, seed, report) for report in policy.trained.curve]
            checkpoints.append(checkpoint)
            context.log.info(f"{goal}, {variant}, seed {seed}: {policy.trained.validation_cost:.4g}")
            bar.update()
    store_trained(warehouse, source, "ddppo", pl.DataFrame(rows, infer_schema_length=None))
    learned = pl.DataFrame(curves, infer_schema_length=None)
    store_curves(warehouse, source, learned, ["experiment", "variant", "seed"])
    for checkpoint in checkpoints:
        forget(checkpoint)
    shutil.rmtree(jobs_folder)
    shown = pl.DataFrame(rows).select("goal", "policy", "seed", "best_epoch", "validation_cost")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(rows),
            "policies": table(shown),
            "reward": plot(reward_curves(learned)),
        }
    )


def _setups(trace: Trace, config: DDPPOConfig) -> tuple[dict[str, TrainingSetup], Path]:
    """By goal, what is learned from, and the folder that the jobs are mapped from. Of a log of millions of jobs this process then keeps
    nothing in memory beside its workers, which map the same files."""
    first = setup_of(trace, PolicyTask(config.goals[0], config.backfill, window_jobs=config.window_jobs), config.jobs)
    folder = checkpoint_file(config.workers, trace.source, "ddppo").with_suffix(".jobs")
    arena = replace(first.arena, jobs=map_jobs(folder, first.arena.jobs))
    without_rows = replace(trace, rows=trace.rows.clear())
    setups = {
        goal: replace(
            first, trace=without_rows, task=replace(first.task, goal=goal), arena=replace(arena, goal=parse_goal(goal))
        )
        for goal in config.goals
    }
    return setups, folder


def setup_of(trace: Trace, task: PolicyTask, most: int) -> TrainingSetup:
    """Windows over all jobs to learn from, the last fifth of which choose. most: how many jobs, 0 for all. Raises ValueError where they
    are too few for a window of each."""
    arena = arena_of_task(trace, task)
    count = min(most, len(arena.jobs)) if most else len(arena.jobs)
    try:
        lessons = lessons_from_part(range(count), task.window_jobs)
    except ValueError as error:
        raise ValueError(f"{trace.source}: {error}") from None
    return TrainingSetup(trace, task, arena, lessons, lessons.validation, count)


def lessons_from_part(part: range, window_jobs: int) -> Lessons:
    """Windows over a part of a log, the last fifth of which choose. part: positions of its jobs. Raises ValueError where they are too few
    for a window of each."""
    learned = part.start + int((1 - SHARE_THAT_CHOOSES) * len(part))
    if min(learned - part.start, part.stop - learned) < 2 * window_jobs:
        raise ValueError(
            f"{len(part)} jobs are too few to learn from in windows of {window_jobs}: give smaller windows"
        )
    windows = Windows.spread(part.start, learned, window_jobs, max((learned - part.start) // window_jobs, 1))
    choose = Windows.spread(learned, part.stop - window_jobs, window_jobs, WINDOWS_THAT_CHOOSE)
    return Lessons(windows, windows.taken(windows.first[:0]), choose, after=window_jobs)


def training_of(
    variant: str, config: DDPPOConfig, recipe: Recipe, context: dg.AssetExecutionContext
) -> tuple[OnWorkers, Recipe]:
    """How a variant is trained, and for how long. Raises ValueError for another name."""
    if variant not in VARIANTS:
        raise ValueError(f"unknown variant {variant!r}: expected one of {', '.join(VARIANTS)}")
    tuned, ppo, changed = VARIANTS[variant]
    members, workers = config.population.model_dump(), config.workers.model_copy(update=changed)
    if tuned is None:
        epochs = recipe.epochs * int(members["members"])
        return on_workers(context, workers), recipe.with_epochs(epochs)
    recipe = recipe.model_copy(update={"ppo": recipe.ppo.model_copy(update=ppo)})
    return on_workers(context, workers, PopulationOptions(**members | tuned)), recipe


def _report_row(experiment: str, variant: str, seed: int, report: EpochReport) -> dict[str, Any]:
    """A row of experiments.curves: an epoch, or a generation of a population."""
    names = ("epoch", "phase", "decisions", "sampled_cost", "validation_cost")
    return {"experiment": experiment, "variant": variant, "seed": seed} | {
        name: getattr(report, name) for name in names
    }


def _stored(setup: TrainingSetup, policy: JudgedPolicy, variant: str) -> dict[str, Any]:
    """The row of experiments.policies."""
    card = setup.card(policy, EXPERIMENT_CARD, experiment="ddppo", policy=variant)
    name = f"ddppo-{setup.task.goal}-{variant}-{policy.seed}".replace(" ", "_")
    row = {key: value for key, value in card.items() if key not in ("source", "parameters")}
    return row | store_policy(setup.trace.source, name, policy.trained.weights, card)
