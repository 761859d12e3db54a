"""A task in a folder is the task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.scheduling.options import PopulationOptions, WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.task_folder import TASK_FILE, map_jobs, read_task, write_task
from simulator.policies.registry import parse_policy
from tests.models.scheduling.workers.quick import QUICK, same


def is_mapped(array: Any) -> bool:
    """Whether an array is a view of a mapped file."""
    return isinstance(array, np.memmap) or (array is not None and is_mapped(array.base))


def test_a_task_is_read_as_it_was_written(task: WorkerTask, tmp_path: Path) -> None:
    learned = train_by_ddppo(LoneWorker(), replace(task, options=QUICK.model_copy(update={"epochs": 1})))
    jobs = replace(task.arena.jobs, facts={"size": np.arange(len(task.arena.jobs.submit), dtype=np.float64)})
    rich = replace(
        task,
        arena=replace(task.arena, jobs=jobs),
        start=learned.weights,
        workers=WorkerOptions(workers=3, sync_fraction=0.6, backlog_policy="SAF"),
        repeated={"1": [3, 2, 3]},
        population=PopulationOptions(members=4, replaced=1),
        seed=11,
    )
    write_task(tmp_path, rich)
    again = read_task(tmp_path)
    assert again.fingerprint() == rich.fingerprint() != task.fingerprint()
    assert (again.workers, again.repeated, again.population) == (rich.workers, rich.repeated, rich.population)
    assert is_mapped(again.arena.jobs.submit)  # one copy for all workers of a machine
    assert again.start is not None
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(again.start, learned.weights, strict=True))


def test_it_is_learned_from_as_the_original(task: WorkerTask, tmp_path: Path) -> None:
    write_task(tmp_path, task)
    assert same(train_by_ddppo(LoneWorker(), read_task(tmp_path)), train_by_ddppo(LoneWorker(), task))


def test_mapped_jobs_are_shared_by_tasks_and_not_written_again(
    task: WorkerTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"size": np.arange(len(task.arena.jobs), dtype=np.float32)}
    mapped = map_jobs(tmp_path / "jobs", replace(task.arena.jobs, facts=facts))
    assert is_mapped(mapped.submit) and is_mapped(mapped.facts["size"])
    ours = replace(task, arena=replace(task.arena, jobs=mapped))
    for _ in range(2):
        write_task(tmp_path / "first", ours)
    for name in ("submit", "fact-size"):
        assert (tmp_path / "first" / f"{name}.npy").samefile(tmp_path / "jobs" / f"{name}.npy")
    assert read_task(tmp_path / "first").fingerprint() == ours.fingerprint()

    part = replace(ours, arena=replace(ours.arena, jobs=mapped.window(0, len(mapped) - 1)))  # a part is no whole file
    write_task(tmp_path / "first", part)
    assert (
        len(read_task(tmp_path / "first").arena.jobs)
        == len(mapped) - 1
        == len(np.load(tmp_path / "jobs" / "submit.npy")) - 1
    )

    def refuse(*_: object) -> None:
        raise OSError("another file system")

    monkeypatch.setattr("models.scheduling.workers.task_folder.os.link", refuse)
    write_task(tmp_path / "second", ours)
    assert not (tmp_path / "second" / "submit.npy").samefile(tmp_path / "jobs" / "submit.npy")
    assert read_task(tmp_path / "second").fingerprint() == ours.fingerprint()


def test_what_cannot_be_written_is_refused(task: WorkerTask, tmp_path: Path) -> None:
    unnamed = replace(task, arena=replace(task.arena, base=parse_policy("SAF")))
    with pytest.raises(ValueError, match="workers know policies by name alone, and 'SAF' is not one of these"):
        write_task(tmp_path, unnamed)
    lessons = replace(task.lessons, windows=task.arena.with_backlogs("FCFS", task.lessons.windows, 20))
    with pytest.raises(ValueError, match="windows of a task have no backlogs"):
        write_task(tmp_path, replace(task, lessons=lessons))
    assert not (tmp_path / TASK_FILE).exists()
