"""Ray Train starts the same workers as torchrun."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from models.scheduling.learning.training import EpochReport, TrainedPolicy
from models.scheduling.options import WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.launching import train_on_workers
from models.scheduling.workers.ray_launcher import SETTINGS, check_ray, run_on_ray
from tests.models.scheduling.workers.processes import processes_of, same


@pytest.mark.launchers
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra cluster")
def test_workers_of_ray_learn_what_one_learns(
    task: WorkerTask, alone: TrainedPolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    task = replace(task, workers=WorkerOptions(workers=2, launcher="ray"))
    reports: list[EpochReport] = []
    assert same(train_on_workers(tmp_path / "training", task, reports.append), alone)
    assert reports == alone.curve
    assert processes_of(tmp_path / "training") == {}
    assert not (tmp_path / "home").exists()  # neither a token nor results


def test_without_ray_its_launcher_is_refused(task: WorkerTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'tracehouse\[cluster\]'"):
        check_ray()
    with pytest.raises(ValueError, match="Ray, which is not installed"):
        train_on_workers(tmp_path, replace(task, workers=WorkerOptions(launcher="ray")))


def test_a_cluster_that_lets_nobody_in_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(address: str, **_: object) -> None:
        raise ConnectionError("Failed to\nconnect")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init, __version__="2.60.0"))
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    with monkeypatch.context() as patch:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        with pytest.raises(
            ValueError, match=r"RAY_ADDRESS head:6379: .* Ray 2\.60\.0.*RAY_AUTH_TOKEN.*Failed to connect"
        ):
            run_on_ray(tmp_path, WorkerOptions(launcher="ray"), lambda folder: None)
