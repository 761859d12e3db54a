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
    """A learner that replays held-out windows before the first epoch, and whenever its policy becomes the one to keep.

    costs: what each window costs under the policy that would be kept, from epoch 0 on, float64 (windows,) each.
    """

    def __init__(
        self, arena: Arena, options: PPOOptions, seed: int, start: KernelWeights | None, held_out: Windows
    ) -> None:
        super().__init__(arena, options, seed, start)
        self._held_out, self._least = held_out, np.inf
        # what is learned before is validated before the first epoch, too
        self.costs: list[FloatArray] = [] if start is not None else [super().validate(held_out)]

    def validate(self, windows: Windows) -> FloatArray:
        """As that of a learner."""
        chosen_by = super().validate(windows)
        cost = float(chosen_by.mean())
        self.costs.append(super().validate(self._held_out) if cost < self._least else self.costs[-1])
        self._least = min(cost, self._least)
        return chosen_by

    def to_state(self) -> dict[str, Any]:
        """As that of a learner, with the costs so far."""
        import torch

        return super().to_state() | {"held_out": torch.from_numpy(np.array(self.costs)), "least": self._least}

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        super().load_state(state)
        self.costs, self._least = list(state["held_out"].numpy()), state["least"]


@dataclass(frozen=True)
class HeldOutCurves:
    """Trains by PPO, as models.scheduling.learning.recipes.PPOTraining does, and keeps what each seed costs on the held-out windows.

    costs: by seed, as those of a WatchedLearner.
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

    def means(self, seed: int) -> list[float]:
        """Mean cost of the policy that would be kept if training ended after each epoch, from epoch 0 on. Empty where it was not PPO."""
        return [float(costs.mean()) for costs in self.costs.get(seed, ())]
