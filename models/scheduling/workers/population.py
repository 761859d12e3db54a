"""Population-based training (Jaderberg et al. 2017): the worst members go on from a copy of a better one, with other hyper-parameters.

All workers train one member after another. Members see the same windows, so that their costs can be compared. Every draw depends on
(seed, generation, member) alone. Without `exploit` it is a random search with the same budget, as Ray Tune does by default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from models.scheduling.learning.checkpoint import train_epochs, weights_from_tensors, weights_to_tensors
from models.scheduling.learning.training import EpochReport, TrainedPolicy
from models.scheduling.options import PopulationOptions
from models.scheduling.workers.decentralised_ppo import CheckpointOfWorkers, Session, WorkerTask, parameters_of
from models.scheduling.workers.groups import Workers

RANGES: dict[str, tuple[float, float]] = {
    "policy_rate": (1e-4, 3e-2),
    "entropy_bonus": (0.0, 0.03),
    "minibatch": (512, 16384),
}
"""Where hyper-parameters are drawn from. The paper says which they are (section 4.5), and not from where."""
FACTORS = (0.8, 1.2)
RESAMPLED = 0.25
"""How often a copied hyper-parameter is drawn again, instead of multiplied by one of FACTORS."""


@dataclass
class Member:
    """One policy of a population, between two generations. parent: whose weights it went on from, None in the first generation."""

    hyper: dict[str, float]
    parent: int | None
    learner: dict[str, Any] | None = None  # None before its first epoch
    cost: float = math.inf


@dataclass
class Population:
    """A training so far. rows: of the lineage, one per member and generation. stops: as in decentralised_ppo.Stops. curve: one report
    per generation."""

    members: list[Member]
    rows: list[dict[str, Any]] = field(default_factory=list)
    stops: dict[str, list[int]] = field(default_factory=dict)
    curve: list[EpochReport] = field(default_factory=list)
    best_cost: float = math.inf
    best_generation: int = 0
    best_weights: list[Any] = field(default_factory=list)

    def to_state(self) -> dict[str, Any]:
        """As models.scheduling.learning.checkpoint.save_checkpoint writes it."""
        state = {
            name: getattr(self, name) for name in ("rows", "stops", "best_cost", "best_generation", "best_weights")
        }
        members = [dict(vars(member)) for member in self.members]
        return state | {"members": members, "curve": [dict(vars(report)) for report in self.curve]}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Population:
        """The inverse of `to_state`."""
        members = [Member(**member) for member in state["members"]]
        return cls(**state | {"members": members, "curve": [EpochReport(**report) for report in state["curve"]]})


def train_population(
    workers: Workers,
    task: WorkerTask,
    on_generation: Callable[[EpochReport], None] = lambda report: None,
    checkpoint: Path | None = None,
) -> TrainedPolicy:
    """Trains a population on all workers, and returns the member and generation that cost least on what chooses.

    on_generation: called by worker 0 after every generation, with its sums and the least cost. checkpoint: as in
    decentralised_ppo.train_by_ddppo, written after every member's generation. The policy's parameters hold the lineage. Raises
    ValueError as `train_by_ddppo` does.
    """
    options = task.population or PopulationOptions()
    trainee = _Generations(workers, task, options)
    kept = CheckpointOfWorkers(workers, checkpoint, task.fingerprint())

    def on_turn(row: dict[str, Any]) -> None:
        if row["member"] == options.members - 1:
            on_generation(trainee.population.curve[row["generation"] - 1])

    turns = -(-task.options.epochs // options.interval) * options.members
    train_epochs(trainee, turns, kept, on_turn if workers.rank == 0 else lambda row: None)
    return trained_population(task, trainee.population)


class _Generations:
    """A population whose members take turns. population: set by `begin` and `load_state`."""

    population: Population

    def __init__(self, workers: Workers, task: WorkerTask, options: PopulationOptions) -> None:
        self._workers, self._task, self._options = workers, task, options
        self._session: Session | None = None

    @property
    def curve(self) -> list[dict[str, Any]]:
        """The lineage: one row a turn."""
        return self.population.rows

    def begin(self) -> None:
        """Members with their first hyper-parameters."""
        self.population = first_population(self._task, self._options)

    def run_epoch(self, turn: int) -> dict[str, Any]:
        """One generation of one member."""
        task, options, population = self._task, self._options, self.population
        generation, number = (turn - 1) // options.members + 1, (turn - 1) % options.members
        if number == 0 and generation > 1 and options.exploit:
            population.members = next_generation(population.members, options, task.seed, generation)
        elif number == 0 and generation > 1:
            for k, member in enumerate(population.members):
                member.parent = k
        member = population.members[number]
        settings = task.options.model_copy(update=_settings(member.hyper))
        session = Session(self._workers, task, settings, f"{generation} {number} ", self._session)
        session.stops.update(population.stops)
        reports = _train_member(session, member, generation, options, task.options.epochs)
        population.stops, self._session = session.stops, session
        _note(population, session, generation, number, reports)
        if number == options.members - 1:
            population.curve.append(_summary(population, generation, options.members))
        return population.rows[-1]

    def to_state(self) -> dict[str, Any]:
        """The population."""
        return self.population.to_state()

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        self.population = Population.from_state(state)


def trained_population(task: WorkerTask, population: Population) -> TrainedPolicy:
    """The best member, with the lineage of all in its parameters."""
    options = task.population or PopulationOptions()
    lineage = {"population": options.model_dump(), "lineage": population.rows}
    weights = weights_from_tensors(population.best_weights)
    parameters = parameters_of(task, population.stops) | lineage
    return TrainedPolicy(weights, population.best_generation, population.best_cost, population.curve, parameters)


def first_population(task: WorkerTask, options: PopulationOptions) -> Population:
    """Members with drawn hyper-parameters, or with the task's. Raises ValueError where these cannot be tuned."""
    if task.options.minibatch == 0 and not options.drawn:
        raise ValueError(
            "a population tunes the size of minibatches, and minibatch 0 takes all decisions: give it a size"
        )
    own = {name: float(getattr(task.options, name)) for name in RANGES}
    members = []
    for number in range(options.members):
        rng = np.random.default_rng([task.seed, 0, number])
        members.append(Member({name: _draw(rng, name) for name in RANGES} if options.drawn else dict(own), None))
    return Population(members)


