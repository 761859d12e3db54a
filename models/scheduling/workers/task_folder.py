"""A training as a folder that all workers read: arrays, options, and where it has got to.

The process that opens the warehouse writes it, and reads the result. Workers know nothing but this folder. It may lie on a file system
that many machines share.
"""

from __future__ import annotations

import json
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


def write_task(folder: Path, task: WorkerTask) -> None:
    """Writes the task. Raises ValueError for one that cannot be written: windows with backlogs of their own, and a base without a name."""
    folder.mkdir(parents=True, exist_ok=True)
    arena, lessons = task.arena, task.lessons
    if not isinstance(arena.base, str):
        raise ValueError(f"workers know policies by name alone, and {arena.base.name!r} is not one of these")
    for name in COLUMNS:
        np.save(folder / f"{name}.npy", getattr(arena.jobs, name))
    for name, values in arena.jobs.facts.items():
        np.save(folder / f"{FACTS}-{name}.npy", values)
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
        return np.load(folder / f"{name}.npy", mmap_mode="r")

    jobs = Jobs(
        **{name: array(name) for name in COLUMNS},
        origin=document["origin"],
        facts={name: array(f"{FACTS}-{name}") for name in document["facts"]},
    )
    arena = Arena(
        jobs,
        document["cluster_procs"],
        parse_goal(document["goal"]),
        document["backfill"],
        document["rules"],
        agent=None if document["agent"] is None else parse_agent(document["agent"]),
        base=document["base"],
    )
    parts = {
        name: Windows(np.array(array(f"{WINDOWS}-{name}")), part["jobs"], continuous=part["continuous"])
        for name, part in document["windows"].items()
    }
    start = (
        None
        if document["start"] is None
        else KernelWeights(*(np.array(array(f"start-{k}")) for k in range(document["start"])))
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
