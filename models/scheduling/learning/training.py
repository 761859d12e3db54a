"""What every way of training a scheduling policy takes and gives."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from models.scheduling.arena import Windows
from models.scheduling.learning.checkpoint import weights_from_tensors, weights_to_tensors
from simulator.policies.network import KernelWeights


@dataclass(frozen=True)
class Lessons:
    """windows: to learn from; filtered: those of the first phase; validation: to choose the epoch by."""

    windows: Windows
    filtered: Windows
    validation: Windows

    def __post_init__(self) -> None:
        if not len(self.windows) or not len(self.validation):
            raise ValueError("training needs at least one window to learn from and one to choose by")


@dataclass(frozen=True)
class EpochReport:
    """One row of the training curve; see sql/tables/policies/training_curve.sql for units. validation_cost: None where not measured."""

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
    """weights: of the best epoch by the validation windows, 0 for those it began with; curve: one report per epoch. Costs are
    the goal's."""

    weights: KernelWeights
    best_epoch: int
    validation_cost: float
    curve: list[EpochReport]
    parameters: dict[str, Any]


@dataclass
class Progress:
    """A training so far: what its checkpoint holds besides the learner's own state."""

    curve: list[EpochReport]
    cost: float
    epoch: int
    weights: KernelWeights

    def report(self, report: EpochReport, weights: KernelWeights) -> None:
        """Adds an epoch, and keeps its weights if none was better on the validation windows."""
        self.curve.append(report)
        if report.validation_cost is not None and report.validation_cost < self.cost:
            self.cost, self.epoch, self.weights = report.validation_cost, report.epoch, weights

    def to_state(self) -> dict[str, Any]:
        return {
            "curve": [asdict(report) for report in self.curve],
            "best": [self.cost, self.epoch, weights_to_tensors(self.weights)],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Progress:
        cost, epoch, tensors = state["best"]
        return cls([EpochReport(**report) for report in state["curve"]], cost, epoch, weights_from_tensors(tensors))

    def trained(self, parameters: dict[str, Any]) -> TrainedPolicy:
        return TrainedPolicy(self.weights, self.epoch, self.cost, self.curve, parameters)
