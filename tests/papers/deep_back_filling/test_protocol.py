"""Metrics of Deep Back-Filling's protocol, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from papers.deep_back_filling.protocol import ProtocolMetrics, protocol_metrics, protocol_starts
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED

SHOWN_METRICS = ([0, 0, 10, 20, 90], [9, 100, 50, 10, 1], [1, 3, 4, 1, 4], [200] * 5, [200] * 5)
HAND = Jobs(*(np.array(column) for column in SHOWN_METRICS))
"""On four processors. The first job is not of the episode."""


def by_hand(start: list[int]) -> ProtocolMetrics:
    return protocol_metrics(HAND, 4, np.array([1]), np.array([start]), placed=3, window=1)


def test_metrics_by_hand() -> None:
    """The job of 3 starts at 0, that of 1 at 20, the first of 4 at 100 when the episode ends; the last one waits since 90."""
    for last in (CANCELLED, 100, 5000):  # whenever it starts later: a tie is placed in the order of the log
        metrics = by_hand([0, 100, 20, last])
        assert [float(column[0]) for column in metrics] == pytest.approx(
            [
                90 / 3,
                (90 + 10) / 4,
                (90 + 10) / 100,
                (3 * 100 + 10) / 400,
                (90 * 4 * 50 + 10 * 4 * 1) / 100,
                2 / 3,  # those of 3, 4 and 4
                np.percentile([0, 90, 0, 10], 99),
                90,
                10 / 100,  # one job is visible: the second waits from 90 to 100
                10 / 100,
                4,
            ]
        )


def test_an_episode_needs_its_placed_jobs() -> None:
    with pytest.raises(ValueError, match=r"from job 1 has 2 started jobs, and is over with 3"):
        by_hand([0, 100, CANCELLED, CANCELLED])


def test_means_leave_out_episodes_without_wide_jobs() -> None:
    columns = [np.array([1.0, 3.0])] * len(ProtocolMetrics._fields)
    metrics = ProtocolMetrics(*columns)._replace(wide_placed=np.array([np.nan, 0.5]))
    assert float(metrics.means().wide_placed) == 0.5 and float(metrics.means().queue) == 2.0


def test_starts_are_those_of_the_comparison() -> None:
    assert np.array_equal(protocol_starts(10_000), np.random.default_rng(1).integers(0, 6000, 100))
    later = protocol_starts(10_000, first=5000)
    assert later.min() >= 5000 and later.max() < 6000 and len(later) == 100
    with pytest.raises(ValueError, match="take fewer later jobs"):
        protocol_starts(10_000, first=6000)
