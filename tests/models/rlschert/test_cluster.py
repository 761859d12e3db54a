"""Sequences stepped side by side: what a critic sees, and what comes out."""

from __future__ import annotations

import numpy as np
import pytest

from models.rlschert.cluster import Setting, SlotCluster, take_sequences
from models.rlschert.networks import new_rlschert_network
from models.rlschert.training import RLSchertPolicy
from models.rlschert.workload import Workload, draw_sequences
from simulator.published.rlschert import LONGEST, WAIT, Sequences


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
