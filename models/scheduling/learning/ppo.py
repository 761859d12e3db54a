"""Proximal policy optimisation of scheduling policies (Schulman et al. 2017; RLScheduler, Zhang et al. 2020, section V-A).

An epoch replays windows with choices drawn from the network. Then it takes clipped steps on the recorded decisions up to a KL
limit. Only jobs that were really waiting take part, so storage is ragged. The reward comes at the end of a window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows, relative
from models.scheduling.learning.checkpoint import BestKept, Checkpoint, TrainingProgress, fingerprint, train_epochs
from models.scheduling.learning.choices import advantages, at_the_end, pad
from models.scheduling.learning.kernel_pass import ClippedLoss, Gradients, ppo_pass, recorded_choices
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import PPOOptions
from models.scheduling.rewards import discounts, rewards_on_the_way
from simulator.agents.trajectories import Trajectories
from simulator.policies.network import VISIBLE_JOBS, KernelWeights
from simulator.policies.observation import layout_named

VALUE_DECISIONS = 1024
"""Decisions in one pass of the critic, so that all arrays of a pass fit the cache. Gradients add up to those of a step."""
REFERENCE = "SJF"
"""The heuristic that relative rewards are measured by."""


def train_by_ppo(
    arena: Arena,
    lessons: Lessons,
    options: PPOOptions,
    seed: int,
    on_epoch: Callable[[EpochReport], None] = lambda report: None,
    checkpoint: Path | None = None,
    start: KernelWeights | None = None,
    learner: Learner | None = None,
) -> TrainedPolicy:
    """Trains one network, a kernel network unless `learner` has another.

    checkpoint: a file that is written after every epoch. Training goes on from it where it is of the same training, and the
    policy is the same as without an interruption. start: weights to begin with. Same arguments and seed, same weights.
    Raises ValueError when training diverges.
    """
    learner = learner or Learner(arena, options, seed, start)
    training = fingerprint(arena, lessons, ["ppo", learner.kind, options.model_dump(), seed], start)
    trainee = _OneLearner(learner, lessons, seed, start)
    train_epochs(trainee, options.epochs, Checkpoint(checkpoint, training), on_epoch)
    return trainee.progress.trained(options.model_dump() | {"seed": seed})


class _OneLearner(BestKept):
    """A learner alone with its lessons."""

    def __init__(self, learner: Learner, lessons: Lessons, seed: int, start: KernelWeights | None) -> None:
        self._learner, self._lessons, self._seed, self._start = learner, lessons, seed, start

    def begin(self) -> None:
        """What training starts from counts as epoch 0 where it was learned before."""
        learner = self._learner
        cost = np.inf if self._start is None else float(learner.validate(self._lessons.validation).mean())
        self.progress = TrainingProgress([], cost, 0, learner.weights())
        self._show()

    def run_epoch(self, epoch: int) -> EpochReport:
        """Samples, updates and validates. Raises ValueError when training diverges."""
        report = _epoch(self._learner, self._lessons, epoch, self._seed)
        self.progress.report(report, self._learner.weights())
        self._show()
        return report

    def _show(self) -> None:
        """Replays the held-out windows where there are any, and where the policy to keep is a new one."""
        windows, progress = self._lessons.held_out, self.progress
        if windows is not None:
            is_new = progress.epoch == len(progress.curve)
            progress.held_out.append(float(self._learner.validate(windows).mean()) if is_new else progress.held_out[-1])

    def to_state(self) -> dict[str, Any]:
        """The best epoch so far, and the learner."""
        return {"progress": self.progress.to_state(), "learner": self._learner.to_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        self.progress = TrainingProgress.from_state(state["progress"])
        self._learner.load_state(state["learner"])


def _epoch(learner: Learner, lessons: Lessons, epoch: int, seed: int) -> EpochReport:
    """Samples windows, updates the learner and validates it. Raises ValueError when training diverges."""
    arena, options = learner.arena, learner.options
    filtered = epoch <= options.filtered_epochs and len(lessons.filtered) > 0
    rng = np.random.default_rng([seed, epoch])  # of the epoch alone, so that training can be continued
    families = max(options.trajectories // options.siblings, 1)
    drawn = (lessons.filtered if filtered else lessons.windows).some(rng, families)
    drawn = lessons.begun(arena, drawn, learner.weights())
    windows = drawn.taken(np.repeat(np.arange(families), options.siblings))
    trajectories = learner.collect(windows, int(rng.integers(2**31)))
    costs = arena.costs_of(windows, trajectories.start)
    rewards = rewards_of(arena, options, drawn, trajectories, costs)
    kl, entropy, updates = learner.update(trajectories, rewards, rng)
    if not learner.is_finite():
        raise ValueError(f"training with seed {seed} diverged in epoch {epoch}: lower policy_rate or kl_limit")
    score = float(learner.validate(lessons.validation).mean())
    phase = "filtered" if filtered else "all"
    return EpochReport(epoch, phase, trajectories.decisions, float(costs.mean()), score, kl, entropy, updates)


def rewards_of(
    arena: Arena, options: PPOOptions, drawn: Windows, trajectories: Trajectories, costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The reward of each window, float64 (windows,), or, for the reward waiting, of each decision, (decisions,).

    drawn: windows without their siblings, of which the trajectories hold options.siblings each, one after another. costs: of the
    trajectories, float64 (windows,).
    """
    if options.reward == "plain":
        return -costs
    reference = np.repeat(
        arena.costs(arena.base if options.reward == "improvement" else REFERENCE, drawn), options.siblings
    )
    if options.reward == "improvement":
        return (reference - costs) / np.maximum(np.maximum(reference, costs), 1.0)
    if options.reward == "waiting":
        windows = drawn.taken(np.repeat(np.arange(len(drawn)), options.siblings))
        return rewards_on_the_way(arena, windows, trajectories, reference)
    return -relative(costs, reference)


