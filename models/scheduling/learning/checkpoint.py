"""Checkpoints of a training: all that the rest of it depends on, so that it can go on as if it had not been interrupted."""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models.scheduling.arena import Arena
from simulator.policies.network import KernelWeights

if TYPE_CHECKING:
    from models.scheduling.learning.training import Lessons


def save_checkpoint(path: Path | None, training: str, state: dict[str, Any]) -> None:
    """Writes the state (numbers, text, tensors, and dictionaries and lists of them), complete or not at all; None: nowhere."""
    import torch

    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")  # another run may train the same
    torch.save({"training": training, "state": state}, unfinished)
    unfinished.replace(path)


def load_checkpoint(path: Path | None, training: str) -> dict[str, Any] | None:
    """The state, or None where there is none of this training. Raises ValueError for a file that cannot be read."""
    import torch

    try:
        whole = path.read_bytes() if path else None
    except FileNotFoundError:  # none yet, or another run of the same training has just ended
        whole = None
    if whole is None:
        return None
    try:
        found = torch.load(io.BytesIO(whole), weights_only=True)
        return found["state"] if found["training"] == training else None
    except Exception as error:  # torch raises whatever a damaged file leads to
        raise ValueError(
            f"{path}: not a checkpoint that training can go on from ({error}); remove it to begin anew"
        ) from None


def fingerprint(arena: Arena, lessons: Lessons, settings: object, start: KernelWeights | None) -> str:
    """Which training this is: a hash of all that it depends on. settings: whatever JSON can write."""
    digest = hashlib.sha256()
    jobs = arena.jobs
    arrays: list[Any] = [jobs.submit, jobs.runtime, jobs.procs, jobs.estimate, jobs.limit, jobs.user, jobs.hold]
    arrays += [jobs.known[name] for name in sorted(jobs.known)] + list(start or ())
    arrays += [windows.first for windows in (lessons.windows, lessons.filtered, lessons.validation)]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    told = [arena.cluster_procs, arena.goal.text, arena.backfill, arena.rules, settings]
    told += [lessons.windows.jobs, lessons.validation.jobs, sorted(jobs.known)]
    digest.update(json.dumps(told, sort_keys=True).encode())
    return digest.hexdigest()


def weights_to_tensors(weights: KernelWeights) -> list[Any]:
    import torch

    return [torch.from_numpy(array.copy()) for array in weights]


def weights_from_tensors(tensors: list[Any]) -> KernelWeights:
    return KernelWeights(*(tensor.numpy() for tensor in tensors))
