"""Whole replays of our PBS against recorded runs."""

from __future__ import annotations

import pytest

from studies.pbs.free_replays import noise_s, replay_recorded, replay_seen, wait_distance
from studies.pbs.recorded_runs import read_recorded_run
from tests.shared import shared_file


@pytest.mark.parametrize(
    ("scenario", "difference_s", "pair_order"),
    [
        ("P1", 4.5, 0.985),
        ("P2", 0.9, 0.999),
        ("P4", 5.1, 0.986),
        ("P5", 6.6, 0.967),
        ("P7", 0.33, 1.0),
        ("X2", 0.1, 1.0),
        ("X9", 0.1, 1.0),
    ],
)
def test_a_replay_is_near_the_real_run(scenario: str, difference_s: float, pair_order: float) -> None:
    run = read_recorded_run(shared_file("golden", "pbs", scenario, "run1"))
    far = wait_distance(run, replay_recorded(run))
    assert far.difference_s <= difference_s and far.pair_order >= pair_order


@pytest.mark.parametrize("scenario", ["P1", "P1f", "P2", "P3", "P4", "P5", "P6", "P7"])
def test_a_replay_with_the_times_that_pbs_saw_is_the_real_run(scenario: str) -> None:
    run = read_recorded_run(shared_file("golden", "pbs", scenario, "run1"))
    far = wait_distance(run, replay_seen(run))
    assert far.difference_s <= (0.2 if scenario == "P4" else 0) and far.within_3_s == 1


def test_a_second_of_noise_moves_waits_by_seconds() -> None:
    low, high = noise_s(read_recorded_run(shared_file("golden", "pbs", "P1", "run1")))
    assert 1 < low < 5 < high
