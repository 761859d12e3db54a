"""What a trial of split windows keeps and counts, on a trace small enough for a test."""

from __future__ import annotations

import numpy as np
import pytest

from papers.deep_back_filling import split_trial
from papers.deep_back_filling.split_trial import PROC_CLASSES, SplitTrial, placed_by_job
from simulator.jobs.schedule import CANCELLED
from tests.papers.deep_back_filling.small import JOBS, small_options


def test_what_is_kept_is_not_made_again(trial: SplitTrial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.window(3, 1, 1)
    first = trial.window(3, 1, 1)  # from the file, as the next
    monkeypatch.setattr(split_trial, "learn", None)
    assert trial.window(3, 1, 1) == first and len(first["start"]) == len(JOBS)
    with pytest.raises(TypeError):
        SplitTrial(JOBS, None, options=small_options()).window(3, 1, 1)


def test_jobs_that_are_placed_are_counted_one_by_one() -> None:
    first = np.array([0, 2])
    submit = JOBS.submit
    starts = np.full((2, 4), CANCELLED)
    starts[0, :3] = submit[[0, 1, 2]] + np.array([0, 5, 9])
    starts[1, :2] = submit[[2, 3]] + 1
    rows = np.array(placed_by_job(JOBS, first, starts, ends_at=2))
    by_job = dict(zip(zip(rows[:, 0], rows[:, 1], strict=True), rows[:, 2:], strict=True))
    assert rows[:, 2].sum() == 4  # two in each episode
    twice = by_job[JOBS.procs[2], JOBS.runtime[2]]
    assert twice[0] >= 1 and rows[:, 3].sum() == 0 + 5 + 1 + 1


def test_classes_cover_all_widths(trial: SplitTrial) -> None:
    header, _, *rows = trial.classes_table().splitlines()
    assert header.count("|") == 2 + len(PROC_CLASSES) and len(rows) == 2 * 4
