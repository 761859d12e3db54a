"""What a policy costs on held-out windows after each epoch. Nothing is chosen by them: they show that it learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.ppo import Learner, train_by_ppo
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import PPOOptions
from simulator.policies.network import KernelWeights

FloatArray = NDArray[np.float64]


class WatchedLearner(Learner):
    """A learner that also replays held-out windows. costs: of each window, from before the first epoch on, float64 (windows,) each."""

    def __init__(
        self, arena: Arena, options: PPOOptions, seed: int, start: KernelWeights | None, held_out: Windows
    ) -> None:
        super().__init__(arena, options, seed, start)
        self._held_out = held_out
        # what is learned before is validated before the first epoch, too
        self.costs: list[FloatArray] = [] if start is not None else [super().validate(held_out)]

    def validate(self, windows: Windows) -> FloatArray:
        """As that of a learner. Replays the held-out windows, too."""
        self.costs.append(super().validate(self._held_out))
        return super().validate(windows)

    def to_state(self) -> dict[str, Any]:
        """As that of a learner, with the costs so far."""
        import torch

        return super().to_state() | {"held_out": torch.from_numpy(np.array(self.costs))}

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        super().load_state(state)
        self.costs = list(state["held_out"].numpy())


@dataclass(frozen=True)
class HeldOutCurves:
    """Trains by PPO, as models.scheduling.learning.recipes.PPOTraining does, and keeps what each seed costs on the held-out windows.

    costs: by seed, from epoch 0 on, what each window costs with the best choice every time, float64 (windows,) each.
    """

    held_out: Windows
    costs: dict[int, list[FloatArray]] = field(default_factory=dict)

    def __call__(
        self,
        arena: Arena,
        lessons: Lessons,
        options: PPOOptions,
        seed: int,
        on_epoch: Callable[[EpochReport], None] = lambda report: None,
        checkpoint: Path | None = None,
        start: KernelWeights | None = None,
    ) -> TrainedPolicy:
        learner = WatchedLearner(arena, options, seed, start, self.held_out)
        trained = train_by_ppo(arena, lessons, options, seed, on_epoch, checkpoint, start, learner)
        self.costs[seed] = learner.costs
        return trained

    def of_kept(self, policy: TrainedPolicy, seed: int) -> list[float]:
        """Mean cost of the policy that would be kept if training ended after each epoch, from epoch 0 on. Empty where it was not PPO."""
        if seed not in self.costs:
            return []
        means = [float(costs.mean()) for costs in self.costs[seed]]
        kept, least = [means[0]], np.inf
        for report in policy.curve:
            cost = np.inf if report.validation_cost is None else report.validation_cost
            is_better, least = cost < least, min(cost, least)
            kept.append(means[report.epoch] if is_better else kept[-1])
        return kept
