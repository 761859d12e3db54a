"""The loop of every training: epoch after epoch, each followed by a checkpoint that the rest can continue from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from models.scheduling.learning.checkpoint import TrainingProgress, load_checkpoint, save_checkpoint
from models.scheduling.learning.training import EpochReport

Report = TypeVar("Report")


class Trainee(Protocol[Report]):
    """What a training changes from epoch to epoch. curve: the reports of all epochs so far."""

    @property
    def curve(self) -> list[Report]: ...

    def begin(self) -> None:
        """Called before the first epoch, where there is no checkpoint to continue from."""

    def run_epoch(self, epoch: int) -> Report:
        """Epochs count from 1. The curve has the report afterwards."""
        ...

    def to_state(self) -> dict[str, Any]:
        """All that the rest of the training depends on, as models.scheduling.learning.checkpoint.save_checkpoint writes it."""
        ...

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""


class BestKept:
    """The part of a trainee that keeps the policy of the best epoch. progress: set by `begin` and `load_state`."""

    progress: TrainingProgress

    @property
    def curve(self) -> list[EpochReport]:
        """The reports of all epochs so far."""
        return self.progress.curve


class Checkpoint:
    """The file that a training continues from, None for none. training: its fingerprint; a file of another one is left alone until
    the first epoch is written."""

    def __init__(self, path: Path | None, training: str) -> None:
        self.path, self.training = path, training

    def load(self) -> dict[str, Any] | None:
        """The state, None where there is none of this training. Raises ValueError for a file that cannot be read."""
        return load_checkpoint(self.path, self.training)

    def save(self, state: dict[str, Any]) -> None:
        """Writes the state, complete or not at all. Raises OSError."""
        save_checkpoint(self.path, self.training, state)


def train_epochs(
    trainee: Trainee[Report],
    epochs: int,
    checkpoint: Checkpoint,
    on_epoch: Callable[[Report], None] = lambda report: None,
    is_kept: Callable[[int], bool] = lambda epoch: True,
) -> None:
    """Trains up to so many epochs, those of the checkpoint included.

    on_epoch: called for the epochs of the checkpoint, and then for every new one once it is kept. is_kept: whether the checkpoint is
    written after an epoch. It always is after the last one. Raises as the trainee and the checkpoint do.
    """
    state = checkpoint.load()
    if state is None:
        trainee.begin()
    else:
        trainee.load_state(state)
    for report in trainee.curve:
        on_epoch(report)
    for epoch in range(len(trainee.curve) + 1, epochs + 1):
        report = trainee.run_epoch(epoch)
        if is_kept(epoch) or epoch == epochs:
            checkpoint.save(trainee.to_state())
        on_epoch(report)
