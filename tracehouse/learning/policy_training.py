"""Trains a scheduling policy and judges it, for `tracehouse train` and for Python."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets.common.progress import progress_bar, say_if_slow
from assets.common.storage import open_warehouse
from assets.common.trace import Trace, load_clock
from assets.common.writing.locks import works_on
from assets.common.writing.outputs import check_file, refuse_binary_on_terminal, write_output
from assets.policies.settings import TrainingSettings
from assets.replaying.running.loading import (
    catalogue_source,
    check_log_estimates,
    is_loaded,
    is_path,
    load_any_trace,
    log_source,
)
from assets.replaying.running.settings import RunSettings
from assets.replaying.site import site_of
from models.scheduling.options import AGENT_PPO, PAPER_PPO, PopulationOptions, Recipe, WorkerOptions
from tracehouse.text.training_text import ITS_RULE, THIS_POLICY
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import described_as

if TYPE_CHECKING:
    from models.scheduling.learning.recipes import PPOTraining

_NAMES = ("workers", "launcher", "torchrun", "sync_fraction", "backlogs", "population", "interval", "repeat")


def training_by_ppo(settings: TrainingSettings) -> PPOTraining:
    """How PPO is done. Raises ValueError where settings contradict each other or the method."""
    from models.scheduling.learning.ppo import train_by_ppo

    given: dict[str, Any] = settings.model_dump(include=set(_NAMES), exclude_none=True)
    if not given:
        return train_by_ppo
    from models.scheduling.workers.launching import OnWorkers
    from simulator.policies.registry import parse_policy

    if settings.method != "ppo":
        raise ValueError(f"--{_option(next(iter(given)))} is about ppo: leave --method {settings.method} out")
    if "workers" not in given and "population" not in given:
        raise ValueError(f"--{_option(next(iter(given)))} is about many workers: give --workers, too")
    if "interval" in given and "population" not in given:
        raise ValueError("--interval is about populations: give --population, too")
    if "population" in given and settings.minibatch is not None:
        raise ValueError("--population tunes the size of minibatches: leave --minibatch out")
    if "torchrun" in given and given.get("launcher") == "ray":
        raise ValueError("--torchrun starts workers, and so does --launcher ray: leave one of them out")
    if "backlogs" in given:
        parse_policy(given["backlogs"])
    names = {
        "workers": "workers",
        "launcher": "launcher",
        "sync_fraction": "sync_fraction",
        "backlogs": "backlog_policy",
    }
    workers = WorkerOptions(**{names[name]: given[name] for name in names if name in given})
    population = None
    if "population" in given:
        members = given["population"]
        interval = {"interval": given["interval"]} if "interval" in given else {}
        population = PopulationOptions(members=members, replaced=max(members // 4, 1), **interval)
    repeated = _stops(given["repeat"], workers.workers) if "repeat" in given else {}
    return OnWorkers(workers, population, given.get("torchrun"), repeated=repeated)


def with_sizes(recipe: Recipe, trajectories: int | None = None, minibatch: int | None = None) -> Recipe:
    """The recipe with so many windows in an epoch and decisions in a step. Raises ValueError for a method other than ppo, and where
    siblings do not divide the windows."""
    given = {"trajectories": trajectories, "minibatch": minibatch}
    asked = {name: value for name, value in given.items() if value is not None}
    if not asked:
        return recipe
    if recipe.method != "ppo":
        raise ValueError(f"--{next(iter(asked))} is about ppo: leave --method {recipe.method} out")
    siblings = recipe.ppo.siblings
    if trajectories is not None and trajectories % siblings:
        raise ValueError(
            f"--trajectories {trajectories}: expected a multiple of {siblings}, the siblings of each window"
        )
    return recipe.model_copy(update={"ppo": recipe.ppo.model_copy(update=asked)})


def reports_of(recipe: Recipe, by_ppo: PPOTraining) -> int:
    """How many reports of progress a training gives."""
    population: PopulationOptions | None = getattr(by_ppo, "population", None)
    return recipe.epochs if population is None else -(-recipe.epochs // population.interval)


def _option(name: str) -> str:
    return name.replace("_", "-")


def _stops(path: Path, workers: int) -> dict[str, list[int]]:
    """Where the workers of an earlier training stopped. Raises ValueError for a policy of another training, or of other workers."""
    from models.scheduling.policy_file import load_policy

    parameters = load_policy(path)[1].get("parameters", {})
    if "families_done" not in parameters:
        raise ValueError(f"{path}: not trained on many workers, so there is nothing to repeat: give a policy that was")
    if parameters["workers"]["workers"] != workers:
        raise ValueError(
            f"{path}: trained on {parameters['workers']['workers']} workers: give --workers with that number"
        )
    stops: dict[str, list[int]] = parameters["families_done"]
    return stops


if TYPE_CHECKING:
    from assets.policies.training import TrainingSetup
    from assets.policies.verdicts import JudgedRules
    from models.scheduling.learning.recipes import PPOTraining
    from models.scheduling.learning.training import EpochReport
    from models.scheduling.learning.training_run import JudgedPolicy
    from tracehouse.logs import Log

COMPARED_HEURISTICS = ("FCFS", "SJF", "SAF", "F1")
"""Policies that a trained policy is compared with, by the goal."""
LEARNED = {
    "backfilling": ("pick:by=shortest,window=64-63", "FCFS", "picking"),
    "inspector": ("inspect:accept", "SJF", "inspecting"),
}
"""By what an agent learns: the default agent, the policy beside it, and what its network reads."""
_STAYS = "the champion, which is trained over a row of processors, stays: train with --cluster '' to challenge it"
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


@dataclass(frozen=True)
class JobsToTrain:
    """given: the source or the path of the log, as the user wrote it. is_loaded: whether it is a source of the warehouse.
    cluster: under whose Slurm the training is, None over a row of processors."""

    given: str
    trace: Trace
    is_loaded: bool
    cluster: str | None = None

    @property
    def short_name(self) -> str:
        """For the name of a policy file."""
        name = self.trace.source
        return name if self.is_loaded else name.partition(".")[0] or name


@dataclass(frozen=True)
class TrainingResult:
    """The best policy of all seeds, and how good it is. path: of its file. key: formula of the best priority key. costs: of the goal, by
    policy, on the jobs that judge. judged: verdicts, None where the rules allow none. happened: to the champion of the
    source, None where there can be none: a log by its path, or other rules than the standard ones."""

    jobs: JobsToTrain
    setup: TrainingSetup
    best: JudgedPolicy
    path: Path
    card: dict[str, Any]
    key: str
    costs: dict[str, float]
    judged: JudgedRules | None
    happened: str | None


def read_jobs(log_or_source: str, asked: TrainingSettings, log: Log | None = None) -> JobsToTrain:
    """The jobs of a log (an existing path) or of a source. log: where they have been read already. Raises LogError, CatalogueError or
    ValueError with the remedy."""
    from assets.replaying.own.slurm.training import run_settings_on_slurm
    from tracehouse.replaying import warn_of_peak

    settings, is_log = RunSettings(estimates=asked.estimates), is_path(log_or_source)
    cluster = cluster_to_train_on(log_or_source, asked)
    if cluster is not None:
        settings = run_settings_on_slurm(cluster)
    trace = None if log is None else log.trace(labels=settings.labels)
    if is_log:
        check_log_estimates(Path(log_or_source), settings)
    source = log_source(Path(log_or_source)) if is_log else catalogue_source(log_or_source)
    if trace is None:
        with say_if_slow(f"reading {log_or_source}"):
            trace = load_any_trace(source, settings, not is_log, settings.labels)
        if is_log:
            warn_of_peak(trace.cluster_procs, trace.cluster_procs_from)
    return JobsToTrain(log_or_source, trace, not is_log and is_loaded(source.name), cluster)


def cluster_to_train_on(source: str, settings: TrainingSettings) -> str | None:
    """Under whose Slurm a training is: that of the cluster which the settings name, else the source's own where it has a rule for all that
    the settings say. None for a row of processors, which an empty name asks for. Raises ValueError for a named cluster without such a
    rule."""
    from assets.replaying.own.slurm.training import refused_on_slurm

    if settings.cluster:
        if refused := refused_on_slurm(settings):
            raise ValueError(f"a training with --cluster {refused}")
        return settings.cluster
    own = site_of(source).scheduler
    if settings.cluster is not None or own.policy != "slurm" or own.described is None or refused_on_slurm(settings):
        return None
    return described_as(load_catalogue().sources[source], own.described)


def train_policy(jobs: JobsToTrain, settings: TrainingSettings, out: Path | None, plot: Path | None) -> TrainingResult:
    """Trains a policy per seed, writes the file of the best one, and compares it with others on later jobs.

    What is trained on a source in the warehouse challenges its champion. Raises ValueError with the remedy.
    """
    from assets.policies.training import PolicyTask, TrainingSetup, split_of
    from assets.replaying.own.slurm.training import setup_on_slurm
    from models.scheduling.learning.training_run import best_by_validation
    from models.scheduling.policy_file import policy_to_bytes
    from models.scheduling.workers.launching import forget

    seeds, accept_trade = list(settings.seeds), settings.accept_trade
    decides = _agent(settings)
    by_ppo = training_by_ppo(settings)
    recipe = with_sizes(_recipe(settings), settings.trajectories, settings.minibatch)
    task = PolicyTask(
        **settings.model_dump(include={"goal", "backfill", "estimates", "rules", "window_jobs"}),
        **decides,
        cluster=jobs.cluster,
    )
    make_setup = TrainingSetup.on_split if task.cluster is None else setup_on_slurm
    with say_if_slow("looking for windows to learn from"):
        setup = make_setup(jobs.trace, task, split_of(jobs.trace, task.window_jobs))
    learned = recipe.method if settings.learn == "order" else settings.learn
    path = _path_of(out or Path(f"{jobs.short_name}-{learned}.json"), plot)
    policies = _train(setup, recipe, seeds, path, plot, by_ppo)
    best = best_by_validation(policies)
    with say_if_slow("comparing it with other policies on later jobs"):
        key, costs = _rivals(setup, policies, best)
    judged = _judged(setup, best, key) if setup.task.rules == "standard" else None
    words = {name: str(each.verdict) for name, each in judged.judgements.items()} if judged else {}
    names = FILE_CARD if task.cluster is None else (*FILE_CARD, "cluster")
    card = setup.card(best, names, unseen_costs=costs, verdicts=words)
    write_output(path, policy_to_bytes(best.trained.weights, card, setup.task.agent))
    happened = None
    if jobs.is_loaded and task.rules == "standard":
        happened = _STAYS if task.cluster is not None else _adopt(setup, policies, accept_trade)
    for seed in seeds:
        forget(_checkpoint_of(path, seed))
    return TrainingResult(jobs, setup, best, path, card, key, costs, judged, happened)


def _adopt(setup: TrainingSetup, policies: list[JudgedPolicy], accept_trade: bool) -> str:
    """What was trained challenges the champion of its kind. Returns what happened to that. A policy that orders the queue leaves one alone
    that is for something else, which the pipeline trains for. Raises ValueError where the source is gone."""
    from assets.policies.adoption import adopt, other_task_of_champion

    warehouse = open_warehouse()
    with works_on(setup.trace.source):
        load_clock(warehouse, setup.trace.source)
        other = None if setup.arena.agent else other_task_of_champion(warehouse, setup)
        if other is not None:
            asked = " ".join(f"--{name} {value}" for name, value in other.items())
            return f"the champion is for something else and stays: train with {asked} to challenge it"
        return adopt(warehouse, setup, policies, accept_trade)[2]


def _agent(settings: TrainingSettings) -> dict[str, Any]:
    """What is learned, as a PolicyTask has it. Raises ValueError for an agent of another kind, and for options that do not apply to it."""
    from simulator.policies.agents import agent_text, parse_agent

    learn, agent, policy = settings.learn, settings.agent, settings.policy
    if learn == "order":
        if agent is not None or policy is not None:
            raise ValueError("--agent and --policy are for agents: also give --learn backfilling or inspector")
        return {}
    if settings.rules != "standard":
        raise ValueError(
            f"--learn {learn} follows the standard rules: leave --rules out. Inspectors by the rules of their paper are in "
            "experiments/inspector"
        )
    if learn == "backfilling" and settings.backfill != "easy":
        raise ValueError("--learn backfilling decides itself what is backfilled: leave --backfill out, and see --agent")
    usual, base, _ = LEARNED[learn]
    if agent is not None and agent.partition(":")[0].strip().lower() != usual.partition(":")[0]:
        raise ValueError(f"--agent {agent!r}: --learn {learn} expects {usual.partition(':')[0]}:..., such as {usual}")
    return {"agent": agent_text(parse_agent(agent or usual)), "base": policy or base}


def _recipe(settings: TrainingSettings) -> Recipe:
    """How the policies are learned. Raises ValueError where the options contradict each other."""
    from models.scheduling.goals import parse_goal
    from models.scheduling.rewards import comes_on_the_way

    learn, method, paper = settings.learn, settings.method, settings.paper
    orders = learn == "order"
    usual: tuple[Any, Any] = ("plain", "saf") if orders else (LEARNED[learn][2], "rule")
    if settings.start == "program":
        usual = ("program", "program")
    recipe = Recipe(method=method, start="nothing" if paper else settings.start or usual[1])
    plain = (
        PAPER_PPO if paper else recipe.ppo if orders or not comes_on_the_way(parse_goal(settings.goal)) else AGENT_PPO
    )
    recipe.ppo = plain if paper else plain.model_copy(update={"layout": settings.layout or usual[0]})
    if paper and (method != "ppo" or not orders):
        raise ValueError("--paper is for ppo that orders the queue: leave --method and --learn out")
    recipe = recipe.with_epochs(settings.epochs) if settings.epochs else recipe
    return recipe.model_copy(update={"accept_trade": settings.accept_trade})


def _train(
    setup: TrainingSetup, recipe: Recipe, seeds: list[int], path: Path, plot: Path | None, by_ppo: PPOTraining
) -> list[JudgedPolicy]:
    """A policy per seed, with a progress bar and, if the user wants one, a picture that is drawn again after every epoch. Raises
    ValueError where workers have ended."""
    from assets.policies.training import draw_training
    from models.scheduling.workers.launching import TrainingStopped

    curves: list[dict[str, Any]] = []
    steps = reports_of(recipe, by_ppo) * len(seeds)
    with progress_bar(f"training {setup.trace.source}: before the first epoch", steps) as bar:

        def on_epoch(seed: int, report: EpochReport) -> None:
            cost = "" if report.validation_cost is None else f", {setup.task.goal} {report.validation_cost:,.4g}"
            bar.describe(f"training {setup.trace.source}: seed {seed}, epoch {report.epoch} of {recipe.epochs}{cost}")
            bar.update()
            curves.append({"seed": seed} | asdict(report))
            if plot and report.validation_cost is not None:
                draw_training(plot, curves, setup.task.goal)

        try:
            return list(setup.train(recipe, seeds, on_epoch, lambda seed: _checkpoint_of(path, seed), by_ppo, True))
        except TrainingStopped as error:
            raise ValueError(str(error)) from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the same command goes on from there") from None


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
    from models.scheduling.search.priority_key import search_guarded_key, searched_jobs
    from models.scheduling.slurm_arena import OWN
    from simulator.policies.registry import assisted

    arena, judging = setup.arena, setup.judging
    key = search_guarded_key(arena.on_processors, searched_jobs(setup.trained_jobs), best.recipe.key, 1).best
    names = COMPARED_HEURISTICS if setup.task.cluster is None else (OWN, *COMPARED_HEURISTICS)
    costs = {name: float(arena.costs(name, judging).mean()) for name in names}
    if arena.agent is not None:
        costs[ITS_RULE] = float(arena.costs(assisted(arena.base, arena.agent), judging).mean())
    costs["key"] = float(arena.costs(key.policy, judging).mean())
    costs[f"{best.recipe.method}, all seeds"] = sum(float(each.costs.mean()) for each in policies) / len(policies)
    costs[THIS_POLICY] = float(best.costs.mean())
    return key.formula, costs


def _judged(setup: TrainingSetup, best: JudgedPolicy, key: str) -> JudgedRules:
    """The policy and its rivals on one replay of the whole log, over the jobs after those that training was open to."""
    from assets.policies.verdicts import JudgedRule, judge_rules, rivals_with
    from assets.replaying.own.slurm.training import judged_on_slurm

    task, agent = setup.task, setup.arena.agent
    ours, weights = [JudgedRule("key", key, task.backfill, task.estimates)], best.trained.weights
    if agent is None:
        ours.append(JudgedRule(THIS_POLICY, "learned", task.backfill, task.estimates, weights=weights))
    else:
        ours.append(JudgedRule(ITS_RULE, task.base, task.backfill, task.estimates, agent=agent))
        ours.append(JudgedRule(THIS_POLICY, task.base, task.backfill, task.estimates, agent=agent.learned(weights)))
    if task.cluster is not None:
        return judged_on_slurm(setup, ours)
    return judge_rules(setup.trace, (*rivals_with(task.estimates), *ours), setup.trained_jobs)
