"""Tests of simulator/engine: asking, replay. Closed replays, in which some jobs follow others."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from simulator.engine.general import advance
from simulator.engine.replay import NeverStarts, OrderReplayer, StoppableReplay, replay
from simulator.jobs.cluster import FOREVER, Cluster, Outages
from simulator.jobs.followers import NO_JOB, followers_of
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.policies.agents import Agent, parse_picking
from simulator.policies.registry import Policy, assisted, network_policy
from simulator.policies.scoring import FIXED
from tests.shared import size
from tests.simulator.busy import PROCS, busy_jobs, random_weights
from tests.simulator.oracle import BACKFILLS as ORACLE_BACKFILLS
from tests.simulator.oracle import oracle_run
from tests.simulator.oracle_policies import POLICIES
from tests.simulator.oracle_types import CORRECTIONS, Workload
from tests.simulator.oracle_workloads import closed_workloads, opened

n = np.array
FORMULAS = (
    "formula:wait / estimate - user_share",
    "formula:-min(submit, 3000) * procs",
    "searched:balanced",
    "formula:submit % 7",
)
ORDERS = (*(name for name in POLICIES if name != "random"), *FORMULAS)
"""The random order gives numbers by place, so that it is another one where jobs are put in another order."""
SET_BACK = Policy(
    "own", FIXED, lambda jobs, _: jobs.submit + jobs.procs * 3.5, setback=lambda jobs, _: jobs.procs * 3.5
)
PICKS = ("pick:by=shortest,from=all", "pick:by=smallest,slack_s=600")
BACKFILLS = ("none", "any", "easy", "easy-sjbf", "conservative", "selective:threshold=2", *PICKS)


def ends_of(jobs: Jobs, start: np.ndarray) -> np.ndarray:
    """When each job left."""
    return np.where(start == CANCELLED, jobs.cancel, start + jobs.runtime)


def closed_as(jobs: Jobs, cluster: int | Cluster, order: OrderReplayer) -> tuple[Jobs, np.ndarray]:
    """The jobs with those who follow in the open replay, and its starts."""
    start = order.replay(jobs, Cluster.of(cluster)).schedule.start
    after, think = followers_of(jobs.submit, ends_of(jobs, start), jobs.user)
    return replace(jobs, after=after, think=think), start


def compare_with_oracle(examples: int) -> None:
    """The oracle knows docs/reference/semantics/followers.md alone."""

    @settings(deadline=None, max_examples=examples)
    @given(
        workload=closed_workloads(),
        policy=st.sampled_from(POLICIES),
        backfill=st.sampled_from(ORACLE_BACKFILLS),
        correction=st.sampled_from(CORRECTIONS),
    )
    def same(workload: Workload, policy: str, backfill: str, correction: str) -> None:
        order, expected = OrderReplayer(policy, backfill, correction), None
        with suppress(ValueError):  # a job that outages leave stuck
            expected = oracle_run(workload, policy, backfill, correction)
        if expected is None:
            with pytest.raises(NeverStarts):
                order.replay(workload.as_jobs(), workload.as_cluster())
            return
        outcome = order.replay(workload.as_jobs(), workload.as_cluster())
        start, backfilled = outcome.schedule.start.tolist(), outcome.schedule.backfilled.tolist()
        if expected.ambiguous_order and start != expected.start:
            reject()  # rounding may order two jobs either way
        assert start == expected.start
        assert backfilled == expected.backfilled
        if outcome.submit is not None:
            assert outcome.submit.tolist() == expected.submit

    same()


def test_closed_replays_equal_the_oracles() -> None:
    compare_with_oracle(100)


def test_two_thousand_closed_replays_equal_the_oracles() -> None:
    compare_with_oracle(size(2000, 20000))


def compare_with_open(examples: int) -> None:
    """A replay knows nothing of later submissions. So the closed one is the open one of its submissions."""

    @settings(deadline=None, max_examples=examples)
    @given(
        workload=closed_workloads(at_once=False),
        policy=st.sampled_from([*ORDERS, SET_BACK]),
        backfill=st.sampled_from(BACKFILLS),
        correction=st.sampled_from(CORRECTIONS),
    )
    def same(workload: Workload, policy: str | Policy, backfill: str, correction: str) -> None:
        order = OrderReplayer(policy, backfill, correction)
        outcome = None
        with suppress(NeverStarts):
            outcome = order.replay(workload.as_jobs(), workload.as_cluster())
        if outcome is None:
            return
        submit = workload.as_jobs().submit if outcome.submit is None else outcome.submit
        alone, rows = opened(workload, submit.tolist())
        expected = order.replay(alone.as_jobs(), alone.as_cluster()).schedule
        assert outcome.schedule.start[rows].tolist() == expected.start.tolist()
        assert outcome.schedule.backfilled[rows].tolist() == expected.backfilled.tolist()

    same()


def test_a_closed_replay_is_the_open_one_of_its_submissions() -> None:
    compare_with_open(100)


def test_two_thousand_closed_replays_are_the_open_ones_of_their_submissions() -> None:
    compare_with_open(size(2000, 20000))


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf", "conservative"])
@pytest.mark.parametrize(
    "policy", ["FCFS", "SJF", "SAF", "WFP3", "F1", "fairshare", "bounded-key", "random", FORMULAS[0]]
)
def test_the_closed_replay_of_the_same_scheduler_is_the_open_one(policy: str, backfill: str) -> None:
    jobs = busy_jobs(400, load=1.2, users=30, cancelled_share=0.1)
    away = 5000 + 3600 * n([5, 30])
    cluster = Cluster(PROCS, outages=Outages(away, away + 3600, n([10, 32]), away - n([7200, 0])))
    order = OrderReplayer(policy, backfill, "doubling")
    closed, start = closed_as(jobs, cluster, order)
    assert (closed.after != NO_JOB).sum() > 40
    outcome = order.replay(closed, cluster)
    assert outcome.submit is not None and np.array_equal(outcome.submit, jobs.submit)
    assert np.array_equal(outcome.schedule.start, start)
    longer = replace(closed, cancel=np.where(start == CANCELLED, closed.cancel, start + 1))
    patient = order.replay(longer, cluster)
    assert np.array_equal(patient.schedule.start, start), "all are patient for longer than they waited"


def test_a_network_follows_submissions_too() -> None:
    jobs = busy_jobs(300, load=1.2, users=30)
    order = OrderReplayer(network_policy(random_weights()))
    closed, start = closed_as(jobs, PROCS, order)
    assert np.array_equal(order.replay(closed, Cluster(PROCS)).schedule.start, start)
    other = OrderReplayer("SAF").replay(closed, Cluster(PROCS))
    assert other.submit is not None and not np.array_equal(other.submit, jobs.submit)


# by hand: 4 processors unless said otherwise


def replayed(jobs: Jobs, policy: str | Policy = "FCFS", cluster: int | Cluster = 4) -> tuple[list[int], list[int]]:
    """Submissions and starts."""
    outcome = OrderReplayer(policy).replay(jobs, Cluster.of(cluster))
    assert outcome.submit is not None
    return outcome.submit.tolist(), outcome.schedule.start.tolist()


def jobs_of(submit: list[int], runtime: list[int], after: list[int], think: list[int], **others: object) -> Jobs:
    """Jobs of 4 processors."""
    length = np.maximum(n(runtime), 1)
    return Jobs(
        n(submit), n(runtime), np.full(len(submit), 4), length, length, after=n(after), think=n(think), **others
    )


def test_think_time_counts_from_the_end() -> None:
    """The third comes 5 s after the second has ended, whatever the log says. The last follows a job that has followed."""
    jobs = jobs_of([0, 1, 2, 3], [10, 10, 10, 10], [NO_JOB, NO_JOB, 1, 2], [0, 0, 5, 0])
    assert replayed(jobs) == ([0, 1, 25, 35], [0, 10, 25, 35])


def test_a_job_that_is_cancelled_leaves_and_patience_moves() -> None:
    """The second waits until 5. The third follows it at 6, and waits 3 s."""
    cancel = n([NEVER, 5, 23, NEVER])
    jobs = jobs_of([0, 1, 20, 30], [10, 10, 10, 1], [NO_JOB, NO_JOB, 1, 2], [0, 0, 1, 2], cancel=cancel)
    assert replayed(jobs) == ([0, 1, 6, 11], [0, CANCELLED, CANCELLED, 11])


def test_one_pass_sees_an_end_and_the_submission_that_follows_in_the_same_second() -> None:
    """At 10 the first ends. The third follows at once and is the shortest."""
    jobs = jobs_of([0, 1, 2], [10, 8, 3], [NO_JOB, NO_JOB, 0], [0, 0, 0])
    assert replayed(jobs, "SJF") == ([0, 1, 10], [0, 13, 10])


def test_jobs_of_one_second_are_in_the_order_of_the_log() -> None:
    """At 7 the second, of no run time, ends as soon as it starts. The third follows it and comes before the fourth, which came at 7 too."""
    jobs = jobs_of([0, 7, 7, 7], [7, 0, 5, 5], [NO_JOB, NO_JOB, 1, NO_JOB], [0, 0, 0, 0])
    assert replayed(jobs) == ([0, 7, 7, 7], [0, 7, 7, 12])
    jobs = jobs_of(
        [0, 7, 7, 7], [8, 0, 5, 5], [NO_JOB, NO_JOB, 1, NO_JOB], [0, 0, 0, 0], cancel=n([NEVER, 7, NEVER, NEVER])
    )
    assert replayed(jobs) == ([0, 7, 7, 7], [0, CANCELLED, 8, 13])


def shortest_tie() -> Jobs:
    """At 10 one processor is free beside a blocked head, for one of two jobs of 3 s: the fifth, which follows the second, comes at 6, and
    the sixth at 4."""
    runtime = n([10, 9, 10, 5, 3, 3])
    cancel, procs = n([NEVER, 5, NEVER, NEVER, NEVER, NEVER]), n([4, 1, 3, 4, 1, 1])
    after, think = n([NO_JOB, NO_JOB, NO_JOB, NO_JOB, 1, NO_JOB]), n([0, 0, 0, 0, 1, 0])
    return Jobs(n([0, 1, 1, 2, 3, 4]), runtime, procs, runtime, runtime, cancel=cancel, after=after, think=think)


@pytest.mark.parametrize("backfill", ["easy-sjbf", "pick:by=shortest"])
def test_of_equal_jobs_the_one_that_came_first_is_backfilled(backfill: str) -> None:
    outcome = OrderReplayer("FCFS", backfill).replay(shortest_tie(), Cluster(4))
    assert outcome.schedule.start.tolist() == [0, CANCELLED, 10, 20, 13, 10]


def test_followers_of_a_job_that_runs_when_nobody_waits_still_come() -> None:
    away = Outages(n([5]), n([FOREVER]), n([1]), n([5]))
    jobs = replace(jobs_of([0, 1], [10, 10], [NO_JOB, 0], [0, 50]), procs=n([3, 3]))
    assert replayed(jobs, cluster=Cluster(4, outages=away)) == ([0, 60], [0, 60])


def test_a_job_that_outages_leave_stuck_is_an_error_as_in_an_open_replay() -> None:
    away = Outages(n([5]), n([FOREVER]), n([1]), n([5]))
    with pytest.raises(ValueError, match=r"job at index 1 .* can never start"):
        replayed(jobs_of([0, 1, 2], [10, 10, 1], [NO_JOB, 0, 1], [0, 5, 5]), cluster=Cluster(4, outages=away))


# refused


EVERY_EVENT = Agent(parse_picking("pick:by=shortest")._replace(every_event=True))
FOLLOWING = jobs_of([0, 1], [10, 10], [NO_JOB, 0], [0, 5])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: replay(FOLLOWING, 4),
            "a replay that returns the schedule alone has no rule for jobs that follow others",
        ),
        (lambda: StoppableReplay(FOLLOWING, 4).keep(), "no state to keep"),
        (lambda: OrderReplayer().replay(FOLLOWING, Cluster(4, waiting=1)), "begins with an empty queue"),
        (lambda: replayed(FOLLOWING, assisted("FCFS", EVERY_EVENT)), "every event"),
        (lambda: replay(FOLLOWING.submitted_at(n([0, 15])).without_followers(), 4), "has no rule"),
    ],
)
def test_what_has_no_rule_for_followers_is_refused(ask, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        ask()


def test_closed_replays_run_the_code_of_open_ones() -> None:
    """To compile an event loop takes long, and numba does so again for every mixture of arrays that may and may not be written."""
    jobs = busy_jobs(50)
    replay(jobs, PROCS, "WFP3")
    compiled = list(advance.signatures)
    closed_as(jobs, PROCS, OrderReplayer("SAF"))
    for policy in ("FCFS", "F1", "WFP3"):
        OrderReplayer(policy).replay(replace(jobs, after=np.maximum(np.arange(50) - 3, NO_JOB)), Cluster(PROCS))
    assert compiled == list(advance.signatures) != []
