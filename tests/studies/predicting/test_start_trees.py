"""Tests of studies/predicting: start_trees."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from models.waits.clock import LogClock
from studies.predicting.start_trees import (
    OWN_FEATURES,
    QUEUE_COLUMNS,
    SHORT_S,
    STATE_FEATURES,
    AgePart,
    IntervalsOverTime,
    PastQueue,
    StartTrees,
    queue_at,
)

CLOCK = LogClock(datetime(2026, 3, 2), "Europe/Berlin")  # a Monday
NO_AGE = AgePart(0.0, 1.0)
FEATURES = OWN_FEATURES + STATE_FEATURES


def jobs_of(*rows: dict[str, object]) -> pl.DataFrame:
    """Jobs of 2 processors that ask for an hour."""
    usual = dict.fromkeys(QUEUE_COLUMNS) | {
        "submit_s": 0, "procs": 2, "gpus": 0, "nodes": 1, "memory_mib": 100.0, "request_s": 3600, "priority": 10.0,
        "partition": "a", "account": "x",
    }  # fmt: skip
    types = {name: pl.Utf8 if name in ("partition", "account") else pl.Float64 for name in QUEUE_COLUMNS}
    types |= dict.fromkeys(("submit_s", "start_s", "leaves_s", "end_s"), pl.Int64)
    return pl.DataFrame([usual | row for row in rows], schema=types)


def test_features_are_what_is_ahead_and_what_runs() -> None:
    jobs = jobs_of(
        {"start_s": 50, "leaves_s": 50, "partition": "b"},  # runs
        {"start_s": 10, "leaves_s": 10, "end_s": 60, "procs": 8},  # is over, and had started of late
        {"priority": 30.0, "procs": 3, "gpus": 1, "account": "y", "start_s": 500, "leaves_s": 500},
        {"priority": 20.0, "submit_s": 40},
        {"priority": 20.0, "submit_s": 30, "partition": "b"},
        {"submit_s": 200},  # comes later
    )
    queue, places = queue_at(jobs, 100, CLOCK, 1000, NO_AGE)
    assert places.tolist() == [2, 4, 3]  # in the order of priority, then of submission
    assert queue.wait.tolist() == [400, 900, 900] and queue.started.tolist() == [True, False, False]
    table = pl.DataFrame(queue.features, schema=list(FEATURES), orient="row")
    assert table["ahead_all_jobs"].to_list() == [0, 1, 2] and table["ahead_all_procs"].to_list() == [0, 3, 5]
    assert table["ahead_partition_jobs"].to_list() == [0, 0, 1] and table["ahead_partition_gpu_hours"].to_list() == [
        0,
        0,
        1,
    ]
    assert table["ahead_account_jobs"].to_list() == [0, 0, 1] and table["ahead_both_jobs"].to_list() == [0, 0, 0]
    assert table["running_all_jobs"].to_list() == [1, 1, 1] and table["running_partition_procs"].to_list() == [0, 2, 0]
    assert table["day_starts_partition"].to_list() == [1, 1, 1] and table["day_wait_s_partition"].to_list() == [
        10,
        50,
        10,
    ]
    assert table["hour"].to_list() == [1.0] * 3 and table["weekday"].to_list() == [1.0] * 3
    assert table["fair_share"].is_nan().all() and table["waited_s"].to_list() == [100, 70, 60]
    early = queue.seen_at(300)
    assert early.wait.tolist() == [200, 200, 200] and not early.started.any()


def test_age_lets_a_job_overtake() -> None:
    jobs = jobs_of({"submit_s": 90, "priority": 12.0}, {"submit_s": 0, "priority": 10.0})
    assert queue_at(jobs, 100, CLOCK, 100, NO_AGE)[1].tolist() == [0, 1]
    assert queue_at(jobs, 100, CLOCK, 100, AgePart(10.0, 100.0))[1].tolist() == [1, 0]


def planted_queues(count: int, seed: int = 5) -> list[PastQueue]:
    """Queues in which a job waits a minute for each hour of processors ahead of it, more or less."""
    rng = np.random.default_rng(seed)
    queues = []
    for k in range(count):
        features = rng.random((40, len(FEATURES)))
        ahead = rng.integers(0, 1000, 40)
        features[:, FEATURES.index("ahead_all_proc_hours")] = ahead
        wait = (60 * ahead * rng.uniform(0.7, 1.4, 40)).astype(np.int64)
        queues.append(PastQueue(100_000 * k, features, wait, np.ones(40, dtype=np.bool_), rng.integers(0, 5, 40)))
    return queues


def test_trees_learn_what_was_planted_and_their_intervals_hold() -> None:
    queues = planted_queues(40)
    trees, intervals = StartTrees(), IntervalsOverTime()
    trees.fit(queues[:20])
    held = []
    for queue in queues[20:]:
        predicted = trees.predict(queue.features)
        ends = np.exp(intervals.moved(predicted, queue.now)) - SHORT_S
        intervals.note(queue, predicted)
        held.append((queue.wait >= ends[:, 0]) & (queue.wait <= ends[:, 2]))
        assert (ends[:, 0] <= ends[:, 1]).all() and (ends[:, 1] <= ends[:, 2]).all()
        assert np.median(np.abs(ends[:, 3] - queue.wait)) < 0.25 * np.median(queue.wait)
    assert 0.74 < np.mean(held[5:]) < 0.86
    blind = StartTrees(chosen=tuple(range(len(OWN_FEATURES))))
    blind.fit(queues[:20])
    error = np.abs(np.exp(blind.predict(queues[-1].features)[:, 1]) - SHORT_S - queues[-1].wait)
    assert np.median(error) > 0.4 * np.median(queues[-1].wait)
    with pytest.raises(ValueError, match="no queue"):
        trees.fit([])


def test_jobs_that_still_wait_make_intervals_no_shorter() -> None:
    [queue] = planted_queues(1)
    predicted = np.log(queue.wait[:, None] + SHORT_S) + np.array([-0.2, 0.0, 0.2, 0.0])
    late = queue._replace(wait=queue.wait * 3)
    ends = []
    for moment in (10**9, 60_000):  # when all is known, and while a part still waits
        intervals = IntervalsOverTime()
        intervals.note(late, predicted)
        ends.append(intervals.moved(predicted, queue.now + moment)[:, 2])
    assert (ends[1] >= ends[0] - 0.1).all() and (ends[0] > predicted[:, 2]).all()
