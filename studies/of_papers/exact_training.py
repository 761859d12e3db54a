"""Training of a repair step on the exact cost of every choice. Not the paper's, which plays episodes by PPO (`training.py`).

A repair of one or two jobs is so small that all first nodes can be tried (`models/allocation/neural/exact_repair.py`). So the expected
cost of the network's choice is known in each state, and its gradient has no noise of draws. States are drawn once, from a seed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.allocation.neural.exact_repair import repair_values
from models.allocation.neural.repair_networks import RepairActorCritic
from models.allocation.neural.repairing import FEATURES, RepairBatch
from models.scheduling.learning.adam import Adam
from models.scheduling.learning.checkpoint import Checkpoint, train_epochs
from papers.neural_annealing.training import TEST_STREAM, TRAINING_STREAM, RepairOptions, epoch_seed, epoch_windows
from simulator.topology.tree import SwitchTree

STATE_EPOCHS, TRIED_EPOCHS, STATES_OF_A_WINDOW = 200, 3, 4
"""Epochs of 100 windows that are learned from, and that try what was learned. From each window so many repairs in a row."""
EXACT_PASSES, EXACT_BATCH, FIRST_RATE, LAST_RATE = 400, 256, 1e-3, 5e-5
"""Passes over all decisions, decisions in a gradient step, and rates of Adam, of the first pass and after the last."""
EXACT_ENTROPY = 0.005
PLACE_SCALE = 8.0
"""By what the first weights of a convolution over leaf and pod are larger than torch makes them. These numbers differ by a fortieth from
leaf to leaf, and with torch's weights a convolutional network did not see where one ends."""
_BEST_SHARE = 0.5
"""Share of the choices that are the best ones, where the next state comes from. The others are drawn with equal chances."""


@dataclass(frozen=True)
class ExactDecisions:
    """Decisions with the cost of each first node. All have one row a decision.

    above: cost over the mean of the allowed nodes, where the following job is placed best. mean: that mean.
    """

    seen: torch.Tensor  # float32 (decisions, features, seen_nodes)
    legal: torch.Tensor  # bool (decisions, seen_nodes)
    above: torch.Tensor  # float32 (decisions, seen_nodes), 0 where not allowed
    mean: torch.Tensor  # float32 (decisions,)

    def share(self, network: RepairActorCritic) -> float:
        """Expected cost of the network's choices over that of random ones."""
        with torch.inference_mode():
            chances = torch.cat([network(seen, legal).exp() for seen, legal in self._parts()])
        return float(1 + (chances * self.above).sum() / self.mean.sum())

    @property
    def least(self) -> float:
        """Cost of the best choices over that of random ones."""
        best = torch.where(self.legal, self.above, torch.inf).amin(dim=1)
        return float(1 + best.sum() / self.mean.sum())

    def _parts(self) -> Any:
        return zip(self.seen.split(4096), self.legal.split(4096), strict=True)


@dataclass(frozen=True)
class ExactPass:
    """A pass over all decisions. share: as `ExactDecisions.share`, of windows that were not learned from."""

    number: int
    loss: float
    share: float


def exact_decisions(tree: SwitchTree, options: RepairOptions, seeds: list[int]) -> ExactDecisions:
    """Decisions on the way from sequential assignments. seeds: of epochs of windows."""
    columns: list[list[NDArray[Any]]] = [[], [], []]
    problem = options.problem(tree)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        windows = epoch_windows(tree, seed, options.most_jobs, options.largest)
        batch = RepairBatch(problem, windows, options.seen_nodes)
        batch.place_in_sequence()
        for _ in range(STATES_OF_A_WINDOW):
            batch.destroy(rng, options.most_removed)
            while not batch.done:
                seen, choices = batch.look()
                rows = np.flatnonzero(choices)
                costs = np.full((len(choices), options.seen_nodes), np.inf)
                costs[rows] = repair_values(batch.rows(rows)).best
                for column, values in zip(columns, (seen, choices, costs), strict=True):
                    column.append(np.asarray(values)[rows])
                drawn = (rng.random(len(choices)) * choices).astype(np.int64)
                best = np.where(rng.random(len(choices)) < _BEST_SHARE, costs.argmin(axis=1), drawn)
                batch.place(np.where(choices > 0, best, 0))
    seen, choices, costs = (np.concatenate(column) for column in columns)
    legal = np.arange(options.seen_nodes) < choices[:, None]
    mean = np.where(legal, costs, 0.0).sum(axis=1) / choices
    above = np.where(legal, np.where(legal, costs, 0.0) - mean[:, None], 0.0)
    parts = (seen, legal, above.astype(np.float32), mean.astype(np.float32))
    return ExactDecisions(*(torch.from_numpy(part) for part in parts))