def next_generation(members: Sequence[Member], options: PopulationOptions, seed: int, generation: int) -> list[Member]:
    """The members of a generation from those of the one before: the worst have copied one of the best, the others go on."""
    order = np.argsort([member.cost for member in members], kind="stable")
    best, worst = order[: options.replaced].tolist(), set(order[-options.replaced :].tolist())
    following = []
    for number, member in enumerate(members):
        if number not in worst:
            following.append(Member(member.hyper, number, member.learner, member.cost))
            continue
        rng = np.random.default_rng([seed, generation, number])
        source = best[int(rng.integers(len(best)))]
        hyper = {name: _explore(rng, name, value) for name, value in members[source].hyper.items()}
        following.append(Member(hyper, source, members[source].learner, members[source].cost))
    return following


def _draw(rng: np.random.Generator, name: str) -> float:
    """Evenly by its logarithm where the range does not begin at 0."""
    low, high = RANGES[name]
    return float(np.exp(rng.uniform(np.log(low), np.log(high))) if low > 0 else rng.uniform(low, high))


def _explore(rng: np.random.Generator, name: str, value: float) -> float:
    low, high = RANGES[name]
    drawn, factor = _draw(rng, name), FACTORS[int(rng.integers(2))]
    return drawn if rng.random() < RESAMPLED else float(np.clip(value * factor, low, high))


def _settings(hyper: dict[str, float]) -> dict[str, Any]:
    """Hyper-parameters as PPOOptions has them."""
    return hyper | {"minibatch": round(hyper["minibatch"])}


def _train_member(
    session: Session, member: Member, generation: int, options: PopulationOptions, epochs: int
) -> list[EpochReport]:
    """Trains a member for one generation. Its state and cost are those behind it."""
    workers, learner = session.workers, session.learner
    learner.load_state(member.learner or workers.share(learner.to_state()))
    first = (generation - 1) * options.interval + 1
    last = min(generation * options.interval, epochs)
    reports = [session.run_epoch(epoch, judged=epoch == last) for epoch in range(first, last + 1)]
    member.learner = deepcopy(learner.to_state())  # further steps change what it refers to
    assert reports[-1].validation_cost is not None
    member.cost = reports[-1].validation_cost
    return reports


def _note(population: Population, session: Session, generation: int, number: int, reports: list[EpochReport]) -> None:
    """Writes a member's generation into the lineage, and keeps its policy if none was better."""
    member = population.members[number]
    population.rows.append(
        {
            "generation": generation,
            "member": number,
            "parent": member.parent,
            **member.hyper,
            "cost": member.cost,
            "decisions": sum(report.decisions for report in reports),
            "updates": sum(report.updates for report in reports),
            "sampled_cost": float(np.mean([report.sampled_cost for report in reports])),
            "approx_kl": reports[-1].approx_kl,
            "entropy": reports[-1].entropy,
        }
    )
    if member.cost < population.best_cost:
        population.best_cost, population.best_generation = member.cost, generation
        population.best_weights = weights_to_tensors(session.learner.weights())


def _summary(population: Population, generation: int, members: int) -> EpochReport:
    rows = population.rows[-members:]
    decisions, updates = (sum(row[name] for row in rows) for name in ("decisions", "updates"))
    sampled, kl, entropy = (
        float(np.mean([row[name] for row in rows])) for name in ("sampled_cost", "approx_kl", "entropy")
    )
    least = min(row["cost"] for row in rows)
    return EpochReport(generation, "all", decisions, sampled, least, kl, entropy, updates)
