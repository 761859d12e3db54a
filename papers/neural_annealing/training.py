"""Training of the repair operator by PPO (Lan et al., 2023, section V-B5). Where the paper is silent: the options below.

Hyper-parameters of the repair operator's training, and how the paper is read where it leaves something open.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from models.allocation.neural.repair_networks import SEEN_NODES, RepairActorCritic, RepairNetworkName
from models.allocation.neural.repairing import FEATURES, LARGEST_JOB, RepairBatch, RepairProblem, repair_problem
from models.scheduling.learning.adam import Adam
from models.scheduling.learning.checkpoint import Checkpoint, train_epochs
from models.scheduling.learning.choices import clipped_choices
from simulator.topology.closed_loop import published_jobs, run_closed_loop, selecting
from simulator.topology.tree import SwitchTree

RepairVariant = Literal["paper", "code"]


class RepairOptions(BaseModel):
    """Defaults: sections V and VI-A of the paper.

    The two variants differ in what an agent sees and in what it is trained on.

    *paper*: four features a node (section V-B1). An episode places the one or two jobs that were removed from an assignment, the
    larger one first (sections V-A and V-B).
    *code*: the five features of the public code. An episode places all jobs of a window of at most two, in the order of the queue.

    How the paper is read where its text is open:

    1. Assignments to be destroyed come from the agent itself, as in its search. The first one of a window is sequential. Each later
       one is what the episode before has repaired (`window_episodes`). Every repair is kept.
    2. Windows come from the paper's workload with sequential placement, in epochs of 100 windows from an empty cluster. A seed of the
       training never gives the windows of a test.
    3. The "normalized identification" of a switch or pod is its number, from 0 on, over how many there are. The fourth feature is
       0 for the last job, where the formula is 0 / 0.
    4. The reward is minus the sum of costs of the placed jobs, where the text has "the inverse".
    5. Rates, gamma, 80 passes and the clip are the defaults of a public PPO that the numbers seem to come from. What the paper does
       not say is as there. Each pass takes all decisions of an update. Returns are scaled to mean 0 and variance 1 within an update.
       The advantage is return minus value. The critic's error has the weight 0.5 and the entropy 0.01. The optimiser is Adam, and
       layers begin as torch makes them.
    6. Tanh stands where Table II prints it: after the first convolution only.
    7. Unstated, and ours: windows and episodes of an update, and how many updates.

    `siblings` is no reading but our remedy. Costs differ much more between windows than between the choices in one, and a critic that
    sees a hundred nodes learns that slowly. Episodes from the same state tell what the choice was worth.
    """

    variant: RepairVariant = Field(default="paper", description="Features and episodes of the paper or of the code")
    network: RepairNetworkName = Field(default="CNN-3", description="Layers of actor and critic, Table II")
    integer: bool = Field(default=False, description="Costs of the public code: whole hops of pairs without order")
    seen_nodes: int = Field(default=SEEN_NODES, ge=14, description="Idle nodes that are seen and chosen from, q")
    largest: int = Field(default=LARGEST_JOB, ge=1, description="Nodes of the largest job, n_max")
    most_removed: int = Field(default=2, ge=1, description="Jobs that are removed at most, n^D")
    window_jobs: int | None = Field(
        default=None, ge=1, description="Jobs in a training window at most. None: any number, or 2 for the code"
    )
    update_windows: int = Field(default=16, ge=1, description="Windows that are played before an update")
    window_episodes: int = Field(default=8, ge=1, description="Episodes on each of them, one after another")
    siblings: int = Field(
        default=1,
        ge=1,
        description="Episodes that begin at the same state. With more than one, the mean of their returns replaces the critic",
    )
    updates: int = Field(default=100, ge=1, description="Updates of the training")
    passes: int = Field(default=80, ge=1, description="Gradient steps of an update, each over all its decisions")
    actor_rate: float = Field(default=3e-4, gt=0, description="Adam learning rate of the actor")
    critic_rate: float = Field(default=1e-3, gt=0, description="Adam learning rate of the critic")
    gamma: float = Field(default=0.99, gt=0, le=1, description="Discount of a decision")
    clip: float = Field(default=0.2, gt=0, description="Clip range of the probability ratio")
    entropy_weight: float = Field(default=0.01, ge=0, description="Weight of the entropy")
    value_weight: float = Field(default=0.5, gt=0, description="Weight of the critic's squared error")
    save_every: int = Field(default=10, ge=1, description="Updates after which an interrupted training goes on")

    def problem(self, tree: SwitchTree) -> RepairProblem:
        """What the agent sees, and what jobs cost, on this tree."""
        return repair_problem(tree, self.variant, self.integer, self.largest)

    @property
    def most_jobs(self) -> int | None:
        """Jobs in a training window at most; None is any number."""
        return self.window_jobs or (2 if self.variant == "code" else None)


# --- training


IntArray = NDArray[np.int64]

EPOCH_WINDOWS = 100
"""Windows from an empty cluster on, in training as in the tests of section VI-C."""
EPOCH_JOBS = 450
"""Jobs that arrive in an epoch: what 130 periods bring."""
TRAINING_STREAM, TEST_STREAM = 1, 2
"""First number of the seeds of windows: so no seed of a training has the windows of a test."""


@dataclass(frozen=True)
class RepairUpdate:
    """One update. episodes: trained so far. The rest is of the episodes just played, before the update.

    cost: mean of an episode, in hops. random_cost: the same where the first nodes are drawn with equal chances. kl: approximate
    divergence in the last pass. entropy: nats. value_error: mean squared error of the critic in the last pass, 0 with siblings.
    """

    episodes: int
    decisions: int
    cost: float
    random_cost: float
    kl: float
    entropy: float
    value_error: float


@dataclass(frozen=True)
class TrainedRepair:
    """A training of one seed: the networks at its end and the curve of its updates."""

    network: RepairActorCritic
    options: RepairOptions
    curve: list[RepairUpdate]


class RepairDecisions(NamedTuple):
    """Decisions of an update. All arrays have one row a decision; `returns` are discounted rewards until the episode's end."""

    seen: NDArray[np.float32]  # (decisions, features, seen_nodes)
    choices: IntArray
    action: IntArray
    log_prob: NDArray[np.float32]
    returns: NDArray[np.float64]
    group: IntArray  # which decisions siblings have taken at the same step


