"""Training on many workers, and of populations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.scheduling.options import PopulationOptions, Recipe, WorkerOptions
from tracehouse.learning.settings import TrainingSettings

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
