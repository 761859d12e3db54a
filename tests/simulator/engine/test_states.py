"""Tests of simulator/engine: replay_warm_start, states."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engine import replay as replay_module
from simulator.engine.replay import StoppableReplay, replay, rules_of
from simulator.engine.states import ReplayState, waiting_state
from simulator.jobs.cluster import FOREVER, Cluster, Outages, RunningJobs
from simulator.jobs.jobs import COLUMNS, NEVER, Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.tasks import tasks_of
from simulator.jobs.words import CORRECTIONS
from simulator.policies.registry import parse_policy
from simulator.policies.scoring import FIXED
from tests.shared import size
from tests.simulator.busy import PROCS, busy_jobs, random_weights
from tests.simulator.oracle_policies import POLICIES
from tests.simulator.oracle_types import Workload
from tests.simulator.oracle_workloads import workloads

# replay_warm_start: A replay that begins with jobs that run and jobs that wait goes on as the replay that they come
# from.

n = np.array
EXACT_POLICIES = (
    *("FCFS", "LCFS", "SJF", "SAF", "WFP3", "UNICEP", "F2", "tetris", "bounded-key", "learned"),
    *("formula:wait/estimate - queued", "SEXP"),
)
"""Policies that look at nothing but the moment and the jobs."""


class WarmReplay(NamedTuple):
    """positions: in the whole trace, of `jobs`; the first `cluster.waiting` of them wait."""

    jobs: Jobs
    cluster: Cluster
    positions: np.ndarray


def warm_start_at(first: int, jobs: Jobs, whole: Schedule, outages: Outages | None = None) -> WarmReplay:
    """What a warm start before job `first` sees of a whole schedule: the definition in docs/reference/semantics.md, written as a loop."""
    begin, running, waiting = int(jobs.submit[first]), [], []
    for job in range(first):
        start, runtime, cancel = int(whole.start[job]), int(jobs.runtime[job]), int(jobs.cancel[job])
        if start < 0:
            waiting += [job] if cancel > begin else []
        elif start >= begin:
            waiting.append(job)
        elif start + runtime > begin:
            running.append(job)
    columns = ("runtime", "procs", "estimate", "limit", "user", "hold")
    warm = RunningJobs(whole.start[running], *(getattr(jobs, name)[running] for name in columns))
    positions = n([*waiting, *range(first, len(jobs))])
    some = Jobs(
        **{name: getattr(jobs, name)[positions] for name in COLUMNS},
        origin=jobs.origin,
        facts={name: values[positions] for name, values in jobs.facts.items()},
    )
    return WarmReplay(some, Cluster(PROCS, warm, outages or Outages(), len(waiting)), positions)


def assert_goes_on(
    jobs: Jobs, policy: str, backfill: str, correction: str = "requested", outages: Outages | None = None
) -> int:
    """Cuts a whole replay before several jobs; returns how many jobs waited at the cuts."""
    weights, waiting = random_weights() if policy == "learned" else None, 0
    chosen = parse_policy(policy, weights)
    whole = replay(jobs, Cluster(PROCS, outages=outages or Outages()), chosen, backfill, correction=correction)
    for first in np.random.default_rng(len(jobs)).choice(len(jobs), 6, replace=False).tolist():
        warm = warm_start_at(first, jobs, whole, outages)
        after = replay(warm.jobs, warm.cluster, chosen, backfill, correction=correction)
        assert after.start.tolist() == whole.start[warm.positions].tolist()
        assert after.backfilled.tolist() == whole.backfilled[warm.positions].tolist()
        waiting += warm.cluster.waiting
    return waiting


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf"])
@pytest.mark.parametrize("policy", EXACT_POLICIES)
def test_a_warm_start_goes_on_exactly(policy: str, backfill: str) -> None:
    """Half of the estimates are too short, jobs are cancelled while they wait, and many are submitted in the same second."""
    for seed, correction in enumerate(CORRECTIONS):
        jobs = busy_jobs(400, load=1.3, seed=seed, cancelled_share=0.2)
        assert assert_goes_on(jobs, policy, backfill, correction) > 20


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf"])
@pytest.mark.parametrize("policy", ["SAF", "WFP3"])
def test_outages_under_way_and_announced_stay(policy: str, backfill: str) -> None:
    jobs = busy_jobs(400, load=1.1, seed=3)
    moments = np.quantile(jobs.submit, [0.1, 0.3, 0.5, 0.7, 0.9]).astype(np.int64)
    length = np.diff(moments, append=moments[-1] + 9000)
    outages = Outages(moments, moments + 2 * length, n([4, 8, 3, 6, 2]), moments - n([0, 9000, 0, 90_000, 4000]))
    assert assert_goes_on(jobs, policy, backfill, outages=outages) > 20


def test_jobs_that_run_are_believed_to_hold_what_they_held_before() -> None:
    jobs = busy_jobs(400, load=1.3)
    longer = Jobs(**{name: getattr(jobs, name) for name in COLUMNS if name not in ("hold", "admit")}, hold=jobs.limit)
    assert assert_goes_on(longer, "SAF", "easy") > 20


def test_conservative_backfilling_goes_on_exactly_where_the_order_of_promises_is_that_of_submission() -> None:
    """The promises before the cut are unknown. With exact estimates FCFS makes the same ones, since all are then in the order of
    submission; under another policy they are made in its order (below)."""
    jobs = busy_jobs(400, load=1.3, seed=4)
    exact = Jobs(jobs.submit, jobs.runtime, jobs.procs, np.maximum(jobs.runtime, 1), np.maximum(jobs.runtime, 1))
    assert assert_goes_on(exact, "FCFS", "conservative") > 20
    for policy, backfill in (("SJF", "conservative"), ("FCFS", "selective:threshold=1.5")):
        with pytest.raises(AssertionError):
            assert_goes_on(exact, policy, backfill)


@pytest.mark.parametrize("backfill", ["conservative", "selective:threshold=1.5"])
@pytest.mark.parametrize("policy", ["FCFS", "SJF", "fairshare:half_life_days=0.01"])
def test_plans_of_a_warm_start_never_oversubscribe(policy: str, backfill: str) -> None:
    jobs = busy_jobs(300, load=1.3, seed=5, cancelled_share=0.2)
    whole = replay(jobs, PROCS, "FCFS", "easy")
    warm = warm_start_at(150, jobs, whole)
    assert warm.cluster.waiting > 5 and len(warm.cluster.running) > 2
    after = replay(warm.jobs, warm.cluster, policy, backfill)
    begin, started = int(jobs.submit[150]), after.started
    start, running = after.start[started], warm.cluster.running
    assert (start >= np.maximum(warm.jobs.submit[started], begin)).all()
    assert (warm.jobs.cancel[~started] < NEVER).all()
    moments = np.unique(start)
    use = sum(
        (procs * ((since <= moments) & (moments < since + runtime)))
        for since, runtime, procs in zip(
            np.concatenate([running.start, start]),
            np.concatenate([running.runtime, warm.jobs.runtime[started]]),
            np.concatenate([running.procs, warm.jobs.procs[started]]),
            strict=True,
        )
    )
    assert use.max() <= PROCS


def test_fair_share_counts_what_the_running_jobs_use_from_the_beginning_on() -> None:
    """4 processors. User 1's job runs on all of them until 100. A job of user 1 has waited since 10, one of user 2 since 20; both
    need all processors for 50 s. The replay begins at 60. At 100 user 1 has used something and user 2 nothing, so that user 2
    starts at 100, user 1 at 150. The job of user 3 that is submitted at 60 has used nothing either. It goes behind user 2 by its
    submission, and before user 1: it starts at 150, and user 1 at 200."""
    running = RunningJobs(n([0]), n([100]), n([4]), n([100]), n([100]), n([1]))
    length = n([50, 50, 50])
    jobs = Jobs(n([10, 20, 60]), length, n([4, 4, 4]), length, length, user=n([1, 2, 3]))
    assert replay(jobs, Cluster(4, running, waiting=2), "fairshare", "easy").start.tolist() == [200, 100, 150]
    assert replay(jobs, Cluster(4, running, waiting=2), "FCFS", "easy").start.tolist() == [100, 150, 200]


def test_begin_of_a_replay_in_which_nobody_comes_later() -> None:
    running = RunningJobs(n([0]), n([100]), n([4]), n([100]), n([100]), n([0]))
    length = n([50, 50])
    jobs = Jobs(n([10, 60]), length, n([4, 2]), length, length)
    assert replay(jobs, Cluster(4, running, waiting=2, begin=60), "FCFS", "easy").start.tolist() == [100, 150]
    with pytest.raises(ValueError, match="at least one must be submitted then"):
        replay(jobs, Cluster(4, running, waiting=2), "FCFS", "easy")


def test_a_waiting_job_that_is_cancelled_leaves_and_one_that_can_never_start_is_named() -> None:
    """4 processors, all held until 100. The first waiting job is cancelled at 90, so that the second starts at 100."""
    running = RunningJobs(n([0]), n([100]), n([4]), n([100]), n([100]), n([0]))
    length = n([50, 50, 50])
    jobs = Jobs(n([10, 20, 60]), length, n([4, 4, 1]), length, length, cancel=n([90, NEVER, NEVER]))
    for policy in ("FCFS", "WFP3"):
        assert replay(jobs, Cluster(4, running, waiting=2), policy).start.tolist() == [-1, 100, 150]
        lasting = Outages(n([0]), n([FOREVER]), n([2]), n([0]))
        with pytest.raises(ValueError, match=r"job at index 1 .*can never start"):
            replay(jobs, Cluster(4, running, lasting, waiting=2), policy)


def test_a_replay_with_a_queue_may_stop_and_go_on() -> None:
    jobs = busy_jobs(300, load=1.3)
    warm = warm_start_at(100, jobs, replay(jobs, PROCS, "SAF"))
    for policy in ("SAF", "WFP3"):
        expected = replay(warm.jobs, warm.cluster, policy)
        stopped = StoppableReplay(warm.jobs, warm.cluster, policy)
        assert not stopped.run(until=int(jobs.submit[200]))
        state = stopped.keep()
        assert stopped.run()
        assert stopped.schedule.start.tolist() == expected.start.tolist()
        other = StoppableReplay(warm.jobs, warm.cluster, policy)
        other.take_up(state)
        assert other.run()
        assert other.schedule.start[-100:].tolist() == expected.start[-100:].tolist()


def test_a_queue_that_cannot_be_is_refused() -> None:
    length = n([5, 5])
    jobs = Jobs(n([0, 10]), length, n([1, 1]), length, length, cancel=n([9, NEVER]))
    with pytest.raises(
        ValueError, match="2 of 2 jobs wait when the replay begins: at least one must be submitted then"
    ):
        replay(jobs, Cluster(4, waiting=2))
    with pytest.raises(
        ValueError, match="job at index 0 does not wait at 10, when the replay begins: it was cancelled at 9"
    ):
        replay(jobs, Cluster(4, waiting=1))
    with pytest.raises(ValueError, match="the number of waiting jobs must not be negative, got -1"):
        Cluster(4, waiting=-1)


# states: A replay that was cut anywhere and went on from its state gives the schedule of the uncut one: 2,000 random
# cuts and more.

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


def assert_goes_on_of_states(
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
                assert_goes_on_of_states(*_columns(other), state, expected, jobs, len(workload.running))
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
                    assert_goes_on_of_states(takes.episode.start, takes.episode.backfilled, state, expected, jobs, 0)
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
        assert_goes_on_of_states(*_columns(stopped), state, expected, jobs, 0)


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
    assert_goes_on_of_states(*_columns(other), state, expected, jobs, 0)


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
