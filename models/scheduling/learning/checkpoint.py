"""The loop of every training. After an epoch it keeps all that the rest depends on, so that it can continue as if it was never
interrupted."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from glob import escape
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import numpy as np

from models.scheduling.arena import Arena
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from simulator.jobs.jobs import Jobs
from simulator.policies.agents import agent_text
from simulator.policies.network import KernelWeights
from simulator.policies.observation import ALL_SIGNALS, FACTS

Report = TypeVar("Report")


@dataclass
class TrainingProgress:
    """A training so far: what its checkpoint holds besides the learner's own state.

    validation_cost, epoch, weights: of the best epoch so far. held_out: as TrainedPolicy has it.
    """

    curve: list[EpochReport]
    validation_cost: float
    epoch: int
    weights: KernelWeights
    held_out: list[float] = field(default_factory=list)

    def report(self, report: EpochReport, weights: KernelWeights) -> None:
        """Adds an epoch, and keeps its weights if no earlier one had a lower validation cost."""
        self.curve.append(report)
        if report.validation_cost is not None and report.validation_cost < self.validation_cost:
            self.validation_cost, self.epoch, self.weights = report.validation_cost, report.epoch, weights

    def to_state(self) -> dict[str, Any]:
        """The form that `save_checkpoint` writes."""
        return {
            "curve": [asdict(report) for report in self.curve],
            "best": [self.validation_cost, self.epoch, weights_to_tensors(self.weights)],
            "held_out": self.held_out,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> TrainingProgress:
        """The inverse of `to_state`."""
        cost, epoch, tensors = state["best"]
        curve, held_out = [EpochReport(**report) for report in state["curve"]], list(state.get("held_out", ()))
        return cls(curve, cost, epoch, weights_from_tensors(tensors), held_out)

    def trained(self, parameters: dict[str, Any]) -> TrainedPolicy:
        """The policy of the best epoch."""
        return TrainedPolicy(self.weights, self.epoch, self.validation_cost, self.curve, parameters, self.held_out)


class Trainee(Protocol[Report]):
    """What a training changes from epoch to epoch."""

    @property
    def curve(self) -> list[Report]:
        """The reports of all epochs so far."""
        ...

    def begin(self) -> None:
        """Called before the first epoch, where there is no checkpoint to continue from."""

    def run_epoch(self, epoch: int) -> Report:
        """Epochs count from 1. The curve has the report afterwards."""
        ...

    def to_state(self) -> dict[str, Any]:
        """All that the rest of the training depends on, as `save_checkpoint` writes it."""
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

    def keep(self, state: dict[str, Any]) -> None:
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
            checkpoint.keep(trainee.to_state())
        on_epoch(report)


def save_checkpoint(path: Path | None, training: str, state: dict[str, Any]) -> None:
    """Writes the state, complete or not at all. It holds numbers, text, tensors, and dictionaries and lists of them.

    path: None for no checkpoint. Files that killed processes have left beside it are removed. Raises OSError, which names the path.
    """
    import torch

    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_unfinished(path)
    content = io.BytesIO()  # torch would raise an error that does not say that the disk is full
    torch.save({"training": training, "state": state}, content)
    unfinished = None
    try:
        with _unfinished_file(path) as file:
            unfinished = Path(file.name)
            file.write(content.getbuffer())
            file.flush()
            unfinished.replace(path)
    except OSError as error:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def _unfinished_file(path: Path) -> IO[bytes]:
    """A new file beside the checkpoint, open for writing and locked as long as it is open, so that nobody removes it.

    Another run may train the same at the same time, and on another host it may have the same number.
    """
    while True:
        file = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(8)}.part").open("xb")
        with suppress(OSError):  # the file system has no locks: then no process gets one, and none removes the file
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # it was not removed before it was locked
            return file
        file.close()


def _remove_unfinished(path: Path) -> None:
    """Removes the files of processes that were killed while they wrote this checkpoint. A lock ends with its process."""
    for unfinished in path.parent.glob(f"{escape(path.name)}.*.part"):
        with suppress(OSError), unfinished.open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            unfinished.unlink()


def load_checkpoint(path: Path | None, training: str) -> dict[str, Any] | None:
    """The state, or None where there is none of this training. Raises ValueError for a file that cannot be read.

    Files that killed processes have left beside it are removed.
    """
    content = read_checkpoint(path)
    return content["state"] if content is not None and content["training"] == training else None


def read_checkpoint(path: Path | None) -> dict[str, Any] | None:
    """`training` and `state` of the training in the file, whichever it is, or None where there is none. Raises as `load_checkpoint`."""
    import torch

    if path is not None:
        _remove_unfinished(path)
    try:
        whole = path.read_bytes() if path else None
    except FileNotFoundError:  # none yet, or another run of the same training has just ended
        whole = None
    if whole is None:
        return None
    try:
        content = torch.load(io.BytesIO(whole), weights_only=True)
        return {"training": content["training"], "state": content["state"]}
    except Exception as error:  # torch raises whatever a damaged file leads to
        raise ValueError(
            f"{path}: not a checkpoint that training can continue from ({error}). Remove it to begin again"
        ) from None


def fingerprint(arena: Arena, lessons: Lessons, settings: object, start: KernelWeights | None) -> str:
    """Which training this is: a hash of all that it depends on. settings: any values that JSON can write."""
    jobs = arena.jobs
    arrays = [*visible_columns(jobs), *(start or ())]
    arrays += [windows.first for windows in (lessons.windows, lessons.filtered, lessons.validation)]
    arrays += [] if lessons.held_out is None else [lessons.held_out.first]
    values = [arena.cluster_procs, arena.goal.text, arena.backfill, arena.rules, settings]
    values += [lessons.windows.jobs, lessons.validation.jobs, lessons.validation.continuous, lessons.after]
    values.append(sorted(jobs.facts))
    values.append([*FACTS, *ALL_SIGNALS])  # a network that is kept has their places
    if arena.ground:
        values.append(arena.ground)
    if arena.agent is not None:
        values += [agent_text(arena.agent), arena.base if isinstance(arena.base, str) else arena.base.name]
    return training_hash(arrays, values)


def visible_columns(jobs: Jobs) -> list[Any]:
    """All that a network can see of jobs."""
    columns = [jobs.submit, jobs.runtime, jobs.procs, jobs.estimate, jobs.limit, jobs.user, jobs.hold, jobs.admit]
    return [*columns, *(jobs.facts[name] for name in sorted(jobs.facts))]


def training_hash(arrays: Iterable[Any], values: object) -> str:
    """Of arrays, and of any values that JSON can write."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps(values, sort_keys=True).encode())
    return digest.hexdigest()


def weights_to_tensors(weights: KernelWeights) -> list[Any]:
    """A network's arrays as torch tensors, in their order."""
    import torch

    return [torch.from_numpy(array.copy()) for array in weights]


def weights_from_tensors(tensors: list[Any]) -> KernelWeights:
    """The inverse of `weights_to_tensors`."""
    return KernelWeights(*(tensor.numpy() for tensor in tensors))
