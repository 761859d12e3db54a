"""The stored windows are those of the filter, inside the part that is learned from."""

from __future__ import annotations

import numpy as np
import pytest

from assets.common.trace import Trace
from assets.policies.training import PolicyTask, arena_of_task, split_of
from models.scheduling.arena import Windows
from models.scheduling.trajectory_filter import filter_trajectories
from warehouse import Warehouse


def test_windows_and_range_are_those_of_the_filter(warehouse: Warehouse, trained_trace: tuple[Trace, int]) -> None:
    trace, _ = trained_trace
    split = split_of(trace, 64)
    learned = split.learn.scored.stop
    with warehouse.read() as connection:
        windows = connection.sql("FROM policies.trajectory_windows ORDER BY first_position").pl()
        row = connection.sql("FROM policies.trajectory_ranges").pl().row(0, named=True)
    length = (split.trained_jobs - learned) // 8  # a short trace gets shorter windows than the 64 asked for
    assert windows.height == 100 and windows["jobs"].unique().to_list() == [length] and length < 64
    assert windows["first_position"].max() + length <= learned  # type: ignore[operator]
    arena = arena_of_task(trace, PolicyTask(estimates="predicted"))
    kept = filter_trajectories(arena, Windows(windows["first_position"].to_numpy(), length))
    assert np.array_equal(windows["sjf_cost"], kept.score) and np.array_equal(windows["kept"], kept.kept)
    assert (row["windows"], row["kept"]) == (100, kept.kept.sum())
    assert [row[name] for name in ("median_cost", "high_cost", "skewness")] == pytest.approx(
        [kept.low, kept.high, kept.skewness]
    )
