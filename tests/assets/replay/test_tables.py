"""The arithmetic of the series over time."""

from __future__ import annotations

import numpy as np

from assets.replay.tables import STEPS_S, mean_level, step_for


def test_means_over_steps_by_hand() -> None:
    edges = np.array([0, 10, 20, 30])
    found = mean_level(edges, np.array([5, 8, 20]), np.array([15, 8, 30]), np.array([2, 100, 3]))
    assert found.tolist() == [1.0, 1.0, 3.0]  # 2 for five seconds in each of the first two; nothing lasts 0 s
    outside = mean_level(edges, np.array([-10]), np.array([15]), np.array([4]))
    assert outside.tolist() == [4.0, 2.0, 0.0]
    assert mean_level(edges, *(np.zeros(0, dtype=np.int64),) * 3).tolist() == [0.0, 0.0, 0.0]


def test_steps_are_hourly_for_usual_traces() -> None:
    hour = 3600
    assert step_for(1) == 60
    assert step_for(3 * hour) == 60
    assert step_for(10 * hour) == 300
    assert step_for(30 * hour) == 900
    assert [step_for(days * 24 * hour) for days in (5, 30, 365, 800)] == [hour] * 4
    assert step_for(5 * 365 * 24 * hour) == 6 * hour
    assert step_for(50 * 365 * 24 * hour) == 24 * hour == STEPS_S[-1]


def test_a_job_that_is_thousands_of_years_away_makes_no_more_steps_than_others() -> None:
    step_s = step_for(100_000_000_000)
    assert step_s % STEPS_S[-1] == 0 and 10_000 < 100_000_000_000 / step_s <= 20_000
