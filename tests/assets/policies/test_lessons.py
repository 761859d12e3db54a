"""Which windows are learned from, which choose and which judge."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assets.common.trace import load_trace
from assets.policies.lessons import judged_jobs, judging_part, judging_windows, learning_part, lessons_of
from models.scheduling.comparison import LEAST_DISJOINT, disjoint
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse, replace_partition


@pytest.mark.parametrize("test_position", [900, 6000, 12_000])
def test_judging_windows_allow_an_interval_and_follow_those_that_choose(test_position: int) -> None:
    windows = judging_windows(test_position, 512, 40)
    assert disjoint(windows) >= LEAST_DISJOINT
    assert learning_part(test_position) < judging_part(test_position) == windows.first[0]
    assert windows.first[-1] + windows.jobs == test_position


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
        lessons_of(warehouse, trace, 200, "bsld", 10)
    filter_windows(warehouse, [0, 50, 140])
    lessons = lessons_of(warehouse, trace, 200, "bsld", 10)
    assert np.array_equal(lessons.windows.first, [0, 50, 140]) and lessons.filtered.first.tolist() == [0]
    chosen_by = lessons.validation
    assert chosen_by.first.min() >= learning_part(200) and chosen_by.first.max() + chosen_by.jobs <= judging_part(200)
    with pytest.raises(ValueError, match="made for the goal 'bsld', not 'wait'"):
        lessons_of(warehouse, trace, 200, "wait", 10)
    with pytest.raises(ValueError, match="made for another split"):
        lessons_of(warehouse, trace, 190, "bsld", 10)


def test_a_challenger_is_judged_over_the_newest_jobs_of_the_training_part() -> None:
    judged = judged_jobs(1000)
    assert judged.start == judging_part(1000) and judged.stop == 1000
    assert learning_part(1000) < judged.start