class Learner:
    """Network, critic and their optimisers, between two epochs."""

    kind = "kernel"

    def __init__(self, arena: Arena, options: PPOOptions, seed: int, start: KernelWeights | None) -> None:
        import torch

        from models.scheduling.learning.adam import Adam
        from models.scheduling.learning.networks import Critic, load_weights, new_policy_network

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.arena, self.options, self.layout = arena, options, layout_named(options.layout)
        inputs = len(self.layout.inputs)
        self.network = new_policy_network("kernel", inputs)
        if start is not None:
            load_weights(self.network, start)
        self._gradients = Gradients(self.network)
        self._slots = VISIBLE_JOBS if arena.agent is None or arena.agent.picking.by else 2
        self.critic = Critic(inputs, self._slots, options.critic_layers) if options.baseline == "critic" else None
        self._policy_optimiser = Adam(self.network.parameters(), lr=options.policy_rate)
        self._value_optimiser = Adam(self.critic.parameters(), lr=options.value_rate) if self.critic else None

    def weights(self) -> KernelWeights:
        """The policy as the engine takes it."""
        from models.scheduling.learning.networks import to_weights

        return to_weights(self.network, self.layout)

    def is_finite(self) -> bool:
        """Whether no weight is infinite or not a number."""
        return all(bool(p.isfinite().all()) for p in self.network.parameters())

    def collect(self, windows: Windows, seed: int) -> Trajectories:
        """Replays the windows with choices drawn from the network."""
        return self.arena.sample(self.weights(), windows, seed)

    def validate(self, windows: Windows) -> NDArray[np.float64]:
        """What each window costs with the best choice every time, (windows,)."""
        return self.arena.costs(self.weights(), windows)

    def update(
        self, trajectories: Trajectories, rewards: NDArray[np.float64], rng: np.random.Generator
    ) -> tuple[float, float, int]:
        """Clipped policy steps until the KL limit, and the critic's. Returns (KL, entropy, policy steps).

        rewards: of each window, (windows,), or, for the reward waiting, of each decision, (decisions,).
        """
        decisions = trajectories.decisions
        if decisions == 0:  # the windows left no choice at all
            return 0.0, 0.0, 0
        queues = self.queues_of(trajectories)
        advantage, target = self.advantages_of(trajectories, rewards, queues)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        kl, entropy, updates = self._policy_steps_until_limit(trajectories, advantage, rng)
        if self.critic is not None:
            for _ in range(self.options.passes):
                for part in self._minibatches(decisions, rng):
                    self._value_step(queues, trajectories.num_rows, part, target)
        return kl, entropy, updates

    def queues_of(self, trajectories: Trajectories) -> NDArray[np.float32]:
        """Decisions as the critic sees them, float32 (decisions, slots * inputs); nothing where there is no critic."""
        width = 0 if self.critic is None else self._slots * trajectories.features.shape[1]
        queues = np.zeros((trajectories.decisions, width), dtype=np.float32)
        if width:
            pad(trajectories.features, trajectories.first_row, trajectories.num_rows, queues)
        return queues

    def advantages_of(
        self, trajectories: Trajectories, rewards: NDArray[np.float64], queues: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """How much better than expected each choice turned out, and what the critic should have said, float32 (decisions,) each.

        rewards: as in `update`. queues: of `queues_of`. Advantages have neither mean nor deviation of their own yet.
        """
        options, first = self.options, trajectories.first_decision
        advantage, target = np.zeros((2, trajectories.decisions), dtype=np.float32)
        if self.critic is None:
            families = rewards.reshape(-1, options.siblings)
            centred = families - families.mean(axis=1, keepdims=True)
            advantage[:] = np.repeat(centred.ravel(), np.diff(first))
            return advantage, target
        on_the_way = options.reward == "waiting"
        of_decisions = rewards if on_the_way else at_the_end(rewards, first)
        discount = discounts(trajectories, options.horizon_s if on_the_way else 0.0)
        advantages(self._values(queues, first), of_decisions, discount, first, options.gae_lambda, advantage, target)
        return advantage, target

    def _policy_steps_until_limit(
        self, trajectories: Trajectories, advantage: NDArray[np.float32], rng: np.random.Generator
    ) -> tuple[float, float, int]:
        kl = entropy = 0.0
        updates = 0
        for _ in range(self.options.passes):
            for part in self._minibatches(trajectories.decisions, rng):
                kl, entropy = self._policy_step(trajectories, part, advantage)
                if kl > self.options.kl_limit:  # the steps so far have gone far enough: take no further one
                    return kl, entropy, updates
                self._policy_optimiser.step()
                updates += 1
        return kl, entropy, updates

    def _minibatches(self, decisions: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        """All decisions once, in a random order unless one minibatch takes them all."""
        size = self.options.minibatch or decisions
        order = rng.permutation(decisions) if size < decisions else np.arange(decisions)
        for first in range(0, decisions, size):
            yield order[first : first + size]

    def _policy_step(
        self, trajectories: Trajectories, decisions: NDArray[np.int64], advantage: NDArray[np.float32]
    ) -> tuple[float, float]:
        """Leaves the gradient of the mean loss in the network. Returns mean KL and entropy before the step."""
        shared, loss = self._gradients, ClippedLoss(self.options.clip, self.options.entropy_bonus)
        shared.flat[:] = 0.0
        recorded = recorded_choices(trajectories)
        kl, entropy = ppo_pass(recorded, advantage, decisions, loss, shared.weights, shared.gradients)
        shared.flat /= np.float32(len(decisions))
        return kl / len(decisions), entropy / len(decisions)

    def _value_step(
        self,
        queues: NDArray[np.float32],
        num_rows: NDArray[np.int64],
        decisions: NDArray[np.int64],
        target: NDArray[np.float32],
    ) -> None:
        import torch

        assert self.critic is not None and self._value_optimiser is not None
        self._value_optimiser.zero_grad()
        by_length = decisions[np.argsort(num_rows[decisions], kind="stable")]
        inputs = queues.shape[1] // self._slots
        for part in np.array_split(by_length, -(-len(decisions) // VALUE_DECISIONS)):
            waiting = queues[:, : inputs * int(num_rows[part[-1]])]  # behind it all are zeros
            wrong = self.critic(torch.from_numpy(waiting[part])) - torch.from_numpy(target[part])
            ((wrong**2).sum() / len(decisions)).backward()
        self._value_optimiser.step()

    def _values(self, queues: NDArray[np.float32], first_decision: NDArray[np.int64]) -> NDArray[np.float32]:
        """What the critic says of each decision, float32 (decisions,)."""
        import torch

        assert self.critic is not None
        with torch.no_grad():
            return self.critic(torch.from_numpy(queues)).numpy()

    def to_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of networks and optimisers."""
        modules: list[Any] = [self.network, self._policy_optimiser, self.critic, self._value_optimiser]
        return {str(k): module.state_dict() for k, module in enumerate(modules) if module is not None}

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        modules: list[Any] = [self.network, self._policy_optimiser, self.critic, self._value_optimiser]
        for k, module in enumerate(modules):
            if module is not None:
                module.load_state_dict(state[str(k)])
