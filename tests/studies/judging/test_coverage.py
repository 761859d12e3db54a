"""The study of coverage: resamples by running sums are those by jobs, and targets those of blocks that are cut by hand."""

from __future__ import annotations

import numpy as np
import pytest

from models.judging.intervals import cut_into_blocks
from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from simulator.jobs.jobs import jobs_from_log
from studies.judging.coverage import (
    BLOCK_COUNTS,
    HOP_COST,
    LOGS,
    RIVALS,
    RIVALS_OF_TREE,
    MeanSeries,
    PercentileSeries,
    draw_runs,
    hop_costs,
    outcome,
    percentile_coverage,
    rivals_of,
    synthetic,
)

JOBS = 700
RANDOM = np.random.default_rng(1)
VALUES = RANDOM.lognormal(size=(3, JOBS))
WEIGHTS = RANDOM.lognormal(size=JOBS)
WIDE = RANDOM.random(JOBS) < 0.3


@pytest.mark.parametrize("counted", [np.ones(JOBS, dtype=np.bool_), WIDE])
def test_resamples_by_running_sums_are_those_of_the_jobs(counted: np.ndarray) -> None:
    means = MeanSeries(VALUES, WEIGHTS, counted, 0.0)
    percentiles = PercentileSeries(VALUES, 0.0)
    random = np.random.default_rng(2)
    for _ in range(20):
        runs = draw_runs(random, JOBS, 100.0)
        assert runs.length.sum() == JOBS and (runs.length > 0).all()
        jobs = np.concatenate([np.arange(a, a + n) for a, n in zip(runs.start, runs.length, strict=True)]) % JOBS
        of_means, of_percentiles = means.block_means(runs, BLOCK_COUNTS), percentiles.block_means(runs, BLOCK_COUNTS)
        for k, count in enumerate(BLOCK_COUNTS):
            blocks = cut_into_blocks(counted[jobs], count)
            np.testing.assert_allclose(of_means[k], blocks.means(VALUES[:, jobs], WEIGHTS[jobs]))
            every = cut_into_blocks(np.ones(JOBS, dtype=np.bool_), count)
            np.testing.assert_allclose(of_percentiles[k], every.percentiles(VALUES[:, jobs], 99))


def test_originals_are_the_blocks_at_every_position() -> None:
    originals = MeanSeries(VALUES, WEIGHTS, WIDE, 0.0).originals(10)
    wide = np.flatnonzero(WIDE)
    size = len(wide) // 10
    assert originals.shape == (3, len(wide))
    for first in (0, 17, len(wide) - 3):
        jobs = np.take(wide, range(first, first + size), mode="wrap")
        expected = (VALUES[:, jobs] @ WEIGHTS[jobs]) / WEIGHTS[jobs].sum()
        np.testing.assert_allclose(originals[:, first], expected)
    p99s = PercentileSeries(VALUES, 0.0).originals(10)
    np.testing.assert_allclose(p99s[:, 0], np.percentile(VALUES[:, :70], 99, axis=1))


def test_too_few_jobs_that_count_are_refused() -> None:
    few = np.zeros(JOBS, dtype=np.bool_)
    few[0] = True
    with pytest.raises(ValueError, match="too few for 8 blocks"):
        MeanSeries(VALUES, WEIGHTS, few, 0.0).block_means(draw_runs(np.random.default_rng(1), JOBS, 100.0), (8,))


def test_mean_lengths_of_runs() -> None:
    random = np.random.default_rng(1)
    lengths = np.concatenate([draw_runs(random, 100_000, 500.0).length for _ in range(20)])
    assert lengths.mean() == pytest.approx(500, rel=0.1)


@pytest.mark.parametrize("name", ["normal", "lognormal", "AR(1) .5", "bursts"])
def test_synthetic_series_have_the_mean_that_they_say(name: str) -> None:
    series, mean = synthetic(name, 20_000, 40)
    assert series.shape == (20_000, 40)
    assert series.mean() == pytest.approx(mean, abs=0.015)
    assert series[:, 0].mean() == pytest.approx(mean, abs=0.05)  # from the first block on
    quartiles = np.percentile(series, [25, 75], axis=0)
    assert quartiles[:, 0] == pytest.approx(quartiles[:, -1], abs=0.06)


def test_the_old_interval_is_that_of_windows_that_share_no_job() -> None:
    series, mean = synthetic("lognormal", 60, 16)
    windows = Windows(np.arange(16) * 100, 100)
    old = [paired_difference(row, np.zeros(16), windows, 1) for row in series]
    holds = np.mean([d.low <= mean <= d.high for d in old if d.low is not None and d.high is not None])
    assert percentile_coverage(series, mean) == pytest.approx(holds, abs=0.05)


def test_hop_costs_are_those_of_best_fit_and_its_rivals() -> None:
    """First fit costs more than best fit on average, and waiting for a leaf less."""
    random = np.random.default_rng(4)
    runtime = random.integers(100, 4000, 250)
    jobs = jobs_from_log(np.cumsum(random.integers(0, 300, 250)), runtime, random.integers(1, 40, 250), 2 * runtime)
    costs = hop_costs("KTH-SP2", jobs)
    assert costs.shape == (1 + len(RIVALS_OF_TREE), 250) and LOGS["KTH-SP2"].tree == "16x8x1"
    means = dict(zip(("tree", *RIVALS_OF_TREE), costs.mean(axis=1), strict=True))
    assert means["first"] > means["tree"] > means["tree, 1@4h"]
    assert rivals_of(HOP_COST) == RIVALS_OF_TREE and rivals_of("mean wait") == tuple(RIVALS)


def test_an_outcome_counts_what_holds() -> None:
    series, _ = synthetic("normal", 2000, 16)
    right, high, low = (outcome("x", series, target, 0.0) for target in (0.0, 3.0, -3.0))
    assert 0.94 < right.holds < 0.98 and right.own == pytest.approx(right.holds, abs=0.01)
    assert right.cases + round(2000 * right.none) == 2000 and right.unjoined == round(2000 * right.none) + right.joined
    assert (high.holds, high.too_low) == (0.0, 1.0) and (low.holds, low.too_low) == (0.0, 0.0)
    assert right.joined_hold == right.joined > 0
    assert np.isnan(outcome("x", series[:40], 0.0, 0.0).holds)
