"""Blocks hold every job that counts once, in order, and their means are those of a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.judging.blocks import BLOCKS, Blocks, block_edges, cut_into_blocks, started_everywhere
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED


def members(blocks: Blocks) -> list[list[int]]:
    """The jobs of each block, found job by job."""
    edges, parts, place = blocks.edges.tolist(), [[] for _ in range(len(blocks))], 0
    for job, counts in enumerate(blocks.counted.tolist()):
        if counts:
            parts[sum(edge <= place for edge in edges) - 1].append(job)
            place += 1
    return parts


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=120), st.integers(1, 40))
def test_every_job_that_counts_is_in_one_block_and_sizes_differ_by_one(counted: list[bool], count: int) -> None:
    if not any(counted):
        counted[0] = True
    blocks = cut_into_blocks(np.array(counted), count)
    parts = members(blocks)
    assert [job for part in parts for job in part] == [job for job, counts in enumerate(counted) if counts]
    sizes = [len(part) for part in parts]
    assert sizes == blocks.sizes.tolist() and max(sizes) - min(sizes) <= 1 and min(sizes) >= 1
    assert len(blocks) == min(count, sum(counted))


def test_larger_blocks_are_spread() -> None:
    assert np.diff(block_edges(22, 4)).tolist() == [5, 6, 5, 6]
    assert len(cut_into_blocks(np.ones(1000, dtype=np.bool_))) == BLOCKS == 16


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 16))
def test_means_and_percentiles_are_those_of_a_loop(seed: int, jobs: int, count: int) -> None:
    random = np.random.default_rng(seed)
    counted = random.random(jobs) < 0.7
    counted[random.integers(jobs)] = True
    values, weights = random.lognormal(size=(3, jobs)), random.integers(0, 3, jobs).astype(np.float64)
    values[:, ~counted] = np.nan
    weights[~counted] = np.nan
    blocks = cut_into_blocks(counted, count)
    for b, part in enumerate(members(blocks)):
        for policy, row in enumerate(values[:, part]):
            assert blocks.means(values)[policy, b] == pytest.approx(row.mean())
            area = weights[part]
            expected = (row @ area) / area.sum() if area.sum() else row.mean()
            assert blocks.means(values, weights)[policy, b] == pytest.approx(expected)
            assert blocks.percentiles(values, 99)[policy, b] == pytest.approx(np.percentile(row, 99))
    np.testing.assert_array_equal(blocks.means(values)[1], blocks.means(values[1]))
    np.testing.assert_array_equal(blocks.percentiles(values, 50)[1], blocks.percentiles(values[1], 50))


def test_equal_weights_change_nothing_and_negative_ones_are_refused() -> None:
    values = np.arange(10.0)
    blocks = cut_into_blocks(np.ones(10, dtype=np.bool_), 3)
    np.testing.assert_allclose(blocks.means(values, np.full(10, 0.25)), blocks.means(values))
    with pytest.raises(ValueError, match="negative, got -1"):
        blocks.means(values, np.where(values == 4, -1.0, 1.0))


def test_a_job_cancelled_in_one_replay_counts_for_no_policy() -> None:
    # One processor. The long first job holds it, and the third job gives up at 50 s unless it is served first.
    submit = np.array([0, 1, 2])
    runtime = np.array([10, 100, 5])
    cancel = np.array([10**9, 10**9, 50])
    jobs = Jobs(submit, runtime, np.array([1, 1, 1]), runtime, runtime, cancel=cancel)
    starts = np.array([replay(jobs, 1, policy, "none").start for policy in ("FCFS", "SJF")])
    assert starts[:, 2].tolist() == [CANCELLED, 10]
    counted = started_everywhere(starts)
    assert counted.tolist() == [True, True, False]
    assert started_everywhere(starts[1]).all()
    waits = (starts - submit).astype(np.float64)
    assert cut_into_blocks(counted, 1).means(waits).tolist() == [[4.5], [7.0]]


def test_no_job_is_refused() -> None:
    with pytest.raises(ValueError, match="no job to judge"):
        cut_into_blocks(np.zeros(5, dtype=np.bool_))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        cut_into_blocks(np.ones(5, dtype=np.bool_), 0)
