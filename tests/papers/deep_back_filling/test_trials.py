"""Tests of checkpoints: where they begin, and that they are what the batch gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from papers.deep_back_filling.trials import (
    metrics_from_tensors,
    metrics_to_tensors,
    new_network,
    training_jobs,
    trial_starts,
    try_checkpoint,
    with_longest,
)
from tests.papers.deep_back_filling.small import JOBS, small_options
from tests.simulator.busy import PROCS


def test_tests_begin_behind_what_is_trained_on() -> None:
    options = small_options(cut=0.5)
    assert training_jobs(1200, options) == 600
    first = trial_starts(1200, options)
    assert len(first) == 5 and first.min() >= 600 and first.max() < 1200 - 150
    whole = small_options(cut=1.0, test_episodes=200)
    assert training_jobs(1200, whole) == 1200 and trial_starts(1200, whole).min() < 600
    with pytest.raises(ValueError, match="cut leaves 60 jobs"):
        training_jobs(1200, small_options(cut=0.05))


def test_a_checkpoint_is_tried_twice() -> None:
    torch.manual_seed(2)
    options = with_longest(JOBS, small_options())
    assert options.longest_s == JOBS.estimate.max()
    network = new_network(PROCS, options)
    test, again = (try_checkpoint(network, JOBS, PROCS, options, 7) for _ in range(2))
    assert test.episodes == 7
    for name in ("likeliest", "drawn"):
        one, two = getattr(test, name), getattr(again, name)
        assert one.wait_placed.shape == (5,)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(test.likeliest.wait_arrived, test.drawn.wait_arrived)
    kept = metrics_from_tensors(metrics_to_tensors(test.drawn))
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(kept, test.drawn, strict=True))