def train_repair(
    tree: SwitchTree,
    options: RepairOptions,
    seed: int,
    checkpoint: Path | None = None,
    on_update: Callable[[RepairUpdate], None] = lambda report: None,
) -> TrainedRepair:
    """Trains one repair operator on a cluster of this tree.

    checkpoint: a file that is written on the way. Training goes on from it where it is of the same training, and the result is the
    same as without an interruption. More updates than before go on from it, too. on_update: called for what the file has, and then
    for what is new. Same arguments and seed, same bytes. Raises ValueError when training diverges, and for a file with more updates
    than are asked for.
    """
    torch.set_num_threads(1)
    learner = RepairLearner(tree, options, seed)
    kept = Checkpoint(checkpoint, _fingerprint(tree, options, seed))
    train_epochs(learner, options.updates, kept, on_update, lambda update: update % options.save_every == 0)
    return TrainedRepair(learner.network, options, learner.curve)


class RepairLearner:
    """Networks and optimiser between two updates. curve: what was reported so far."""

    def __init__(self, tree: SwitchTree, options: RepairOptions, seed: int) -> None:
        self._options, self._seed, self._tree = options, seed, tree
        self._problem = options.problem(tree)
        torch.manual_seed(seed)
        self.network = RepairActorCritic(options.network, FEATURES[options.variant], options.seen_nodes)
        groups = [
            {"params": list(self.network.actor.parameters()), "lr": options.actor_rate},
            {"params": list(self.network.critic.parameters()), "lr": options.critic_rate},
        ]
        self._optimiser = Adam(groups)
        self._epoch: tuple[int, list[tuple[IntArray, IntArray]]] = (-1, [])
        self.curve: list[RepairUpdate] = []

    def begin(self) -> None:
        """Nothing comes before the first update."""

    def run_epoch(self, epoch: int) -> RepairUpdate:
        """Plays episodes and takes one update. Raises ValueError when training diverges."""
        options = self._options
        rng = np.random.default_rng([self._seed, epoch - 1])  # so that training can be continued
        first = (epoch - 1) * options.update_windows
        windows = [self._window(k) for k in range(first, first + options.update_windows)]
        played, cost, random_cost = play_repairs(
            self.network, RepairBatch(self._problem, windows, options.seen_nodes), options, rng
        )
        kl, entropy, value_error = self._update(played)
        if not np.isfinite(kl + value_error):
            raise ValueError(f"training with seed {self._seed} diverged by update {epoch}: lower the rates")
        episodes = epoch * options.update_windows * options.window_episodes * options.siblings
        self.curve.append(RepairUpdate(episodes, len(played.action), cost, random_cost, kl, entropy, value_error))
        return self.curve[-1]

    def _window(self, number: int) -> tuple[IntArray, IntArray]:
        epoch, at = divmod(number, EPOCH_WINDOWS)
        if self._epoch[0] != epoch:
            seed = epoch_seed(TRAINING_STREAM, self._seed, epoch)
            windows = epoch_windows(self._tree, seed, self._options.most_jobs, self._options.largest)
            self._epoch = epoch, windows
        return self._epoch[1][at]

    def _update(self, played: RepairDecisions) -> tuple[float, float, float]:
        """Clipped steps over all decisions. Returns KL divergence, entropy and squared value error in the last pass."""
        options = self._options
        seen, action, old = (torch.from_numpy(column) for column in (played.seen, played.action, played.log_prob))
        legal = torch.arange(options.seen_nodes)[None] < torch.from_numpy(played.choices)[:, None]
        returns = torch.from_numpy((played.returns - played.returns.mean()) / (played.returns.std() + 1e-7)).float()
        with torch.no_grad():
            gained = returns - self.network.values(seen)
        if options.siblings > 1:
            gained = torch.from_numpy(_above_siblings(played)).float()
        kl = entropy = wrong = torch.zeros(())
        for _ in range(options.passes):
            gain, entropy, kl = clipped_choices(self.network(seen, legal), action, old, gained, options.clip)
            loss = -gain - options.entropy_weight * entropy
            if options.siblings == 1:
                wrong = ((self.network.values(seen) - returns) ** 2).mean()
                loss = loss + options.value_weight * wrong
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
        return kl.item(), entropy.item(), wrong.item()

    def to_state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        learner = {
            "network": self.network.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "updates": len(self.curve),
        }
        return {"learner": learner, "curve": [asdict(report) for report in self.curve]}

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`. Raises ValueError for a state with more updates than are asked for."""
        self.curve = [RepairUpdate(**report) for report in state["curve"]]
        if len(self.curve) > self._options.updates:
            raise ValueError(
                f"the checkpoint has {len(self.curve)} updates of this training: ask for as many, or remove it to begin again"
            )
        self.network.load_state_dict(state["learner"]["network"])
        self._optimiser.load_state_dict(state["learner"]["optimiser"])


def epoch_seed(*numbers: int) -> int:
    """One seed of several numbers, of which the first names the stream."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def epoch_windows(
    tree: SwitchTree, seed: int, most_jobs: int | None, largest: int = LARGEST_JOB
) -> list[tuple[IntArray, IntArray]]:
    """The first EPOCH_WINDOWS windows of an empty cluster, with sequential placement: idle nodes, and sizes of jobs.

    most_jobs: in a window, None is any number. Raises ValueError for a cluster so small that there are fewer windows.
    """
    windows: list[tuple[IntArray, IntArray]] = []

    def place(idle: IntArray, sizes: IntArray) -> list[IntArray]:
        windows.append((idle, sizes))
        ends = np.cumsum(sizes)
        return np.split(idle[: ends[-1]], ends[:-1])

    run_closed_loop(tree, published_jobs(EPOCH_JOBS, seed, (1, largest)), selecting(place, most_jobs))
    if len(windows) < EPOCH_WINDOWS:
        raise ValueError(
            f"{EPOCH_JOBS} jobs made {len(windows)} windows, not {EPOCH_WINDOWS}: limit the jobs of a window"
        )
    return windows[:EPOCH_WINDOWS]


def play_repairs(
    network: RepairActorCritic, batch: RepairBatch, options: RepairOptions, rng: np.random.Generator
) -> tuple[RepairDecisions, float, float]:
    """Plays `window_episodes` on each window, with drawn actions. The first of siblings leaves the assignment for the next episode.

    Returns the decisions, the mean cost of an episode, and the mean cost where the same jobs are placed at random.
    """
    rounds: list[RepairDecisions] = []
    costs, random_costs = [], []
    if options.variant == "paper":
        batch.place_in_sequence()
    windows = np.arange(len(batch.jobs))
    for _ in range(options.window_episodes):
        if options.variant == "paper":
            batch.destroy(rng, options.most_removed)
        else:
            batch.begin_empty()
        siblings = batch.rows(windows.repeat(options.siblings))
        random_costs.append(place_at_random(siblings.rows(np.arange(len(siblings.jobs))), rng))
        played = _play_episode(network, siblings, options, rng)
        rounds.append(played._replace(group=played.group + (1 + rounds[-1].group.max() if rounds else 0)))
        costs.append(_episode_cost(siblings))
        batch = siblings.rows(windows * options.siblings)
    columns = (np.concatenate(column) for column in zip(*rounds, strict=True))
    return RepairDecisions(*columns), float(np.mean(costs)), float(np.mean(random_costs))


def place_at_random(batch: RepairBatch, rng: np.random.Generator) -> float:
    """Places what is left to place, from entries of Q that are drawn with equal chances. Returns the mean cost of a window's part."""
    while not batch.done:
        _, choices = batch.look()
        batch.place((rng.random(len(choices)) * choices).astype(np.int64))
    return _episode_cost(batch)


def _play_episode(
    network: RepairActorCritic, batch: RepairBatch, options: RepairOptions, rng: np.random.Generator
) -> RepairDecisions:
    """Places all that is left to place, once for each window."""
    steps: list[tuple[IntArray, RepairDecisions]] = []
    total = np.zeros(len(batch.jobs))
    while not batch.done:
        seen, choices = batch.look()
        rows = np.flatnonzero(choices)
        legal = np.arange(batch.seen_nodes) < choices[rows, None]
        with torch.inference_mode():
            log_probs = network(torch.from_numpy(seen[rows]), torch.from_numpy(legal))
        scores = log_probs.numpy()
        action = np.zeros(len(choices), dtype=np.int64)
        action[rows] = np.where(legal, scores + rng.gumbel(size=scores.shape), -np.inf).argmax(axis=1)
        total += batch.place(action)
        taken = action[rows]
        log_prob = scores[np.arange(len(rows)), taken]
        group = rows // options.siblings + len(steps) * (len(choices) // options.siblings)
        steps.append((rows, RepairDecisions(seen[rows], choices[rows], taken, log_prob, np.zeros(len(rows)), group)))
    left = batch.arrays.ends.copy()  # steps from a decision to the reward at the end
    played = []
    for rows, step in steps:
        left[rows] -= 1
        played.append(step._replace(returns=options.gamma ** left[rows] * total[rows]))
    return RepairDecisions(*(np.concatenate(column) for column in zip(*played, strict=True)))


def _above_siblings(played: RepairDecisions) -> NDArray[np.float64]:
    """How much more followed than in the mean of the siblings, over the standard deviation of that, (decisions,)."""
    means = np.bincount(played.group, played.returns) / np.maximum(1, np.bincount(played.group))
    gained = played.returns - means[played.group]
    return gained / (gained.std() + 1e-7)


def _episode_cost(batch: RepairBatch) -> float:
    """Mean over windows of the cost of what was placed last."""
    arrays = batch.arrays
    part = np.arange(arrays.to_place.shape[1]) < arrays.ends[:, None]
    costs = np.take_along_axis(arrays.cost, arrays.to_place, axis=1)
    return float((costs * part).sum(axis=1).mean())


def _fingerprint(tree: SwitchTree, options: RepairOptions, seed: int) -> str:
    """Which training this is: a hash of all that it depends on."""
    digest = hashlib.sha256(tree.switch.tobytes() + tree.hops.tobytes())
    settings = options.model_dump(exclude={"save_every", "updates"})
    digest.update(json.dumps(["repair operator", settings, seed], sort_keys=True).encode())
    return digest.hexdigest()
