"""Windows of a trace under Slurm."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.learning.recipes import smallest_area_first
from simulator.agents.slurm_windows import SlurmTrace
from simulator.policies.observation import LAYOUTS
from simulator.policies.registry import network_policy, parse_policy
from tests.simulator.slurm.variants.test_orders import JOBS, crowded_jobs

NETWORK = smallest_area_first(LAYOUTS["plain"], 40.0, 1)
FIRST = np.array([40, 60])


@pytest.fixture(scope="module")
def trace() -> SlurmTrace:
    replayer, jobs = crowded_jobs()
    return SlurmTrace(jobs, 16, replayer, threads=1)


@pytest.mark.parametrize("name", [None, "SAF", "WFP3"])
def test_a_window_with_its_backlog_goes_on_as_the_whole_replay(trace: SlurmTrace, name: str | None) -> None:
    """Slurm's cycles have another phase after a warm start, so starts are near, and far from those on an idle cluster."""
    policy = None if name is None else parse_policy(name)
    whole = trace.history(policy, JOBS)[0].start
    backlogs = trace.keep_states(policy, FIRST, JOBS)
    own = FIRST[:, None] + np.arange(40)
    begun = trace.starts(policy, FIRST, 40, backlogs)
    idle = trace.starts(policy, FIRST, 40, None)
    assert (begun >= trace.jobs.submit[own]).all()
    assert np.abs(begun - whole[own]).mean() < 0.3 * np.abs(idle - whole[own]).mean()


def test_a_network_draws_heads_of_the_queue_that_are_recorded(trace: SlurmTrace) -> None:
    policy = network_policy(NETWORK)
    backlogs = trace.keep_states(policy, FIRST, 20)
    seeds = np.array([1, 1])
    drawn = trace.sample(policy, FIRST[[0, 0]], 40, seeds, trace.keep_states(policy, FIRST[[0, 0]], 20))
    assert (drawn.start[0] == drawn.start[1]).all()  # the same window with the same draws
    drawn = trace.sample(policy, FIRST, 40, 3, backlogs)
    assert drawn.decisions > 40 and (drawn.start >= trace.jobs.submit[FIRST[:, None] + np.arange(40)]).all()
    assert (drawn.choice < drawn.num_rows).all() and (drawn.num_rows > 1).all() and (drawn.log_prob <= 0).all()
    assert drawn.first_decision.tolist()[-1] == drawn.decisions and len(drawn.features) == drawn.num_rows.sum()
    best = np.array(
        [
            drawn.features[first : first + rows, 2].argmin()
            for first, rows in zip(drawn.first_row, drawn.num_rows, strict=True)
        ]
    )
    assert 0.2 < (best == drawn.choice).mean() < 1.0  # it orders by area, and draws others, too


def test_a_teacher_is_followed(trace: SlurmTrace) -> None:
    area = (trace.jobs.estimate * trace.jobs.procs).astype(np.float64)
    shown = trace.sample(network_policy(NETWORK), FIRST[:1], 40, 1, None, teacher=area)
    picked = [
        shown.features[first : first + rows, 2].argmin() == choice
        for first, rows, choice in zip(shown.first_row, shown.num_rows, shown.choice, strict=True)
    ]
    assert all(picked) and (shown.log_prob == 0).all()
