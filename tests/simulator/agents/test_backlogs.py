"""Windows that begin with a policy's own backlog are parts of its replay."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.agents.backlogs import Backlogs, keep_backlogs
from simulator.agents.batch import WindowRules, replay_windows
from simulator.agents.trajectories import sample_windows
from simulator.engine.replay import replay
from simulator.policies.registry import network_policy, parse_policy
from tests.simulator.busy import PROCS, busy_jobs, random_weights

JOBS = busy_jobs(900, load=1.5)
FIRST = np.array([0, 150, 151, 600])
WINDOW = 200


def from_backlogs(
    policy, backlogs: Backlogs, backfill: str = "easy", threads: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    rules = WindowRules(backfill, threads=threads, backlogs=backlogs)
    return replay_windows(JOBS, PROCS, FIRST, WINDOW, policy, rules)


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf", "conservative"])
@pytest.mark.parametrize("name", ["FCFS", "SAF", "WFP3", "fairshare:half_life_days=0.1", "learned"])
def test_windows_with_their_own_backlog_and_all_later_jobs_are_parts_of_the_replay(name: str, backfill: str) -> None:
    policy = parse_policy(name, random_weights() if name == "learned" else None)
    whole = replay(JOBS, PROCS, policy, backfill)
    backlogs = keep_backlogs(JOBS, PROCS, FIRST, policy, backfill, after=len(JOBS))
    start, backfilled = from_backlogs(policy, backlogs, backfill)
    for k, first in enumerate(FIRST.tolist()):
        assert start[k].tolist() == whole.start[first : first + WINDOW].tolist()
        assert backfilled[k].tolist() == whole.backfilled[first : first + WINDOW].tolist()
    assert max(len(state.queue) for state in backlogs.states) > 20


def test_an_empty_cluster_flatters_an_order_that_lets_jobs_starve() -> None:
    backlogs = keep_backlogs(JOBS, PROCS, FIRST, "SAF", after=0)
    start, _ = from_backlogs("SAF", backlogs)
    empty, _ = replay_windows(JOBS, PROCS, FIRST, WINDOW, "SAF")
    assert (start[0] == empty[0]).all()
    assert (start[1:] - empty[1:]).mean() > 1000


def test_jobs_behind_the_windows_count_up_to_the_number_given() -> None:
    some = keep_backlogs(JOBS, PROCS, FIRST, "SAF", after=50)
    shorter = replay(JOBS.window(0, FIRST[1] + WINDOW + 50), PROCS, "SAF")
    start, _ = from_backlogs("SAF", some)
    assert start[1].tolist() == shorter.start[FIRST[1] : FIRST[1] + WINDOW].tolist()


def test_recorded_choices_are_those_of_the_window() -> None:
    weights = random_weights(3)
    backlogs = keep_backlogs(JOBS, PROCS, FIRST, network_policy(weights), after=300)
    rules = WindowRules(threads=2, backlogs=backlogs)
    one, two = (sample_windows(JOBS, PROCS, FIRST, WINDOW, weights, seed, rules=rules) for seed in (1, 1))
    assert one.start.tolist() == two.start.tolist() and one.decisions == two.decisions > 500
    assert (one.start >= JOBS.submit[FIRST[:, None] + np.arange(WINDOW)]).all()
    other = sample_windows(JOBS, PROCS, FIRST, WINDOW, weights, 2, rules=rules)
    assert other.start.tolist() != one.start.tolist()
    # a teacher's choices are those of its replay from the same backlogs, whatever the room of the recorder
    teacher = (JOBS.estimate * JOBS.procs).astype(np.float64)
    taught = sample_windows(JOBS, PROCS, FIRST, WINDOW, weights, 1, teacher=teacher, rules=rules)
    assert taught.start.tolist() == from_backlogs("SAF", backlogs)[0].tolist()


def test_no_choice_is_recorded_after_the_last_job_of_the_window_has_started() -> None:
    """What is chosen later changes none of its waits."""
    jobs, first = busy_jobs(2000, load=0.8), np.array([200])
    teacher, decisions = jobs.submit.astype(np.float64), []
    for after in (700, 1500):
        backlogs = keep_backlogs(jobs, PROCS, first, "FCFS", after=after)
        rules = WindowRules(backlogs=backlogs)
        recorded = sample_windows(jobs, PROCS, first, WINDOW, random_weights(3), 1, teacher=teacher, rules=rules)
        decisions.append(recorded.decisions)
    assert jobs.submit[200 + WINDOW + 700] > replay(jobs, PROCS, "FCFS").start[: 200 + WINDOW].max()
    assert decisions[0] == decisions[1] > 20


def test_errors() -> None:
    backlogs = keep_backlogs(JOBS, PROCS, FIRST, "SAF")
    with pytest.raises(ValueError, match="one state per window, got 4 for 2 windows"):
        replay_windows(JOBS, PROCS, FIRST[:2], WINDOW, "SAF", WindowRules(backlogs=backlogs))
    with pytest.raises(ValueError, match="knows no backlogs"):
        replay_windows(JOBS, PROCS, FIRST, WINDOW, "SAF", WindowRules(rule_set="rlscheduler", backlogs=backlogs))
    with pytest.raises(ValueError, match="kept without these users' usage"):
        from_backlogs("fairshare", backlogs)
    with pytest.raises(ValueError, match="leave their cancellations out"):
        keep_backlogs(busy_jobs(50, cancelled_share=0.5), PROCS, FIRST[:1], "SAF")
