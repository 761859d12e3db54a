"""A training as a folder that all workers read: arrays, options, and where it has got to.

The process that opens the warehouse writes it, and reads the result. Workers know nothing but this folder. It may lie on a file system
that many machines share.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.training import Lessons
from models.scheduling.options import PopulationOptions, PPOOptions, WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask
from simulator.jobs.jobs import COLUMNS, Jobs
from simulator.policies.agents import agent_text, parse_agent
from simulator.policies.network import KernelWeights

FACTS, WINDOWS = "fact", "windows"
PARTS = ("windows", "filtered", "validation")
TASK_FILE, CHECKPOINT, PROGRESS, FAILURE = "task.json", "checkpoint.pt", "progress.jsonl", "failure.json"
HEARTBEAT = "heartbeat"
"""Name of the run that started workers on other machines, and a number that goes up as long as it is alive."""


def map_jobs(folder: Path, jobs: Jobs) -> Jobs:
    """The same jobs, mapped from files of the folder, so that the system can have their memory back. Tasks of the same file system share
    these files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in _arrays_of(jobs).items():
        _save(folder / f"{name}.npy", values)
    return _mapped_jobs(folder, jobs.origin, sorted(jobs.facts))


def write_task(folder: Path, task: WorkerTask) -> None:
    """Writes the task. Raises ValueError for one that cannot be written: windows with backlogs of their own, and a base without a name."""
    folder.mkdir(parents=True, exist_ok=True)
    arena, lessons = task.arena, task.lessons
    if not isinstance(arena.base, str):
        raise ValueError(f"workers know policies by name alone, and {arena.base.name!r} is not one of these")
    for name, values in _arrays_of(arena.jobs).items():
        _save(folder / f"{name}.npy", values)
    windows = {}
    for name in PARTS:
        part: Windows = getattr(lessons, name)
        if part.backlogs is not None:
            raise ValueError("windows of a task have no backlogs: workers keep them themselves")
        windows[name] = {"jobs": part.jobs, "continuous": part.continuous}
        np.save(folder / f"{WINDOWS}-{name}.npy", part.first)
    start: Any = task.start or ()
    for k, array in enumerate(start):
        np.save(folder / f"start-{k}.npy", np.asarray(array))
    document = {
        "origin": arena.jobs.origin,
        "facts": sorted(arena.jobs.facts),
        "cluster_procs": arena.cluster_procs,
        "goal": arena.goal.text,
        "backfill": arena.backfill,
        "rules": arena.rules,
        "agent": None if arena.agent is None else agent_text(arena.agent),
        "base": arena.base,
        "windows": windows,
        "after": lessons.after,
        "start": None if task.start is None else len(task.start),
        "options": task.options.model_dump(),
        "workers": task.workers.model_dump(),
        "population": None if task.population is None else task.population.model_dump(),
        "seed": task.seed,
        "repeated": {name: list(done) for name, done in task.repeated.items()},
    }
    (folder / TASK_FILE).write_text(json.dumps(document, indent=1))


def read_task(folder: Path) -> WorkerTask:
    """The inverse of `write_task`. Arrays are mapped into memory, so that workers of one machine share them."""
    document = json.loads((folder / TASK_FILE).read_text())

    def array(name: str) -> Any:
        return np.load(folder / f"{name}.npy")

    arena = Arena(
        _mapped_jobs(folder, document["origin"], document["facts"]),
        document["cluster_procs"],
        parse_goal(document["goal"]),
        document["backfill"],
        document["rules"],
        agent=None if document["agent"] is None else parse_agent(document["agent"]),
        base=document["base"],
    )
    parts = {
        name: Windows(array(f"{WINDOWS}-{name}"), part["jobs"], continuous=part["continuous"])
        for name, part in document["windows"].items()
    }
    start = (
        None if document["start"] is None else KernelWeights(*(array(f"start-{k}") for k in range(document["start"])))
    )
    return WorkerTask(
        arena,
        Lessons(**parts, after=document["after"]),
        PPOOptions(**document["options"]),
        document["seed"],
        start,
        WorkerOptions(**document["workers"]),
        document["repeated"],
        None if document["population"] is None else PopulationOptions(**document["population"]),
    )


def _arrays_of(jobs: Jobs) -> dict[str, Any]:
    """The columns and facts of jobs, by the names of their files."""
    return {name: getattr(jobs, name) for name in COLUMNS} | {f"{FACTS}-{k}": v for k, v in jobs.facts.items()}


def _mapped_jobs(folder: Path, origin: int, facts: list[str]) -> Jobs:
    def array(name: str) -> Any:
        return np.load(folder / f"{name}.npy", mmap_mode="r")

    columns = {name: array(name) for name in COLUMNS}
    return Jobs(**columns, origin=origin, facts={name: array(f"{FACTS}-{name}") for name in facts})


def _save(file: Path, array: Any) -> None:
    """Writes an array into a new file, or links the file that it is mapped from. An older file stays whole for whoever maps it."""
    mapped = _mapped_file(array)
    if mapped is not None and file.exists() and file.samefile(mapped):
        return
    file.unlink(missing_ok=True)
    if mapped is not None:
        try:
            os.link(mapped, file)
            return
        except OSError:  # of another file system
            pass
    np.save(file, array)


def _mapped_file(array: Any) -> Path | None:
    """The file of which an array is the whole content, None where there is none."""
    whole = array
    while whole is not None and not isinstance(whole, np.memmap):
        whole = getattr(whole, "base", None)
    if whole is None or whole.filename is None or not Path(whole.filename).exists():
        return None
    content = np.load(whole.filename, mmap_mode="r")
    same = content.shape == array.shape and content.dtype == array.dtype and array.flags.c_contiguous
    return Path(whole.filename) if same else None
