"""What every way of training a scheduling policy takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from models.scheduling.arena import Arena, Windows
from simulator.policies.network import KernelWeights


@dataclass(frozen=True)
class Lessons:
    """Windows to learn from, those of them for the first phase, windows to choose the epoch by, and those that confirm that the
    chosen one is better than what training started from.

    held_out: windows that show how PPO goes on, and choose nothing.

    after: how many unscored jobs come behind a window to learn from, which begins with the backlog that the learning policy has
    there. Where it is None, windows begin on an empty cluster, as the published protocols have it. Raises ValueError where there is
    no window to learn from, or none to choose by.
    """

    windows: Windows
    filtered: Windows
    validation: Windows
    confirming: Windows | None = None
    after: int | None = None
    held_out: Windows | None = None

    def __post_init__(self) -> None:
        if not len(self.windows) or not len(self.validation):
            raise ValueError("training needs at least one window to learn from and one to choose by")

    def begun(self, arena: Arena, windows: Windows, policy: KernelWeights) -> Windows:
        """The windows with what they begin with when this policy learns."""
        return windows if self.after is None else arena.with_backlogs(policy, windows, self.after)


@dataclass(frozen=True)
class EpochReport:
    """One row of the training curve; `policies.training_curve` in sql/tables/policies.sql has the units.

    validation_cost: None where it was not measured.
    """

    epoch: int
    phase: str
    decisions: int
    sampled_cost: float
    validation_cost: float | None
    approx_kl: float
    entropy: float
    updates: int


@dataclass(frozen=True)
class TrainedPolicy:
    """weights: of the best epoch by the jobs that choose. best_epoch: 0 for the weights that training began with.

    validation_cost: the goal's, mean over the jobs that choose. curve: one report per epoch. held_out: the goal's mean over
    `Lessons.held_out` under the policy that would be kept if training ended after each epoch, from epoch 0 on. Empty without such windows.
    """

    weights: KernelWeights
    best_epoch: int
    validation_cost: float
    curve: list[EpochReport]
    parameters: dict[str, Any]
    held_out: list[float] = field(default_factory=list)
