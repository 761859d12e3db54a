"""The pictures of Deep Back-Filling's figures are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.deep_back_filling import split_pictures
from papers.deep_back_filling.split_trial import SplitTrial
from papers.deep_back_filling.training import train_deep_back_filling
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.simulator.busy import PROCS


def test_pictures_are_drawn(trial: SplitTrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_pictures, "JOB_SLOTS", 4)
    monkeypatch.setattr(split_pictures, "SMOOTHED", 2)
    options = small_options()
    train_deep_back_filling(JOBS, PROCS, options, 1, tmp_path / "dbf-4-2-1.pt")
    curves = split_pictures.paper_curves(tmp_path)
    assert list(curves) == ["4-2-1"] and len(curves["4-2-1"]) == options.episodes
    paths = split_pictures.write_split_pictures(trial, tmp_path, tmp_path)
    assert [path.name for path in paths] == [
        f"backfilling-{name}.png" for name in ("rivals", "splits", "unseen", "jobs", "learning")
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
