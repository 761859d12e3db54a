"""The entry of a worker process: it works under torchrun, has Ray start workers, and reports to Dagster if that has started it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dagster_pipes import PipesContext, encode_param

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import Launcher, PPOOptions, WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.task_folder import write_task
from models.scheduling.workers.worker import raise_failure
from pipelines import worker
from simulator.jobs.jobs import jobs_from_log


def task_folder(folder: Path, launcher: Launcher) -> Path:
    submit, ones = np.arange(40) * 10, np.ones(40, dtype=np.int64)
    arena = Arena(jobs_from_log(submit, ones * 60, ones, ones * 60), 2, parse_goal("bsld"))
    windows = Windows(np.array([0]), 8)
    options = WorkerOptions(workers=3, launcher=launcher)
    write_task(folder, WorkerTask(arena, Lessons(windows, windows, windows), PPOOptions(), 1, workers=options))
    return folder


@pytest.mark.parametrize("launcher", ["torchrun", "ray"])
def test_it_works_or_has_ray_start_workers(launcher: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    folder = task_folder(tmp_path, launcher)
    monkeypatch.setattr(worker, "die_with_parent", lambda: calls.append("tied"))
    monkeypatch.setattr(worker, "run_on_ray", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(worker, "work_and_report", calls.append)
    monkeypatch.setattr(worker, "die_with_run", lambda *arguments: calls.append(arguments))
    options = WorkerOptions(workers=3, launcher="ray")
    working = folder if launcher == "torchrun" else (folder, options, calls.append)
    monkeypatch.setattr("sys.argv", ["worker", str(folder)])
    worker.start()
    assert calls == ["tied", working]
    monkeypatch.setattr("sys.argv", ["worker", str(folder), "run"])
    worker.start()
    assert calls[2:] == ["tied", (folder, "run"), working]


def test_a_cluster_that_lets_nobody_in_ends_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise ValueError("no Ray cluster")

    monkeypatch.setattr(worker, "die_with_parent", lambda: None)
    monkeypatch.setattr(worker, "run_on_ray", refuse)
    monkeypatch.setattr("sys.argv", ["worker", str(task_folder(tmp_path, "ray"))])
    with pytest.raises(ValueError, match="no Ray cluster"):
        worker.start()
    with pytest.raises(ValueError, match="no Ray cluster"):
        raise_failure(tmp_path)


@pytest.mark.parametrize(
    ("rank", "lines"), [("0", ["epoch 2: 900 decisions, cost 1.235", "epoch 3: 800 decisions"]), ("1", [])]
)
def test_worker_0_alone_reports_to_dagster(
    rank: str, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(folder: Path, on_epoch: Callable[[EpochReport], None] = lambda report: None) -> None:
        on_epoch(EpochReport(2, "all", 900, 3.0, 1.23456, 0.1, 0.1, 4))
        on_epoch(EpochReport(3, "all", 800, 3.0, None, 0.1, 0.1, 4))

    context, messages = tmp_path / "context", tmp_path / "messages"
    names = (
        "asset_keys",
        "code_version_by_asset_key",
        "provenance_by_asset_key",
        "partition_key",
        "partition_key_range",
    )
    empty = dict.fromkeys((*names, "partition_time_window", "job_name"))
    context.write_text(json.dumps(empty | {"run_id": "r", "retry_number": 0, "extras": {}}))
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("DAGSTER_PIPES_CONTEXT", encode_param({"path": str(context)}))
    monkeypatch.setenv("DAGSTER_PIPES_MESSAGES", encode_param({"path": str(messages)}))
    monkeypatch.setattr(worker, "work", work)
    monkeypatch.setattr(PipesContext, "_instance", None)
    worker.work_and_report(tmp_path)
    sent = [json.loads(line) for line in messages.read_text().splitlines()] if messages.exists() else []
    assert [message["params"]["message"] for message in sent if message["method"] == "log"] == lines
