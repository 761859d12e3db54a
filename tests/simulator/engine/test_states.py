"""A replay that was cut anywhere and went on from its state gives the schedule of the uncut one: 2,000 random cuts and more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engine import replay as replay_module
from simulator.engine.replay import StoppableReplay, replay, rules_of
from simulator.engine.states import ReplayState, waiting_state
from simulator.jobs.cluster import Cluster, Outages, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.jobs.tasks import tasks_of
from simulator.jobs.words import CORRECTIONS
from simulator.policies.registry import parse_policy
from simulator.policies.scoring import FIXED
from tests.random_size import size
from tests.simulator.busy import PROCS, busy_jobs, random_weights
from tests.simulator.oracle_policies import POLICIES
from tests.simulator.oracle_types import Workload
from tests.simulator.oracle_workloads import workloads

BACKFILLS = ("none", "easy", "easy-sjbf", "conservative", "selective:threshold=1.5")
OTHER_POLICIES = (
    *("random:seed=7", "fairshare:half_life_days=0.001", "multifactor:half_life_days=0.001,max_age_days=0.001"),
    *("formula:wait/estimate - user_share", "bounded-key", "learned"),
)
WORKLOADS = size(100, 1000)
"""For each backfilling rule; with three cuts each that is 2,100."""


def cuts_of(workload: Workload, draws: list[float]) -> list[int]:
    """Seconds between the first submission and the last thing that happens."""
    jobs = workload.as_jobs()
    first, last = int(jobs.submit[0]), int((jobs.submit + jobs.runtime).max())
    return [first + 1 + int(draw * 2 * (last - first)) for draw in draws]


def assert_goes_on(
    start: np.ndarray, backfilled: np.ndarray, state: ReplayState, expected: Any, jobs: Jobs, shift: int
) -> None:
    """Whoever waits or comes later starts as in the uncut replay. shift: tasks before the first job."""
    later = np.flatnonzero(jobs.submit >= state.time)
    here = np.concatenate([state.queue - shift, later])
    assert start[here].tolist() == expected.start[here].tolist()
    assert backfilled[here].tolist() == expected.backfilled[here].tolist()


@pytest.mark.parametrize("backfill", BACKFILLS)
def test_a_replay_goes_on_as_if_it_had_not_been_cut(backfill: str) -> None:
    cut_at = []

    @settings(deadline=None, max_examples=WORKLOADS)
    @given(
        workload=workloads(),
        name=st.sampled_from([*POLICIES, *OTHER_POLICIES]),
        correction=st.sampled_from(CORRECTIONS),
        draws=st.lists(st.floats(0, 1), min_size=3, max_size=3),
    )
    def compare(workload: Workload, name: str, correction: str, draws: list[float]) -> None:
        jobs, cluster = workload.as_jobs(), workload.as_cluster()
        weights = random_weights() if name == "learned" else None
        policy = parse_policy(name, weights)
        expected = replay(jobs, cluster, policy, backfill, correction=correction)
        whole = StoppableReplay(jobs, cluster, policy, backfill, correction=correction)
        for time in sorted(cuts_of(workload, draws)):
            if whole.run(until=time):
                break
            state = whole.keep()
            assert state.time == time
            cut_at.append(time)
            other = StoppableReplay(jobs, cluster, policy, backfill, correction=correction)
            for _ in range(2):  # from a new replay, and from one that has been used
                other.take_up(state)
                assert other.run()
                assert_goes_on(*_columns(other), state, expected, jobs, len(workload.running))
        assert whole.run()
        assert whole.schedule.start.tolist() == expected.start.tolist()
        assert whole.schedule.backfilled.tolist() == expected.backfilled.tolist()

    compare()
    assert len(cut_at) > WORKLOADS


def _columns(stoppable: StoppableReplay) -> tuple[np.ndarray, np.ndarray]:
    return stoppable.schedule.start, stoppable.schedule.backfilled


def test_both_engines_take_up_each_others_states() -> None:
    cuts = 0
    for seed in range(20):
        jobs = busy_jobs(400, load=1.6, seed=seed, cancelled_share=0.2)
        for name, backfill in (("SJF", "easy"), ("SAF", "easy-sjbf"), ("LCFS", "none")):
            policy = parse_policy(name)
            assert policy.kind == FIXED
            expected = replay(jobs, PROCS, policy, backfill)
            tasks, rules = tasks_of(jobs, Cluster(PROCS)), rules_of(backfill, "requested", PROCS)
            engines = [
                engine(jobs, tasks, rules, policy)
                for engine in (replay_module._FastEngine, replay_module._GeneralEngine)
            ]
            for time in np.random.default_rng(seed).choice(jobs.submit, 4).tolist():
                for keeps, takes in (engines, engines[::-1]):
                    fresh = type(keeps)(jobs, tasks, rules, policy)
                    assert not fresh.run(time)
                    state = fresh.keep()
                    takes.take_up(state, len(jobs))
                    assert takes.run()
                    assert_goes_on(takes.episode.start, takes.episode.backfilled, state, expected, jobs, 0)
                    cuts += 1
    assert cuts == 480


def test_a_deep_queue_is_kept_and_taken_up_by_a_replay_whose_own_was_deep() -> None:
    jobs = busy_jobs(3000, load=4.0)
    expected = replay(jobs, PROCS, "SAF", "easy-sjbf")
    stopped = StoppableReplay(jobs, PROCS, "SAF", "easy-sjbf")
    states = []
    for time in (int(jobs.submit[1500]), int(jobs.submit[2500])):
        assert not stopped.run(until=time)
        states.append(stopped.keep())
    assert min(len(state.queue) for state in states) > 200
    for state in states:  # each time the replay has stopped or ended elsewhere, first with a queue in the tree
        stopped.take_up(state)
        assert stopped.run()
        assert_goes_on(*_columns(stopped), state, expected, jobs, 0)


@pytest.mark.parametrize("policy", ["SJF", "WFP3"])
def test_jobs_behind_the_last_one_never_come(policy: str) -> None:
    jobs = busy_jobs(600, load=2.0, cancelled_share=0.3)
    stopped = StoppableReplay(jobs, PROCS, policy)
    assert not stopped.run(until=int(jobs.submit[300]))
    state = stopped.keep()
    stopped.take_up(state, jobs=400)
    assert stopped.run()
    shorter = replay(jobs.window(0, 400), PROCS, policy)
    here = np.concatenate([state.queue, np.flatnonzero(jobs.submit[:400] >= state.time)])
    assert stopped.schedule.start[here].tolist() == shorter.start[here].tolist()


@pytest.mark.parametrize("decorator", ["", "@numba.njit\n"])
def test_plug_ins_pause_too(decorator: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"import numba\n\n{decorator}def saf(estimate, procs):\n    return estimate * procs\n")
    jobs = busy_jobs(300)
    expected = replay(jobs, PROCS, "SAF")
    stopped, other = (StoppableReplay(jobs, PROCS, parse_policy(f"{file}:saf")) for _ in range(2))
    assert not stopped.run(until=int(jobs.submit[100]))
    state = stopped.keep()
    other.take_up(state)
    assert other.run()
    assert_goes_on(*_columns(other), state, expected, jobs, 0)


def test_a_replay_that_has_not_stopped_has_no_state() -> None:
    stopped = StoppableReplay(busy_jobs(10), PROCS)
    stopped.run()
    with pytest.raises(ValueError, match="stopped on its way"):
        stopped.keep()


def test_a_state_without_what_the_policy_needs_is_refused() -> None:
    jobs = busy_jobs(100)
    stopped = StoppableReplay(jobs, PROCS, "FCFS")
    stopped.run(until=int(jobs.submit[50]))
    state = stopped.keep()
    for policy, backfill, missing in (("fairshare", "easy", "users' usage"), ("FCFS", "conservative", "a plan")):
        with pytest.raises(ValueError, match=f"kept without .*{missing}"):
            StoppableReplay(jobs, PROCS, policy, backfill).take_up(state)


@pytest.mark.parametrize("backfill", BACKFILLS)
def test_the_first_state_of_a_replay_can_be_written_down(backfill: str) -> None:
    """Nobody waits yet: the state that is written down is the one from which every replay begins."""
    jobs = busy_jobs(200, users=3)
    begin, n = int(jobs.submit[0]), np.array
    running = RunningJobs(n([begin - 50, begin - 9]), n([400, 60]), n([8, 4]), n([30, 600]), n([900, 600]), n([0, 2]))
    outages = Outages(n([begin + 100]), n([begin + 5000]), n([4]), n([begin]))
    cluster = Cluster(PROCS, running, outages)
    tasks = tasks_of(jobs, cluster)
    for policy in ("FCFS", "fairshare:half_life_days=0.01"):
        expected = replay(jobs, cluster, policy, backfill)
        written = StoppableReplay(jobs, cluster, policy, backfill)
        users = int(tasks.user.max()) + 1 if parse_policy(policy).half_life_s else 0
        written.take_up(waiting_state(begin, tasks, PROCS, users))
        assert written.run()
        assert written.schedule.start.tolist() == expected.start.tolist()


def test_waiting_jobs_keep_their_submit_times() -> None:
    n = np.array
    jobs = Jobs(n([0, 10, 100]), n([50, 60, 5]), n([4, 4, 4]), n([50, 60, 5]), n([50, 60, 5]))
    warm = StoppableReplay(jobs, 4, "formula:wait")
    warm.take_up(waiting_state(100, tasks_of(jobs, Cluster(4)), 4))
    assert warm.run()
    assert warm.schedule.start.tolist() == [100, 150, 210]
