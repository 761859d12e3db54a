"""What follows for many workers from times of a few."""

from __future__ import annotations

import pytest

from benchmarks.workers import Costs, sum_s

MEASURED = Costs(rollout_s=0.64e-3, decisions=28_145 / 128, update_s=6.9e-6, hop_s=25e-6, passes=4, steps=28)
"""Times of one worker with a critic on Lublin-1."""


@pytest.mark.parametrize(
    ("windows", "workers", "tree", "share"),
    [
        (128, 1, False, 1.0),
        (128, 128, False, 0.83),
        (1024, 128, False, 0.97),
        (128, 1024, False, 0.37),
        (1024, 1024, False, 0.83),
        (128, 1024, True, 0.98),
    ],
)
def test_messages_cost_more_than_they_bring_where_workers_have_few_windows(
    windows: int, workers: int, tree: bool, share: float
) -> None:
    assert MEASURED.efficiency(windows, workers, tree) == pytest.approx(share, abs=0.01)


def test_a_sum_goes_once_around_for_each_half() -> None:
    assert [MEASURED.message_s(workers) for workers in (1, 2, 4)] == pytest.approx([0, 50e-6, 150e-6])
    assert MEASURED.message_s(1024, tree=True) == pytest.approx(500e-6)


def test_sums_are_timed_in_processes() -> None:
    best, median = sum_s(2, 960)
    assert 1e-6 < best <= median < 1.0
