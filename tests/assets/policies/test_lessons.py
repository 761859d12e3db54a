"""Which windows are learned from, which choose and which judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from assets.common.trace import load_trace
from assets.policies.lessons import lessons_of
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse, replace_partition


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return warehouse_of(tmp_path_factory.mktemp("lessons"), busy_log(400))


def filter_windows(warehouse: Warehouse, first: list[int], jobs: int = 20) -> None:
    rows = pl.DataFrame(
        {"first_position": first, "jobs": jobs, "sjf_cost": 1.0, "kept": [True, *[False] * (len(first) - 1)]}
    )
    kept = pl.DataFrame({"goal": ["bsld"], "windows": [len(first)], "kept": [1]} | {name: [1.0] for name in RANGES})
    with warehouse.write() as connection:
        replace_partition(connection, "policies.trajectory_windows", "mine", rows)
        replace_partition(connection, "policies.trajectory_ranges", "mine", kept)


RANGES = ("median_cost", "mean_cost", "skewness", "high_cost")


def test_lessons_are_those_of_the_filter(warehouse: Warehouse) -> None:
    trace = load_trace(warehouse, "mine")
    with pytest.raises(ValueError, match="has no trajectory filter"):
        lessons_of(warehouse, trace, "bsld")
    filter_windows(warehouse, [0, 50, 100])
    lessons, split = lessons_of(warehouse, trace, "bsld")
    assert np.array_equal(lessons.windows.first, [0, 50, 100]) and lessons.filtered.first.tolist() == [0]
    chosen_by, confirmed_by = lessons.validation, lessons.confirming
    assert confirmed_by is not None and chosen_by.continuous and confirmed_by.continuous and lessons.after == 20
    assert chosen_by.scored.start >= 120 and chosen_by.scored.stop == 160 <= confirmed_by.scored.start
    assert confirmed_by.scored.stop == split.trained_jobs == 200, "the split of `tracehouse train`"
    with pytest.raises(ValueError, match="made for the goal 'bsld', not 'wait'"):
        lessons_of(warehouse, trace, "wait")
    with pytest.raises(ValueError, match="made for another split"):
        lessons_of(warehouse, replace(trace, test_position=150), "bsld")
