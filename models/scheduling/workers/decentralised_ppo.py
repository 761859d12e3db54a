"""Decentralised distributed PPO (Wijmans et al. 2019, and for batch queues Sgambati et al. 2025). Every worker replays its own windows, and
all take the same steps. There is no server.

An epoch is that of models.scheduling.learning.ppo: one list of windows for all workers. Whole families are dealt to the workers in
turn, and sums are exact, so that the number of workers changes nothing but the speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.checkpoint import (
    BestKept,
    Checkpoint,
    TrainingProgress,
    fingerprint,
    read_checkpoint,
    train_epochs,
)
from models.scheduling.learning.ppo import rewards_of
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import PopulationOptions, PPOOptions, WorkerOptions
from models.scheduling.workers.groups import Workers
from models.scheduling.workers.rollouts import Beginnings, Share, roll_out, share_of
from models.scheduling.workers.worker_learner import Lesson, WorkerLearner, rounded
from simulator.policies.network import KernelWeights

Stops = Mapping[str, Sequence[int]]
"""How many families each worker did, by the name of each epoch in which one of them stopped early. An epoch's name is its number, and
in a population the numbers of generation, member and epoch."""
COST_GRID = 2.0**-20
"""What costs of windows are rounded to, so that their sum does not depend on the order."""


@dataclass(frozen=True)
class WorkerTask:
    """What all workers of one training are given. start: weights to begin with, None for random ones.

    repeated: epochs that stop where those of an earlier training stopped. population: how hyper-parameters are tuned, None for one
    policy with those of the options.
    """

    arena: Arena
    lessons: Lessons
    options: PPOOptions
    seed: int
    start: KernelWeights | None = None
    workers: WorkerOptions = field(default_factory=WorkerOptions)
    repeated: Stops = field(default_factory=dict)
    population: PopulationOptions | None = None

    def fingerprint(self) -> str:
        """Which training this is. The number of workers is no part of it: other numbers go on from the same checkpoint."""
        population = None if self.population is None else self.population.model_dump()
        settings = ["ddppo", self.options.model_dump(), self.workers.backlog_policy, population, self.seed]
        return fingerprint(self.arena, self.lessons, settings, self.start)


def train_by_ddppo(
    workers: Workers,
    task: WorkerTask,
    on_epoch: Callable[[EpochReport], None] = lambda report: None,
    checkpoint: Path | None = None,
) -> TrainedPolicy:
    """Trains one network on all workers. Each of them calls this with the same task, and returns the same policy.

    on_epoch: called by worker 0 after every epoch. checkpoint: a file of worker 0, written after every epoch. Training goes on from it,
    also on another number of workers. The policy's parameters name the epochs in which workers stopped early, and the
    families that each worker did then. Raises ValueError when training diverges, and for a checkpoint of another training.
    """
    trainee = _OnePolicy(Session(workers, task))
    kept = CheckpointOfWorkers(workers, checkpoint, task.fingerprint())
    train_epochs(trainee, task.options.epochs, kept, on_epoch if workers.rank == 0 else lambda report: None)
    return trainee.progress.trained(parameters_of(task, trainee.session.stops))


class CheckpointOfWorkers(Checkpoint):
    """A checkpoint that worker 0 reads and writes for all."""

    def __init__(self, workers: Workers, path: Path | None, training: str) -> None:
        super().__init__(path, training)
        self._workers = workers

    def load(self) -> dict[str, Any] | None:
        """The same state at all workers. Raises ValueError for one of another training."""
        state: dict[str, Any] | None = self._workers.share(state_at_first(self._workers, self.path, self.training))
        return state

    def keep(self, state: dict[str, Any]) -> None:
        """Written by worker 0."""
        if self._workers.rank == 0:
            super().keep(state)


class _OnePolicy(BestKept):
    """The session of a training of one policy."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def begin(self) -> None:
        """What training starts from counts as epoch 0 where it was learned before. All workers begin with the weights of worker 0."""
        session = self.session
        cost = np.inf if session.task.start is None else session.judged_cost()
        self.progress = TrainingProgress([], cost, 0, session.learner.weights())
        session.learner.load_state(session.workers.share(session.learner.to_state()))

    def run_epoch(self, epoch: int) -> EpochReport:
        """An epoch of all workers."""
        report = self.session.run_epoch(epoch)
        self.progress.report(report, self.session.learner.weights())
        return report

    def to_state(self) -> dict[str, Any]:
        """The best epoch so far, the learner, and where workers stopped early."""
        session = self.session
        return {
            "progress": self.progress.to_state(),
            "learner": session.learner.to_state(),
            "stops": session.stops,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        self.progress = TrainingProgress.from_state(state["progress"])
        self.session.stops.update(state["stops"])
        self.session.learner.load_state(state["learner"])


def parameters_of(task: WorkerTask, stops: Stops) -> dict[str, Any]:
    """What the card of a policy says of its training."""
    return task.options.model_dump() | {
        "seed": task.seed,
        "workers": task.workers.model_dump(include={"workers", "sync_fraction", "backlog_policy"}),
        "families_done": dict(stops),
    }


def state_at_first(workers: Workers, checkpoint: Path | None, training: str) -> dict[str, Any] | None:
    """The state of the checkpoint at worker 0, None elsewhere and where there is none. Raises ValueError for one of another training."""
    content = read_checkpoint(checkpoint) if workers.rank == 0 else None
    if content is None:
        return None
    if content["training"] != training:
        raise ValueError(
            f"{checkpoint}: the checkpoint of a training with other jobs, options or seed: remove it to train from the beginning, or "
            "give the options of that training"
        )
    state: dict[str, Any] = content["state"]
    return state


class Session:
    """One worker's part in the training of one policy."""

    def __init__(
        self,
        workers: Workers,
        task: WorkerTask,
        options: PPOOptions | None = None,
        name: str = "",
        before: Session | None = None,
    ) -> None:
        """options: default, the task's. name: of this policy among all that these workers train. before: the session of another policy,
        which drew the same windows."""
        self.workers, self.task, self.options = workers, task, options or task.options
        self.arena = replace(task.arena, threads=1)
        self.learner = WorkerLearner(workers, self.arena, self.options, task.seed, task.start)
        self.stops: dict[str, list[int]] = {} if before is None else before.stops
        self._name = name
        backlogs = task.workers.backlog_policy
        self._beginnings: Beginnings = (
            Beginnings(self.arena, task.lessons, backlogs, self._drawn) if before is None else before._beginnings
        )

    def judged_cost(self) -> float:
        """What the policy costs on what chooses, taking its best choice every time. All workers share the windows of this; a continuous
        replay is worker 0's."""
        windows = self._beginnings.of_validation(self.workers, self.learner.weights())
        costs = self.learner.validate(windows) if len(windows) else np.zeros(0)
        count, total = self.workers.add(np.array([len(costs), rounded(costs, COST_GRID).sum()], dtype=np.float64))
        return float(total / count)

    def run_epoch(self, epoch: int, judged: bool = True) -> EpochReport:
        """Replays this worker's share and takes the steps of all. The report has the cost of what chooses if it is `judged`. `stops`
        notes what each worker did where one stopped early."""
        task, options = self.task, self.options
        share, rng = self._share(epoch)
        share = replace(share, drawn=self._beginnings.of(epoch, share.drawn, self.learner.weights()))
        name = f"{self._name}{epoch}"
        repeated = task.repeated.get(name)
        weights = self.learner.weights()
        done, trajectories = roll_out(
            self.workers,
            name,
            share,
            lambda windows, seeds: self.arena.sample(weights, windows, seeds),
            task.workers.sync_fraction,
            None if repeated is None else repeated[self.workers.rank],
            len(self.learner.layout.inputs),
        )
        windows = done.drawn.taken(np.repeat(np.arange(len(done.family)), options.siblings))
        costs = self.arena.costs_of(windows, trajectories.start)
        rewards = rewards_of(self.arena, options, done.drawn, trajectories, costs)
        families = max(options.trajectories // options.siblings, 1)
        kl, entropy, updates = self.learner.update_together(Lesson(done.family, families, trajectories, rewards), rng)
        self.learner.check_equal()
        score = self.judged_cost() if judged else None
        decisions, cost, of_workers = self._counted(trajectories.decisions, costs, len(done.family))
        phase = "filtered" if self._is_filtered(epoch) else "all"
        mean = cost / max(sum(of_workers) * options.siblings, 1)
        if sum(of_workers) < families:
            self.stops[name] = of_workers
        return EpochReport(epoch, phase, decisions, mean, score, kl, entropy, updates)

    def _counted(self, decisions: int, costs: NDArray[np.float64], families: int) -> tuple[int, float, list[int]]:
        """Decisions and cost of all workers, and the families that each of them did."""
        own = np.zeros(2 + self.workers.size)
        own[:2] = decisions, rounded(costs, COST_GRID).sum()
        own[2 + self.workers.rank] = families
        total = self.workers.add(own)
        return int(total[0]), float(total[1]), [int(count) for count in total[2:]]

    def _is_filtered(self, epoch: int) -> bool:
        return epoch <= self.options.filtered_epochs and len(self.task.lessons.filtered) > 0

    def _share(self, epoch: int) -> tuple[Share, np.random.Generator]:
        """This worker's windows, without what they begin with, and the random numbers of the epoch behind their draws."""
        options, lessons = self.options, self.task.lessons
        rng = np.random.default_rng([self.task.seed, epoch])
        drawn = (lessons.filtered if self._is_filtered(epoch) else lessons.windows).some(
            rng, max(options.trajectories // options.siblings, 1)
        )
        seed = int(rng.integers(2**31))
        return share_of(self.workers.rank, self.workers.size, drawn, options.siblings, seed), rng

    def _drawn(self, epoch: int) -> Windows:
        return self._share(epoch)[0].drawn
