"""Replays under rules hold what the rules say."""

from __future__ import annotations

import numpy as np

from models.identification.levels import HolderLevels
from models.identification.replaying import RuledCluster
from models.identification.rules import (
    BACKFILL,
    BOUNDARY,
    CYCLE,
    ORDER,
    RUNNING_CPU,
    RUNNING_JOBS,
    SIZE,
    Bound,
    Edge,
    IdentifiedRule,
)
from tests.models.identification.hidden import DAY_S, PROCS, ZERO_S, hidden_log


def test_bounds_of_one_queue_and_of_one_holder_hold_for_these_alone() -> None:
    log = hidden_log(
        IdentifiedRule(RUNNING_JOBS, "user", 1, "user-1"), IdentifiedRule(RUNNING_CPU, "all", 4, queue="long")
    )
    user, queue = log.holders["user"].number, log.holders["queue"].number
    levels = HolderLevels(log, user).at(user, log.start)
    assert levels[RUNNING_JOBS][user == 1].max() == 1 < levels[RUNNING_JOBS][user == 2].max()
    long = HolderLevels(log, np.where(queue == 1, 0, -1))
    assert long.at(np.zeros(len(queue), dtype=np.int64), log.start)[RUNNING_CPU].max() == 4


def test_a_bound_changes_and_sizes_and_boundaries_take_processors() -> None:
    change = 30 * DAY_S
    bounds = tuple(
        Bound(f"user-{number}", since, value) for number in range(12) for since, value in ((0, 1), (change, 4))
    )
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", bounds=bounds))
    user = log.holders["user"].number
    count = HolderLevels(log, user).at(user, log.start)[RUNNING_JOBS]
    assert count[log.start < change].max() == 1 and count[log.start > change].max() == 4
    small = IdentifiedRule(SIZE, "all", bounds=(Bound("", 0, 8), Bound("", change, PROCS)))
    edge = IdentifiedRule(BOUNDARY, "all", edges=(Edge((0, 1, 2, 3, 4, 5, 6), 720, "UTC"),))
    log = hidden_log(small, edge)
    everybody = np.zeros(len(user), dtype=np.int64)
    used = HolderLevels(log, everybody).at(everybody, log.start)[RUNNING_CPU]
    assert used[log.start < change].max() <= 8 < used.max()
    noon = -(-(log.start + ZERO_S - 43_200) // DAY_S) * DAY_S + 43_200 - ZERO_S
    assert not ((log.start < noon) & (log.start + log.jobs.limit > noon) & (log.start + log.jobs.runtime > noon)).any()


def test_the_order_and_backfilling_are_in_words_and_a_job_that_never_starts_gives_nothing() -> None:
    log = hidden_log(count=400)
    words = (
        IdentifiedRule(ORDER, "all", word="fairshare:half_life_days=7"),
        IdentifiedRule(BACKFILL, "all", word="none"),
    )
    cluster = RuledCluster(PROCS, words)
    assert (cluster.order, cluster.backfill) == ("fairshare:half_life_days=7", "none")
    assert cluster.waits(log) is not None
    assert RuledCluster(PROCS, (IdentifiedRule(RUNNING_CPU, "all", 0),)).waits(log) is None


def test_a_scheduler_that_looks_once_a_cycle_starts_jobs_then_alone() -> None:
    log = hidden_log(IdentifiedRule(CYCLE, "all", 121))
    assert not (log.start % 121).any() and (log.wait >= 0).all()
    assert 0 < np.median(log.wait) < np.median(hidden_log(IdentifiedRule(CYCLE, "all", 600)).wait)


def test_who_is_excepted_has_another_bound() -> None:
    bounds = (Bound("user-1", 0, 5), Bound("user-2", 0, 1))
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 2, bounds=bounds))
    user = log.holders["user"].number
    levels = HolderLevels(log, user).at(user, log.start)[RUNNING_JOBS]
    assert [levels[user == number].max() for number in range(4)] == [2, 5, 1, 2]