def train_on_values(
    tree: SwitchTree,
    options: RepairOptions,
    seed: int,
    checkpoint: Path | None = None,
    passes: int = EXACT_PASSES,
    state_epochs: int = STATE_EPOCHS,
    on_pass: Callable[[ExactPass], None] = lambda report: None,
) -> ExactLearner:
    """Trains one repair step. checkpoint: a file that an interrupted training goes on from. Same arguments and seed, same bytes."""
    torch.set_num_threads(1)
    learner = ExactLearner(tree, options, seed, passes, state_epochs)
    settings = [options.model_dump(), seed, passes, state_epochs]
    digest = hashlib.sha256(tree.switch.tobytes() + tree.hops.tobytes())
    digest.update(json.dumps(["exact repair", settings], sort_keys=True).encode())
    kept = Checkpoint(checkpoint, digest.hexdigest())
    train_epochs(learner, passes, kept, on_pass, lambda number: number % 5 == 0)
    return learner


class ExactLearner:
    """Network and optimiser between two passes. curve: what was reported so far."""

    def __init__(self, tree: SwitchTree, options: RepairOptions, seed: int, passes: int, state_epochs: int) -> None:
        self._seed, self._passes = seed, passes
        self._tree, self._options, self._state_epochs = tree, options, state_epochs
        self._decisions: tuple[ExactDecisions, ExactDecisions] | None = None
        torch.manual_seed(seed)
        self.network = RepairActorCritic(options.network, FEATURES[options.variant], options.seen_nodes)
        first = self.network.actor[0]
        if isinstance(first, torch.nn.Conv1d):
            with torch.no_grad():
                first.weight[:, :2] *= PLACE_SCALE
        self._optimiser = Adam(self.network.actor.parameters(), lr=FIRST_RATE)
        self.curve: list[ExactPass] = []

    def begin(self) -> None:
        """Nothing comes before the first pass."""

    @property
    def decisions(self) -> tuple[ExactDecisions, ExactDecisions]:
        """Those that are learned from, and those that try what was learned."""
        if self._decisions is None:
            learned = [epoch_seed(TRAINING_STREAM, self._seed, epoch) for epoch in range(self._state_epochs)]
            tried = [epoch_seed(TEST_STREAM, epoch) for epoch in range(100, 100 + TRIED_EPOCHS)]
            self._decisions = (
                exact_decisions(self._tree, self._options, learned),
                exact_decisions(self._tree, self._options, tried),
            )
        return self._decisions

    def run_epoch(self, epoch: int) -> ExactPass:
        """One pass, in an order that depends on the seed and the pass."""
        learned, tried = self.decisions
        rng = np.random.default_rng([self._seed, epoch])
        rate = LAST_RATE + (FIRST_RATE - LAST_RATE) * (1 + math.cos(math.pi * epoch / self._passes)) / 2
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        scale, total = float(learned.above.std()), 0.0
        order = torch.from_numpy(rng.permutation(len(learned.mean)))
        for part in order.split(EXACT_BATCH):
            log_chances = self.network(learned.seen[part], learned.legal[part])
            chances = log_chances.exp()
            loss = (chances * learned.above[part]).sum(dim=1).mean() / scale
            loss = loss + EXACT_ENTROPY * (chances * log_chances.clamp(min=-30)).sum(dim=1).mean()
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
            total += loss.item() * len(part)
        self.curve.append(ExactPass(epoch, total / len(order), tried.share(self.network)))
        return self.curve[-1]

    def to_state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {
            "network": self.network.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "curve": [asdict(report) for report in self.curve],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        self.network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.curve = [ExactPass(**report) for report in state["curve"]]
