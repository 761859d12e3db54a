"""Recorded choices: complete however small the recorder, and the same when a batch takes them again."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.agents.batch import Batch, WindowRules
from simulator.agents.trajectories import sample_windows
from simulator.policies.observation import LAYOUTS, blank_network
from tests.simulator.busy import FIRST, PROCS, WINDOW, busy_jobs, random_weights


@pytest.mark.parametrize("rules", ["standard", "rlscheduler"])
def test_a_full_recorder_loses_nothing(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, first = busy_jobs(900, load=9.0), np.arange(0, 600, 100)

    def sampled() -> list[np.ndarray]:
        found = sample_windows(
            jobs, PROCS, first, WINDOW, random_weights(), 4, rules=WindowRules("none", rule_set=rules)
        )
        return [
            found.features,
            found.first_row,
            found.num_rows,
            found.choice,
            found.log_prob,
            found.first_decision,
            found.start,
        ]

    expected = sampled()
    assert len(expected[0]) > 2 * WINDOW * len(first), "more rows than fit at first, below"
    monkeypatch.setattr("simulator.agents.trajectories.ROWS_PER_JOB", 1)
    assert all(np.array_equal(a, b) for a, b in zip(expected, sampled(), strict=True))


def test_sampled_choices_can_be_taken_again_step_by_step() -> None:
    """A network of zeros likes all jobs the same, so that its backfilling is in submit order, as it is for a batch. Unlike a
    batch, it also draws where no job fits any more in the pass; such draws change nothing."""

    def rows_of(d: int) -> slice:
        return slice(sampled.first_row[d], sampled.first_row[d] + sampled.num_rows[d])

    jobs = busy_jobs(500, load=3.0)
    sampled = sample_windows(jobs, PROCS, FIRST, WINDOW, blank_network(LAYOUTS["plain"]), seed=4)
    batch = Batch(jobs, PROCS, WINDOW, len(FIRST), "easy")
    seen = batch.reset(FIRST)
    decision = sampled.first_decision[:-1].copy()
    last = sampled.first_decision[1:]
    assert (last - decision).min() > 20
    while seen.choosing.any():
        action = np.full(len(FIRST), -1)
        for e in np.flatnonzero(seen.choosing).tolist():
            d = decision[e]
            assert seen.mask[e].sum() == sampled.num_rows[d]
            assert np.array_equal(seen.features[e][seen.mask[e]], sampled.features[rows_of(d)])
            action[e] = sampled.choice[d]
            decision[e] = d + 1
        seen = batch.step(action)
    assert decision.tolist() == last.tolist()
    assert len(np.unique(sampled.choice)) > 10, "the draws differ"
    assert np.array_equal(batch.start, sampled.start)
