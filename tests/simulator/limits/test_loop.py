"""Replays under limits give exactly the schedules of an oracle that was written from docs/reference/limits.md alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from simulator.engine.replay import OrderReplayer, replay
from simulator.limits.replaying import LimitedReplayer
from simulator.limits.rules import NO_KEY, OUTSTANDING, RUNNING_JOBS, RUNNING_PROCS, USED, JobLimit, StartGate
from simulator.limits.shares import ShareTree
from tests.random_size import size
from tests.simulator.oracle import OracleRun
from tests.simulator.oracle_limits import OracleGate, OracleLimit, OracleRules, OracleShares, limited_oracle_run
from tests.simulator.oracle_types import CORRECTIONS, Job, Workload
from tests.simulator.oracle_workloads import workloads

FEATURES = ("zero", "users", "cancelled", "planned", "unplanned")
POLICIES = ("FCFS", "SJF", "SAF", "LCFS", "largest")
KINDS = {"jobs": RUNNING_JOBS, "cpu": RUNNING_PROCS, "outstanding": OUTSTANDING, "used": USED}
KEYS = {
    "all": lambda job: 0,
    "user": lambda job: job.user,
    "account": lambda job: job.user % 2,
    "queue": lambda job: job.procs % 3 if job.procs % 3 < 2 else None,
}


@st.composite
def rules_for(draw: st.DrawFn, workload: Workload) -> OracleRules:
    """Draw up to three limits and two gates that matter for a workload, and shares."""
    jobs = workload.jobs
    work = sorted(job.procs * job.limit for job in jobs)
    begin = jobs[0].submit
    length = max(jobs[-1].submit - begin, *(job.limit for job in jobs)) + 1
    limits = []
    for _ in range(draw(st.integers(0, 3))):
        counts, keys = draw(st.sampled_from(sorted(KINDS))), KEYS[draw(st.sampled_from(sorted(KEYS)))]
        of_jobs = [keys(job) for job in jobs]
        most = {
            "jobs": 4,
            "cpu": workload.cluster_procs,
            "outstanding": 2 * work[len(work) // 2],
            "used": sum(work),
        }[counts]
        bounds = {
            key: draw(st.one_of(st.integers(1, max(most, 1)), st.just(0)) if draw(st.booleans()) else st.just(most))
            for key in sorted({key for key in of_jobs if key is not None})
            if draw(st.integers(0, 5))
        }
        changes = sorted(
            (begin + draw(st.integers(-2, length)), key, draw(st.integers(0, max(most, 1))))
            for key in bounds
            if draw(st.booleans())
        )
        limits.append(OracleLimit(counts, of_jobs, bounds, changes))
    gates = []
    for _ in range(draw(st.integers(0, 2))):
        closed, second = [], begin - 5
        for _ in range(draw(st.integers(0, 4))):
            close = second + draw(st.integers(1, length))
            second = close + draw(st.integers(1, length))
            closed.append((close, second))
        over = draw(st.integers(0, workload.cluster_procs))
        gates.append(OracleGate(frozenset(job.order for job in jobs if job.procs > over), closed))
    return OracleRules(limits, gates, draw(shares_for(workload)) if draw(st.integers(0, 3)) == 0 else None)


@st.composite
def shares_for(draw: st.DrawFn, workload: Workload) -> OracleShares:
    """Draw a tree of two accounts, one of which may be below the other, and their users."""
    is_flat = draw(st.booleans())
    paths = []
    for job in workload.jobs:
        account, user = job.user % 2, 2 + job.user
        paths.append((account, user, None) if account == 0 or is_flat else (0, account, user))
    shares = {owner: float(draw(st.integers(1, 5))) for owner in range(2 + max(job.user for job in workload.jobs) + 1)}
    return OracleShares(paths, shares, draw(st.sampled_from([10.0, 1000.0, 1e6])))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Workload, OracleRules]:
    workload = draw(workloads(features=FEATURES))
    return workload, draw(rules_for(workload))


def limited(
    workload: Workload, policy: str, backfill: str, correction: str, rules: OracleRules
) -> tuple[list[int], list[bool]]:
    """Starts and backfilled jobs of the engine."""
    limits, gates, shares = rules
    job_limits = []
    for limit in limits:
        key = np.array([NO_KEY if each not in limit.bounds else each for each in limit.keys], dtype=np.int64)
        bound = np.array([limit.bounds.get(k, 0) for k in range(max(limit.bounds, default=0) + 1)], dtype=np.int64)
        job_limits.append(JobLimit(KINDS[limit.counts], bound, key, np.array(limit.changes, dtype=np.int64)))
    start_gates = [
        StartGate(
            np.array([job.order in gate.jobs for job in workload.jobs]),
            np.array([second for span in gate.closed for second in span], dtype=np.int64),
        )
        for gate in gates
    ]
    tree = None
    if shares is not None:
        path = np.array([[NO_KEY if owner is None else owner for owner in path] for path in shares.paths])
        tree = ShareTree(path, np.array([shares.shares[owner] for owner in sorted(shares.shares)]))
        policy = f"fairshare:half_life_days={shares.half_life_s / 86_400!r}"
    order = OrderReplayer(policy, backfill, correction)
    replayer = LimitedReplayer(order, job_limits, start_gates, tree)
    schedule = replayer.replay(workload.as_jobs(), workload.as_cluster()).schedule
    return schedule.start.tolist(), schedule.backfilled.tolist()


def compare(backfill: str, examples: int) -> None:
    @settings(deadline=None, max_examples=examples)
    @given(case=cases(), policy=st.sampled_from(POLICIES), correction=st.sampled_from(CORRECTIONS))
    def same(case: tuple[Workload, OracleRules], policy: str, correction: str) -> None:
        workload, rules = case
        expected: OracleRun = limited_oracle_run(workload, policy, backfill, correction, rules)
        start, backfilled = limited(workload, policy, backfill, correction, rules)
        if expected.ambiguous_order and start != expected.start:
            reject()  # rounding may order two owners either way
        assert start == expected.start
        assert backfilled == expected.backfilled

    same()


@pytest.mark.parametrize("backfill", ["none", "any", "easy", "easy-sjbf"])
def test_schedules_equal_the_oracles(backfill: str) -> None:
    compare(backfill, 60)


@pytest.mark.parametrize("backfill", ["none", "any", "easy", "easy-sjbf"])
def test_two_thousand_schedules_equal_the_oracles(backfill: str) -> None:
    compare(backfill, size(500, 5000))


@settings(deadline=None, max_examples=40)
@given(workload=workloads(features=FEATURES), backfill=st.sampled_from(["none", "any", "easy", "easy-sjbf"]))
def test_without_a_limit_it_is_the_other_engine(workload: Workload, backfill: str) -> None:
    start, backfilled = limited(workload, "FCFS", backfill, "requested", OracleRules())
    other = replay(workload.as_jobs(), workload.as_cluster(), "FCFS", backfill)
    assert (start, backfilled) == (other.start.tolist(), other.backfilled.tolist())


def test_a_held_job_keeps_nothing_and_time_alone_lets_it_start() -> None:
    """Two jobs of one user with 10 s each, 15 outstanding processor-seconds: the second starts when 5 s are left of the first."""
    jobs = [Job(0, 0, 10, 1, 10, 10), Job(1, 0, 10, 1, 10, 10), Job(2, 0, 20, 1, 20, 20, user=1)]
    limit = OracleLimit("outstanding", [0, 0, None], {0: 15})
    assert limited(Workload(jobs, 2), "FCFS", "easy", "requested", OracleRules([limit]))[0] == [0, 10, 0]
    assert limited(Workload(jobs, 3), "FCFS", "easy", "requested", OracleRules([limit]))[0] == [0, 5, 0]
