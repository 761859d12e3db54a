"""The tables and pictures of Deep Back-Filling's figures, on a trace small enough for a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import papers.deep_back_filling.split_pictures as pictures
import papers.deep_back_filling.split_windows as benchmark
from papers.deep_back_filling.rivals import RIVALS, window_splits
from papers.deep_back_filling.training import train_deep_back_filling
from simulator.jobs.schedule import CANCELLED
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.simulator.busy import PROCS

OPTIONS = small_options()


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[benchmark.SplitTrial]:
    """Two windows' sizes with two seeds, which have learned for one epoch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmark, "PROCS", PROCS)
        patch.setattr(benchmark, "EPOCHS", 1)
        patch.setattr(benchmark, "LESSON_JOBS", 60)
        patch.setattr(benchmark, "JOB_EPISODES", 3)
        patch.setattr(benchmark, "JOB_SLOTS", 4)
        patch.setattr(benchmark, "INSPECTED", ())
        folder: Path = tmp_path_factory.mktemp("splits")
        yield benchmark.SplitTrial(JOBS, folder, seeds=(1, 2), slots=(4, 6), options=OPTIONS)


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "---" not in line]


def test_every_window_has_its_rule_and_its_agents(trial: benchmark.SplitTrial) -> None:
    header, *rows = cells(benchmark.table_of(trial.rivals() | trial.agents()))
    assert header[1:] == list(benchmark.COLUMNS)
    windows = [f"{front}-{back}" for slots in (4, 6) for front, back in window_splits(slots).values()]
    assert [row[0] for row in rows] == [*RIVALS, *(f"{w}, {who}" for w in windows for who in ("rule", "agent"))]
    assert " to " in rows[-1][header.index("wait arrived, s")]


def test_what_is_kept_is_not_made_again(trial: benchmark.SplitTrial, monkeypatch: pytest.MonkeyPatch) -> None:
    first = trial.window(3, 1, 1)
    monkeypatch.setattr(benchmark, "learn", None)
    assert trial.window(3, 1, 1) == first and len(first["start"]) == len(JOBS)
    with pytest.raises(TypeError):
        benchmark.SplitTrial(JOBS, None, options=OPTIONS).window(3, 1, 1)


def test_agents_are_judged_beside_their_rule_in_one_replay(trial: benchmark.SplitTrial) -> None:
    header, *rows = cells(benchmark.continuous_table(trial))
    assert len(rows) == 8 and {len(row) for row in rows} == {len(header)}
    counts = [sum(int(part.split()[0]) for part in row[-1].split(", ")) for row in rows]
    assert counts == [2] * 8


def test_jobs_that_are_placed_are_counted_one_by_one() -> None:
    first = np.array([0, 2])
    submit = JOBS.submit
    starts = np.full((2, 4), CANCELLED)
    starts[0, :3] = submit[[0, 1, 2]] + np.array([0, 5, 9])
    starts[1, :2] = submit[[2, 3]] + 1
    rows = np.array(benchmark.placed_by_job(JOBS, first, starts, ends_at=2))
    by_job = dict(zip(zip(rows[:, 0], rows[:, 1], strict=True), rows[:, 2:], strict=True))
    assert rows[:, 2].sum() == 4  # two in each episode
    twice = by_job[JOBS.procs[2], JOBS.runtime[2]]
    assert twice[0] >= 1 and rows[:, 3].sum() == 0 + 5 + 1 + 1


def test_classes_cover_all_widths(trial: benchmark.SplitTrial) -> None:
    header, *rows = cells(trial.classes_table())
    assert len(header) == 1 + len(benchmark.WIDTHS) and len(rows) == 2 * 4


def test_pictures_are_drawn(trial: benchmark.SplitTrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "JOB_SLOTS", 4)
    monkeypatch.setattr(pictures, "SMOOTHED", 2)
    paths = pictures.write_pictures(trial, tmp_path)
    train_deep_back_filling(JOBS, PROCS, OPTIONS, 1, tmp_path / "dbf-4-2-1.pt")
    curves = pictures.paper_curves(tmp_path)
    assert list(curves) == ["4-2-1"] and len(curves["4-2-1"]) == OPTIONS.episodes
    paths.append(pictures._written(pictures.learning_curves(curves), tmp_path / "backfilling-learning.png"))
    assert [path.name for path in paths] == [
        f"backfilling-{name}.png" for name in ("rivals", "splits", "unseen", "jobs", "learning")
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
