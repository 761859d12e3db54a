"""Tests of simulator/limits: ranks, replaying. Closed replays, in which some jobs follow others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from models.judging.chance import RandomOrder
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB, followers_of
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.limits.replaying import NEVER_STARTED, LimitedReplayer, UsedBefore
from simulator.limits.rules import RUNNING_JOBS, USED, JobLimit
from simulator.policies.plugins import PlugIn
from simulator.policies.registry import Policy
from simulator.policies.scoring import FIXED
from simulator.replayer import Outcome
from tests.shared import size
from tests.simulator.busy import PROCS, busy_jobs
from tests.simulator.engine.test_replay_closed import SET_BACK, shortest_tie
from tests.simulator.limits.test_limits import FEATURES, limited_outcome, rules_for
from tests.simulator.limits.test_replaying import AWAY, gates_of, limits_of, tree_of
from tests.simulator.oracle_machine import OracleRules, limited_oracle_run
from tests.simulator.oracle_types import CORRECTIONS, Workload
from tests.simulator.oracle_workloads import closed_workloads, opened

n = np.array
POLICIES = ("FCFS", "SJF", "SAF", "largest", "LCFS", "F1", "bounded-key:factor=1,cap_hours=1")
MORE_POLICIES = (*POLICIES, SET_BACK, "formula:submit % 7", "formula:-(submit % 300) * procs")
BACKFILLS = ("none", "any", "easy", "easy-sjbf")


@st.composite
def closed_cases(draw: st.DrawFn, at_once: bool = True) -> tuple[Workload, OracleRules]:
    workload = draw(closed_workloads(FEATURES, at_once))
    return workload, draw(rules_for(workload))


def compare_with_oracle(backfill: str, examples: int) -> None:
    """The oracle of docs/reference/limits.md, which knows docs/reference/semantics/followers.md."""

    @settings(deadline=None, max_examples=examples)
    @given(case=closed_cases(), policy=st.sampled_from(POLICIES), correction=st.sampled_from(CORRECTIONS))
    def same(case: tuple[Workload, OracleRules], policy: str, correction: str) -> None:
        workload, rules = case
        expected = limited_oracle_run(workload, policy, backfill, correction, rules)
        outcome = limited_outcome(workload, policy, backfill, correction, rules)
        if expected.ambiguous_order and outcome.schedule.start.tolist() != expected.start:
            reject()  # rounding may order two owners either way
        assert outcome.schedule.start.tolist() == expected.start
        assert outcome.schedule.backfilled.tolist() == expected.backfilled
        if outcome.submit is not None:
            assert outcome.submit.tolist() == expected.submit
            never = [
                submit == NEVER_SUBMITTED or (start == CANCELLED and job.cancel is None)
                for job, start, submit in zip(workload.jobs, expected.start, expected.submit, strict=True)
            ]
            assert outcome.counts[NEVER_STARTED] == sum(never)

    same()


@pytest.mark.parametrize("backfill", BACKFILLS)
def test_closed_replays_equal_the_oracles(backfill: str) -> None:
    compare_with_oracle(backfill, 30)


@pytest.mark.parametrize("backfill", BACKFILLS)
def test_two_thousand_closed_replays_equal_the_oracles(backfill: str) -> None:
    compare_with_oracle(backfill, size(500, 5000))


def compare_with_open(examples: int) -> None:
    """A replay knows nothing of later submissions. So the closed one is the open one of its submissions."""

    @settings(deadline=None, max_examples=examples)
    @given(
        case=closed_cases(at_once=False),
        policy=st.sampled_from(MORE_POLICIES),
        backfill=st.sampled_from(BACKFILLS),
        correction=st.sampled_from(CORRECTIONS),
    )
    def same(case: tuple[Workload, OracleRules], policy: str | Policy, backfill: str, correction: str) -> None:
        workload, rules = case
        outcome = limited_outcome(workload, policy, backfill, correction, rules)
        submit = workload.as_jobs().submit if outcome.submit is None else outcome.submit
        alone, rows = opened(workload, submit.tolist())
        came = [row for row in rows if submit[row] != NEVER_SUBMITTED]
        alone = alone._replace(
            jobs=[job._replace(order=k) for k, job in enumerate(alone.jobs[len(rows) - len(came) :])]
        )
        expected = limited_outcome(alone, policy, backfill, correction, part_of(rules, came)).schedule
        assert outcome.schedule.start[came].tolist() == expected.start.tolist()
        assert outcome.schedule.backfilled[came].tolist() == expected.backfilled.tolist()

    same()


def part_of(rules: OracleRules, rows: list[int]) -> OracleRules:
    """The rules for some of the jobs, in this order."""
    limits = [limit._replace(keys=[limit.keys[row] for row in rows]) for limit in rules.limits]
    gates = [gate._replace(jobs=frozenset(k for k, row in enumerate(rows) if row in gate.jobs)) for gate in rules.gates]
    shares = rules.shares and rules.shares._replace(paths=[rules.shares.paths[row] for row in rows])
    return OracleRules(limits, gates, shares)


def test_a_closed_replay_is_the_open_one_of_its_submissions() -> None:
    compare_with_open(60)


def test_two_thousand_closed_replays_are_the_open_ones_of_their_submissions() -> None:
    compare_with_open(size(2000, 20000))


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize(
    "policy", ["FCFS", "SAF", "F1", "bounded-key", RandomOrder(3600, 1).policy, "fairshare"], ids=str
)
def test_the_closed_replay_of_the_same_scheduler_is_the_open_one(policy: str | Policy, backfill: str) -> None:
    jobs, rows = busy_jobs(300, load=1.5, users=6, cancelled_share=0.1), np.arange(300)
    jobs = replace(jobs, user=jobs.user % 6)
    rules = limits_of(jobs, rows), gates_of(jobs, rows), tree_of(jobs, rows)
    replayer, cluster = LimitedReplayer(OrderReplayer(policy, backfill), *rules), Cluster(PROCS, outages=AWAY)
    expected = replayer.replay(jobs, cluster)
    start = expected.schedule.start
    end = np.where(start != CANCELLED, start + jobs.runtime, np.where(jobs.cancel < NEVER, jobs.cancel, -1))
    after, think = followers_of(jobs.submit, end, jobs.user)
    assert (after != NO_JOB).sum() > 40 and expected.counts[NEVER_STARTED] > 0
    outcome = replayer.replay(replace(jobs, after=after, think=think), cluster)
    assert outcome.submit is not None and np.array_equal(outcome.submit, jobs.submit)
    assert np.array_equal(outcome.schedule.start, start) and outcome.counts == expected.counts
    longer = np.where(start == CANCELLED, jobs.cancel, start + 1)
    patient = replayer.replay(replace(jobs, after=after, think=think, cancel=longer), cluster)
    assert np.array_equal(patient.schedule.start, start), "all are patient for longer than they waited"


def test_of_equal_jobs_the_one_that_came_first_is_backfilled() -> None:
    outcome = LimitedReplayer(OrderReplayer("FCFS", "easy-sjbf")).replay(shortest_tie(), Cluster(4))
    assert outcome.schedule.start.tolist() == [0, CANCELLED, 10, 20, 13, 10]


FOLLOWING = Jobs(
    n([0, 1, 2]), *n([[10, 10, 10], [1, 1, 1], [10, 10, 10], [10, 10, 10]]), after=n([-1, 0, 1]), think=n([0, 5, 5])
)


def replayed(policy: str | Policy = "FCFS", cluster: Cluster | None = None, **others: object) -> Outcome:
    return LimitedReplayer(OrderReplayer(policy), **others).replay(FOLLOWING, cluster or Cluster(4))  # type: ignore[arg-type]


def test_who_follows_a_job_that_never_leaves_is_never_submitted_and_counted() -> None:
    outcome = replayed(limits=[JobLimit(USED, n([0, 99]), n([1, 0, 1]))])
    assert outcome.submit is not None and outcome.submit.tolist() == [0, 15, NEVER_SUBMITTED]
    assert outcome.schedule.start.tolist() == [0, CANCELLED, CANCELLED]
    assert outcome.counts[NEVER_STARTED] == 2


def test_an_open_replay_says_no_submissions() -> None:
    assert LimitedReplayer(OrderReplayer()).replay(FOLLOWING.without_followers(), Cluster(4)).submit is None


LATE = Policy("late", FIXED, PlugIn("late", lambda submit: -submit, ("submit",)).fixed_scores)
NOBODY_YET = UsedBefore(*np.zeros((3, 0), dtype=np.int64))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: replayed(Policy("own", FIXED, lambda jobs, _: jobs.submit % 7)), "own: its scores are known before"),
        (lambda: replayed(LATE), "under limits, late, a plug-in that looks at submissions, has no rule"),
        (lambda: replayed("formula:1 / (submit - 15)"), "submit = 15"),
        (lambda: replayed("WFP3"), "must be known at submission"),
        (lambda: replayed(cycle_s=60), "looks once a cycle has no rule"),
        (lambda: replayed(drive=print), "live estimates"),
        (lambda: replayed(ended=NOBODY_YET), "a warm start"),
        (lambda: replayed(cluster=Cluster(4, waiting=1)), "begins with an empty queue"),
    ],
)
def test_what_has_no_rule_for_followers_is_refused(ask, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        ask()


def test_a_limit_on_jobs_holds_who_comes_later_too() -> None:
    """One job at a time. The third is submitted 5 s after the second has ended, and the fourth in the same second."""
    columns = n([[10, 10, 10, 10], [1, 1, 1, 1], [10, 10, 10, 10], [10, 10, 10, 10]])
    jobs = Jobs(n([0, 1, 2, 25]), *columns, after=n([-1, -1, 1, -1]), think=n([0, 0, 5, 0]))
    outcome = LimitedReplayer(OrderReplayer(), [JobLimit(RUNNING_JOBS, 1, n([0, 0, 0, 0]))]).replay(jobs, Cluster(4))
    assert outcome.submit is not None and outcome.submit.tolist() == [0, 1, 25, 25]
    assert outcome.schedule.start.tolist() == [0, 10, 25, 35]
