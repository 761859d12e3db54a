"""Sequences stepped side by side: what a critic sees, and what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from papers.rlschert.cluster import Setting, SlotCluster, take_sequences
from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.rules import LONGEST, SLOTS, WAIT, Sequences
from papers.rlschert.training import RLSchertPolicy
from papers.rlschert.workload import Workload, draw_sequences


def test_the_future_of_a_sequence() -> None:
    """Three jobs of 4, 2 and 8 units on 1, 2 and 10 processors, at 0, 1 and 5; the first runs, the second waits."""
    length, procs = np.array([[4, 2, 8]]), np.array([[1, 2, 10]])
    remaining = np.maximum(length[:, :, None] - np.arange(LONGEST), 1).astype(np.int16)
    cluster = SlotCluster(Sequences(np.array([[0, 1, 5]]), length, procs, length.copy(), remaining), Setting(procs=16))
    cluster.begin()
    for action in (0, WAIT):
        cluster.step(np.array([action]))
    (told,) = cluster.future()
    assert told == pytest.approx([1 / 3, 0, (1 / 4 + 1 / 2) / 10, (1 * 3 + 2 * 2) / 16 / LONGEST])


def test_a_run_that_is_cut_off_has_no_slowdown() -> None:
    sequences = draw_sequences(Workload(jobs=30), 2, seed=1)
    network = new_rlschert_network("facts", 16, kills=False)
    cut = RLSchertPolicy(network, "facts", False).run(sequences, Setting(), max_actions=5)
    assert not cut.over.any() and np.isnan(cut.slowdowns()).all()


def test_some_of_the_sequences() -> None:
    sequences = draw_sequences(Workload(jobs=10), 5, seed=1)
    taken = take_sequences(sequences, np.array([3, 0]))
    assert (taken.length == sequences.length[[3, 0]]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stop_within": -1}, "stop_within and preemption_cost are units of time, 0 or more: got -1 and 0"),
        ({"preemption_cost": -2}, "got 0 and -2"),
        ({"stop_ratio": 0.5}, "stop_ratio is how many times shorter a job must be, 1 or more: got 0.5"),
    ],
)
def test_settings_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Setting(**changes)


def test_what_a_kill_costs() -> None:
    """A job of 4 units is killed after 2, and its next run takes 3 more."""
    length = np.array([[4]])
    remaining = np.maximum(length[:, :, None] - np.arange(LONGEST), 1).astype(np.int16)
    cluster = SlotCluster(
        Sequences(np.array([[0]]), length, length, length.copy(), remaining), Setting(preemption_cost=3)
    )
    cluster.begin()
    for action in (0, WAIT, WAIT, SLOTS, 0):
        cluster.step(np.array([action]))
    assert cluster.state.estimate[0, 0] == 3 + 4
    for _ in range(7):
        assert not cluster.over[0]
        cluster.step(np.array([WAIT]))
    outcome = cluster.outcome()
    assert cluster.over[0] and outcome.finish[0, 0] == 2 + 3 + 4 and outcome.killed_after[0, 0] == 2
    assert outcome.slowdowns()[0] == 9 / 4
