"""A learner whose gradient steps are those of all workers together (DD-PPO, Wijmans et al. 2019).

Every worker has the same weights and the decisions of its own windows. Derivatives are added up over all decisions and divided by
their global number. A mean of the workers' means would be wrong where they have replayed unequally much. What decides whether a step is
taken rides along in the same message, so that all workers stop at the same step.

Sums are exact: a window's derivatives are rounded to a grid before they are added. So they do not depend on the order, and any number
of workers has the same weights, bit for bit. Without this Adam makes steps of rounding errors where a derivative is next to nothing.

Derivatives of a clipped step, window by window: whoever replays a window adds the same numbers.

A window's derivatives are float32, as those of models.scheduling.learning.kernel_pass. Windows are added in float64, as multiples of a
grid, so that it makes no difference in which order, and on how many workers.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.compiled import compiled
from models.scheduling.arena import Arena
from models.scheduling.learning.kernel_pass import ClippedLoss, Gradients, ppo_pass, recorded_choices
from models.scheduling.learning.ppo import Learner
from models.scheduling.options import PPOOptions
from models.scheduling.workers.groups import Workers
from simulator.agents.trajectories import Trajectories
from simulator.policies.network import KernelWeights

GRID = 2.0**-40
"""What window sums are rounded to: float64 adds multiples of it exactly up to 8,192."""


@compiled
def add_window_gradients(recorded, first_decision, windows, advantage, loss, weights, room, total):
    """Adds the derivatives of the sum over all decisions of some windows to `total`, float64 (parameters,).

    recorded, advantage, loss, weights: as in kernel_pass.ppo_pass. first_decision: int64 (windows + 1,). windows: which of them,
    int64. room: for the derivatives of one window, as a network's arrays, and the same memory as one vector, float32 (parameters,).
    Sums of a window are rounded to GRID, so that adding windows is exact. Returns the sums of approximate KL and entropy, and the
    number of decisions.
    """
    gradients, flat = room
    divergence = entropy = 0.0
    decisions = 0
    for w in windows:
        begin, end = first_decision[w], first_decision[w + 1]
        if begin == end:
            continue
        flat[:] = np.float32(0.0)
        moved, spread = ppo_pass(recorded, advantage, np.arange(begin, end), loss, weights, gradients)
        for k in range(len(flat)):
            total[k] += np.rint(flat[k] / GRID) * GRID
        divergence += np.rint(moved / GRID) * GRID
        entropy += np.rint(spread / GRID) * GRID
        decisions += end - begin
    return divergence, entropy, decisions


FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOMENT_GRID = 2.0**-30
"""What advantages are rounded to, as sums of windows are to GRID: they are at most 1 by then."""


@dataclass(frozen=True)
class Lesson:
    """What one worker has replayed in an epoch.

    family: numbers of its families among all of the epoch, ascending, int64. families: how many the epoch has. rewards: as in
    models.scheduling.learning.ppo.Learner.update.
    """

    family: IntArray
    families: int
    trajectories: Trajectories
    rewards: FloatArray


class WorkerLearner(Learner):
    """Network, critic and optimisers of one of several workers, which are the same in all of them."""

    def __init__(
        self, workers: Workers, arena: Arena, options: PPOOptions, seed: int, start: KernelWeights | None
    ) -> None:
        super().__init__(arena, options, seed, start)
        self._workers = workers
        self._value_gradients = Gradients(self.critic) if self.critic is not None else None
        self._policy_size = len(self._gradients.flat)

    def update_together(self, lesson: Lesson, rng: np.random.Generator) -> tuple[float, float, int]:
        """Clipped policy steps until the KL limit, and the critic's. Returns (KL, entropy, policy steps), the same for all workers.

        rng: in the same state at all workers. Minibatches are sets of families, of about options.minibatch decisions. Raises
        ValueError at all workers where a derivative is not finite at one.
        """
        trajectories, options = lesson.trajectories, self.options
        queues = self.queues_of(trajectories)
        advantage, target = self.advantages_of(trajectories, lesson.rewards, queues)
        advantage, decisions = self._normalised(advantage)
        kl = entropy = 0.0
        updates, stopped = 0, False
        for _ in range(options.passes if decisions else 0):
            for part in _minibatches(lesson, decisions, options, rng):
                if stopped and self.critic is None:
                    return kl, entropy, updates
                total = self._workers.add(self._derivatives(trajectories, part, advantage, queues, target, stopped))
                divergence, spread, counted, broken = total[-4:]
                if broken:
                    raise ValueError("training diverged: lower policy_rate or kl_limit")
                if counted == 0:
                    continue
                if not stopped:
                    kl, entropy = float(divergence / counted), float(spread / counted)
                    stopped = kl > options.kl_limit  # the steps so far have gone far enough: take no further one
                    updates += not stopped
                self._step(total[:-4] / counted, not stopped)
        return kl, entropy, updates

    def _normalised(self, advantage: NDArray[np.float32]) -> tuple[NDArray[np.float32], int]:
        """The advantages by mean and deviation over all workers, and the number of decisions of all."""
        own = advantage.astype(np.float64)
        largest = np.zeros(self._workers.size)
        largest[self._workers.rank] = np.abs(own).max(initial=0.0)
        scale = 2.0 ** np.ceil(np.log2(max(self._workers.add(largest).max(), 1e-300)))
        own = rounded(own / scale, MOMENT_GRID)
        count, total, squares = self._workers.add(
            np.array([len(own), own.sum(), rounded(own**2, MOMENT_GRID).sum()], dtype=np.float64)
        )
        if count == 0:
            return advantage, 0
        mean = total / count
        deviation = np.sqrt(max(squares / count - mean**2, 0.0))
        return ((own - mean) / (deviation + 1e-8 / scale)).astype(np.float32), int(count)

    def _derivatives(
        self,
        trajectories: Trajectories,
        windows: IntArray,
        advantage: NDArray[np.float32],
        queues: NDArray[np.float32],
        target: NDArray[np.float32],
        stopped: bool,
    ) -> FloatArray:
        """Sums over this worker's decisions in one vector: derivatives of policy and critic, KL, entropy, decisions, and whether any
        is not finite."""
        shared, loss = self._gradients, ClippedLoss(self.options.clip, self.options.entropy_bonus)
        policy = np.zeros(self._policy_size)
        first = trajectories.first_decision
        counted = int((first[windows + 1] - first[windows]).sum())
        divergence = spread = 0.0
        if not stopped and counted:
            divergence, spread, _ = add_window_gradients(
                recorded_choices(trajectories),
                first,
                windows,
                advantage,
                loss,
                shared.weights,
                (shared.gradients, shared.flat),
                policy,
            )
        value = self._value_derivatives(first, windows, queues, target)
        vector = np.concatenate([policy, value, [divergence, spread, counted, 0.0]])
        if not np.isfinite(vector).all():
            vector[:] = 0.0
            vector[-1] = 1.0
        return vector

    def _value_derivatives(
        self, first: IntArray, windows: IntArray, queues: NDArray[np.float32], target: NDArray[np.float32]
    ) -> FloatArray:
        import torch

        if self._value_gradients is None or self.critic is None:
            return np.zeros(0)
        total = np.zeros(len(self._value_gradients.flat))
        for window in windows.tolist():
            own = slice(int(first[window]), int(first[window + 1]))
            self._value_gradients.flat[:] = 0.0
            wrong = self.critic(torch.from_numpy(queues[own])) - torch.from_numpy(target[own])
            (wrong**2).sum().backward()
            total += rounded(self._value_gradients.flat.astype(np.float64), GRID)
        return total

    def _values(self, queues: NDArray[np.float32], first: IntArray) -> NDArray[np.float32]:
        """Window by window, since what torch computes hangs on how much it computes at once."""
        parts = [super(WorkerLearner, self)._values(queues[a:b], first) for a, b in itertools.pairwise(first.tolist())]
        return np.concatenate([np.zeros(0, dtype=np.float32), *parts])

    def _step(self, mean: FloatArray, of_policy: bool) -> None:
        """One step of the policy, if it is not stopped, and one of the critic, by the mean derivatives."""
        if of_policy:
            self._gradients.flat[:] = mean[: self._policy_size]
            self._policy_optimiser.step()
        if self._value_gradients is not None and self._value_optimiser is not None:
            self._value_gradients.flat[:] = mean[self._policy_size :]
            self._value_optimiser.step()

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`, but for the rates, which are those of the options."""
        super().load_state(state)
        rates = ((self._policy_optimiser, self.options.policy_rate), (self._value_optimiser, self.options.value_rate))
        for optimiser, rate in rates:
            for group in optimiser.param_groups if optimiser is not None else ():
                group["lr"] = rate

    def check_equal(self) -> None:
        """Raises RuntimeError unless all workers have the same weights, bit for bit."""
        modules = [module for module in (self.network, self.critic) if module is not None]
        digest = hashlib.sha256()
        for parameter in (p for module in modules for p in module.parameters()):
            digest.update(parameter.detach().numpy().tobytes())
        of_workers = np.zeros(self._workers.size)
        of_workers[self._workers.rank] = int.from_bytes(digest.digest()[:6], "big")  # 48 bits, exact in float64
        of_workers = self._workers.add(of_workers)
        if (of_workers != of_workers[0]).any():
            odd = np.flatnonzero(of_workers != of_workers[0]).tolist()
            raise RuntimeError(f"workers {odd} have other weights than worker 0: their machines compute differently")


def rounded(values: FloatArray, grid: float) -> FloatArray:
    """The nearest multiples of the grid."""
    return np.asarray(np.rint(values / grid) * grid)


def _minibatches(lesson: Lesson, decisions: int, options: PPOOptions, rng: np.random.Generator) -> Iterator[IntArray]:
    """This worker's windows in each minibatch, int64: all once, dealt by family, in a random order unless one takes them all."""
    count = -(-decisions // (options.minibatch or decisions))
    order = rng.permutation(lesson.families) if count > 1 else np.arange(lesson.families)
    for part in np.array_split(order, count):
        own = np.flatnonzero(np.isin(lesson.family, part))
        yield (own[:, None] * options.siblings + np.arange(options.siblings)).ravel()
