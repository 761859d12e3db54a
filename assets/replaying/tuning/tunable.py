"""A log that is replayed under edited settings: what a search needs of it, and replays that are stored as soon as they are made."""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.storage import write_whole
from assets.replaying.running.run import ReplayRun
from models.runtime.scores import USER_CLASSES, user_classes
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.metrics.metrics import SIZE_CLASSES, size_classes

IntArray = NDArray[np.int64]
Edits = tuple[str, ...]

CLASS_COLUMNS = ("queue", "qos")
"""Columns of core.jobs whose values are classes of jobs, besides the user's class and the size."""


class Classes(NamedTuple):
    """Kinds of jobs. names: of each class. of_job: the class of each job, int64 (jobs,)."""

    names: tuple[str, ...]
    of_job: IntArray


@dataclass(frozen=True)
class Tunable:
    """A log and the cluster that replays it.

    jobs: all, in order of submission. procs: of the cluster. classes: by kind. replay: the starts of the first so many jobs, with edits, in
    the run of a number; only a scheduler that is not deterministic has several `runs`. changes: in words, what edits change. key: of all
    that a replay depends on, besides its arguments. paced: a replay of all jobs whose users keep their pace, with edits. None where nobody
    asks for it, and it gives None where too few users react."""

    name: str
    jobs: Jobs
    procs: int
    classes: Mapping[str, Classes]
    replay: Callable[[Edits, int, int], Schedule]
    changes: Callable[[Edits], tuple[str, ...]]
    runs: int
    key: str
    paced: Callable[[Edits], ReplayRun | None] | None = None


@dataclass
class StoredReplays:
    """The replays of a tunable, each made once. folder: None for memory alone. made, seconds: of those that were made here."""

    tunable: Tunable
    folder: Path | None = None
    made: int = 0
    seconds: float = 0.0
    _kept: dict[str, NDArray[np.int32]] = field(default_factory=dict)

    def schedule(self, edits: Edits, run: int, jobs: int) -> Schedule:
        """The starts of the first `jobs` jobs. Raises as the tunable's replay."""
        submit = self.tunable.jobs.submit[:jobs]
        asked = json.dumps([self.tunable.key, sorted(edits), run, jobs])
        name = hashlib.sha256(asked.encode()).hexdigest()[:32]
        waits = self._stored(name)
        if waits is None or len(waits) != jobs:
            began = time.thread_time()
            start = self.tunable.replay(edits, run, jobs).start
            self.seconds, self.made = self.seconds + time.thread_time() - began, self.made + 1
            waits = np.where(start == CANCELLED, CANCELLED, start - submit).astype(np.int32)
            self._store(name, waits)
        start = np.where(waits == CANCELLED, CANCELLED, submit + waits)
        return Schedule(start, np.zeros(jobs, dtype=np.bool_))

    def _stored(self, name: str) -> NDArray[np.int32] | None:
        if self.folder is None:
            return self._kept.get(name)
        path = self.folder / f"{name}.npz"
        if not path.exists():
            return None
        with np.load(path) as stored:
            waits: NDArray[np.int32] = stored["wait_s"]
        return waits

    def _store(self, name: str, waits: NDArray[np.int32]) -> None:
        if self.folder is None:
            self._kept[name] = waits
            return
        packed = io.BytesIO()
        np.savez_compressed(packed, wait_s=waits)
        write_whole(self.folder / f"{name}.npz", packed.getvalue())


def classes_of(rows: pl.DataFrame, user: IntArray, procs: IntArray, cluster_procs: int) -> dict[str, Classes]:
    """The kinds of jobs that are guarded. rows: with CLASS_COLUMNS. user, procs: of each job."""
    classes = {
        "user": Classes(USER_CLASSES, user_classes(user)),
        "size": Classes(SIZE_CLASSES, size_classes(procs, cluster_procs)),
    }
    for column in CLASS_COLUMNS:
        labels = rows[column].fill_null("(none)")
        names = tuple(labels.unique().sort())
        if len(names) > 1:
            classes[column] = Classes(names, np.searchsorted(np.array(names), labels.to_numpy()).astype(np.int64))
    return classes
