"""Tests of simulator/limits: rules, lines, loop, replaying, shares."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from simulator.engine import episode as at
from simulator.engine.replay import OrderReplayer, replay
from simulator.jobs.cluster import FOREVER, Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import tasks_of
from simulator.limits.lines import (
    ACTIVE,
    count_use,
    join_line,
    leave_line,
    new_limited_episode,
    rooms,
    wake_of_group,
)
from simulator.limits.ranks import Orders
from simulator.limits.replaying import LimitedReplayer, seen_jobs
from simulator.limits.rules import (
    BOUNDLESS,
    GATE,
    NO_KEY,
    OUTSTANDING,
    RUNNING_JOBS,
    RUNNING_PROCS,
    USED,
    JobLimit,
    StartGate,
    gate_changes,
    grouped_slots,
    occurrences,
    second_of_day,
    wall_clock,
)
from simulator.limits.shares import ShareTree, change_use, sharing_of, stands_before, take_standing
from simulator.policies.registry import Policy
from simulator.replayer import Outcome
from tests.shared import size
from tests.simulator.oracle import OracleRun
from tests.simulator.oracle_machine import OracleGate, OracleLimit, OracleRules, OracleShares, limited_oracle_run
from tests.simulator.oracle_types import CORRECTIONS, Job, Workload
from tests.simulator.oracle_workloads import workloads
from traces.cluster.description import AdvanceReservation, Gate

# hours: The clock on the wall; tests/assets/replaying/limits/test_limits.py has gates and reservations in a replay.

BERLIN = ZoneInfo("Europe/Berlin")


def second(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=BERLIN).timestamp())  # type: ignore[arg-type]


def test_minutes_and_days_follow_summer_time() -> None:
    moments = [(2026, 3, 27, 8, 30), (2026, 3, 29, 12, 0), (2026, 7, 6, 0, 5)]
    minute, day = wall_clock(np.array([second(*each) for each in moments]), "Europe/Berlin")
    assert minute.tolist() == [510, 720, 5] and day.tolist() == [4, 6, 0]
    assert second_of_day(datetime(2026, 3, 29).date(), 720, BERLIN) == second(2026, 3, 29, 12)


def test_nights_are_one_span_and_reservations_repeat() -> None:
    zero = second(2026, 1, 5, 0)
    changes = gate_changes(Gate((0, 1), 22 * 60, 6 * 60, timezone="Europe/Berlin"), zero, 0, 0)
    assert changes[changes > 0][:4].tolist() == [79_200, 108_000, 165_600, 194_400]
    weekday = AdvanceReservation("b", zero + 3600, zero + 3601, repeats="weekday", timezone="Europe/Berlin")
    begins = [begin - zero for begin, _ in occurrences(weekday, zero, zero + 8 * 86_400)]
    assert begins == [day * 86_400 + 3600 for day in (0, 1, 2, 3, 4, 7)]


# lines: Lines of waiting jobs: what a group may have, and when the next of its jobs is free.

n = np.array
JOBS = Jobs(n([0, 0, 0, 0]), n([5] * 4), n([2, 1, 3, 1]), n([10, 10, 10, 20]), n([10, 10, 10, 20]))
TASKS = tasks_of(JOBS, Cluster(4))
ORDERS = Orders(n([0, 1, 2, 3]), n([0, 1, 2, 3]), n([0, 1, 2, 3]), False)


def test_a_line_is_in_the_order_of_the_policy_and_empties() -> None:
    slots, _ = grouped_slots([JobLimit(RUNNING_JOBS, 1, n([0, 0, 0, 0]))], [], TASKS)
    episode = new_limited_episode(TASKS, slots, 4)
    for job in (2, 0, 1):
        join_line.py_func(TASKS, slots, ORDERS, episode, job)
    assert episode.line[:3].tolist() == [0, 1, 2] and episode.narrow[0] == 1 and episode.light[0] == 10
    assert leave_line.py_func(slots, episode, 0, 1, 1) == 1  # the next has moved up
    assert episode.stale[0] == 1 and episode.counters[at.QUEUED] == 2
    assert leave_line.py_func(slots, episode, 0, 0, 0) == 1
    assert leave_line.py_func(slots, episode, 0, 1, 2) == 2
    assert episode.counters[ACTIVE] == 0 and episode.counters[at.QUEUED] == 0


def test_rooms_shrink_and_come_back() -> None:
    limits = [
        JobLimit(OUTSTANDING, 40, n([0] * 4)),
        JobLimit(USED, 25, n([0] * 4)),
        JobLimit(RUNNING_JOBS, 2, n([0] * 4)),
    ]
    slots, _ = grouped_slots(limits, [], TASKS)
    episode = new_limited_episode(TASKS, slots, 4)
    state = (slots, episode.running, episode.level, 0)
    assert rooms(*state, 0) == (FOREVER, FOREVER)  # nothing runs: a job may be over the bound by itself
    count_use(TASKS, slots, episode.running, episode.level, 2, 1, 0, 0)
    assert rooms(*state, 0) == (FOREVER, 10)  # 30 of 40 are promised
    assert rooms(*state, 4) == (FOREVER, 22)
    assert rooms(*state, 9) == (-1, -1)  # 27 of 25 are used
    count_use(TASKS, slots, episode.running, episode.level, 2, -1, 0, 5)
    assert rooms(*state, 9) == (FOREVER, FOREVER)
    assert episode.level.tolist() == [0, 15, 0]


def test_time_alone_frees_a_job() -> None:
    slots, _ = grouped_slots([JobLimit(OUTSTANDING, 30, n([0] * 4))], [], TASKS)
    episode = new_limited_episode(TASKS, slots, 4)
    count_use(TASKS, slots, episode.running, episode.level, 2, 1, 0, 0)
    assert wake_of_group(slots, ORDERS, episode, 0, 0) == FOREVER  # nobody waits
    for job in (0, 3):
        join_line.py_func(TASKS, slots, ORDERS, episode, job)
    assert wake_of_group(slots, ORDERS, episode, 0, 0) == 7  # 30 - 3 * 7 + 20 <= 30


# loop: Replays under limits give exactly the schedules of an oracle that was written from docs/reference/limits.md
# alone.

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
    schedule = limited_outcome(workload, policy, backfill, correction, rules).schedule
    return schedule.start.tolist(), schedule.backfilled.tolist()


def limited_outcome(
    workload: Workload, policy: str | Policy, backfill: str, correction: str, rules: OracleRules
) -> Outcome:
    """The outcome of the engine."""
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
    return replayer.replay(workload.as_jobs(), workload.as_cluster())


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


# replaying: What a replay under limits counts, and what it refuses.

REPLAYING_JOBS = Jobs(n([0, 0, 1]), n([5, 5, 5]), n([1, 2, 1]), n([5, 5, 5]), n([5, 5, 5]), user=n([0, 0, 1]))


def test_jobs_that_are_held_for_ever_are_counted() -> None:
    outcome = LimitedReplayer(OrderReplayer(), [JobLimit(RUNNING_JOBS, n([0, 9]), REPLAYING_JOBS.user)]).replay(
        REPLAYING_JOBS, Cluster(4)
    )
    assert outcome.schedule.start.tolist() == [CANCELLED, CANCELLED, 1]
    assert outcome.counts == {"jobs_never_started": 2, "jobs_over_a_limit_alone": 0}


def test_a_job_over_a_bound_by_itself_starts_alone() -> None:
    limits = [JobLimit(RUNNING_PROCS, 1, REPLAYING_JOBS.user), JobLimit(OUTSTANDING, 9, REPLAYING_JOBS.user)]
    outcome = LimitedReplayer(OrderReplayer(), limits).replay(REPLAYING_JOBS, Cluster(4))
    assert outcome.schedule.start.tolist() == [0, 5, 1]
    assert outcome.counts == {"jobs_never_started": 0, "jobs_over_a_limit_alone": 1}


def test_time_alone_may_be_no_event() -> None:
    jobs = Jobs(n([0, 0]), n([9, 9]), n([1, 1]), n([10, 10]), n([10, 10]))
    limits = [JobLimit(OUTSTANDING, 15, n([0, 0]))]
    starts = [
        LimitedReplayer(OrderReplayer(), limits, wakes=wakes).replay(jobs, Cluster(2)).schedule.start.tolist()
        for wakes in (True, False)
    ]
    assert starts == [[0, 5], [0, 9]]


@pytest.mark.parametrize(
    ("order", "cluster", "message"),
    [
        (OrderReplayer("WFP3"), Cluster(4), "must be known at submission"),
        (OrderReplayer("fairshare"), Cluster(4), "must be known at submission"),
        (OrderReplayer(backfill="conservative"), Cluster(4), "plan all waiting jobs"),
        (OrderReplayer(backfill="pick:by=shortest"), Cluster(4), "agents"),
    ],
)
def test_what_has_no_limits_is_refused(order: OrderReplayer, cluster: Cluster, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LimitedReplayer(order).replay(REPLAYING_JOBS, cluster)


# rules: Limits and gates as slots of groups of jobs.

RULES_TASKS = tasks_of(Jobs(n([0, 1, 2]), n([5, 5, 5]), n([1, 2, 1]), n([5, 5, 5]), n([9, 9, 9])), Cluster(4))


def test_jobs_with_the_same_slots_are_a_group() -> None:
    changing = JobLimit(RUNNING_JOBS, n([3, 4]), n([1, 0, 1]), n([[15, 0, 9], [17, 1, BOUNDLESS]]))
    limits = [changing, JobLimit(RUNNING_PROCS, 8, n([0, NO_KEY, 0]))]
    slots, _ = grouped_slots(limits, [StartGate(n([False, True, False]), n([10, 20]))], RULES_TASKS)
    assert slots.kind.tolist() == [RUNNING_JOBS, RUNNING_JOBS, RUNNING_PROCS, GATE]
    assert slots.bound.tolist() == [3, 4, 8, 0]
    groups = [slots.slot[slots.first[g] : slots.first[g + 1]].tolist() for g in slots.group]
    assert groups == [[1, 2], [0, 3], [1, 2]]
    assert slots.amount.tolist() == [9, 18, 9]
    assert (slots.change_time.tolist(), slots.change_slot.tolist(), slots.becomes.tolist()) == (
        [10, 15, 17, 20],
        [3, 0, 1, 3],
        [1, 9, BOUNDLESS, 0],
    )


def test_without_limits_all_jobs_are_one_group() -> None:
    slots, _ = grouped_slots([], [], RULES_TASKS)
    assert slots.group.tolist() == [0, 0, 0] and slots.first.tolist() == [0, 0] and slots.begin.tolist() == [0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JobLimit(7, 1, n([0])), "counts one of four things"),
        (lambda: JobLimit(RUNNING_JOBS, -1, n([0])), "must not be negative"),
        (lambda: JobLimit(RUNNING_JOBS, 1, n([0]), n([[5, 0, -1]])), "must not be negative"),
        (lambda: StartGate(n([True]), n([5, 5])), "must ascend"),
        (lambda: grouped_slots([JobLimit(RUNNING_JOBS, 1, n([0]))], [], RULES_TASKS), "1 jobs, the replay has 3"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        make()


# shares: Who has used least of the shares comes first.


def test_standing_is_usage_by_shares_from_the_top_floor_down() -> None:
    tree = ShareTree(n([[0, 1], [0, 2], [3, -1]]), n([2.0, 1.0, 4.0, 1.0]))
    sharing = sharing_of(tree, n([0, 1, 2]), 3, 0, 10.0)
    change_use(sharing, 0, 0, 8)
    change_use(sharing, 1, 0, 8)
    change_use(sharing, 2, 0, 4)
    for group in range(3):
        take_standing(sharing, group, 10)
    used = 10 / np.log(2) / 2  # of one processor in a half-life
    assert sharing.standing == pytest.approx(used * n([[8, 8], [8, 2], [4, 0]]))
    assert stands_before(sharing, 2, 9, 0, 1) and stands_before(sharing, 1, 9, 0, 1)
    assert stands_before(sharing, 0, 0, 0, 1) and not stands_before(sharing, 0, 1, 0, 1)


def test_the_account_with_more_shares_gets_more() -> None:
    """Jobs of one processor and 10 s on one processor: the account with 3 shares starts three of four."""
    count = 40
    submit = np.zeros(count, dtype=np.int64)
    length = np.full(count, 10)
    owner = np.arange(count) % 2
    jobs = Jobs(submit, length, np.ones_like(length), length, length)
    replayer = LimitedReplayer(OrderReplayer("fairshare"), shares=ShareTree(owner[:, None], n([1.0, 3.0])))
    start = replayer.replay(jobs, Cluster(1)).schedule.start
    first = np.argsort(start)[:20]
    assert owner[first].sum() == 15


@pytest.mark.parametrize(
    ("path", "shares", "message"),
    [([[1]], [1.0], "places below 1"), ([[0]], [0.0], "must be above 0"), ([0], [1.0], "a row for each job")],
)
def test_trees_that_make_no_sense_are_refused(path: list, shares: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ShareTree(n(path), n(shares))


def test_a_scheduler_that_looks_once_a_cycle_starts_jobs_then_only() -> None:
    jobs = Jobs(n([1, 130]), n([50, 10]), n([4, 4]), n([60, 10]), n([60, 10]))
    seen = seen_jobs(jobs, 100)
    assert seen.submit.tolist() == [100, 200] and seen.runtime.tolist() == [100, 100] and seen_jobs(jobs, 0) is jobs
    starts = LimitedReplayer(OrderReplayer("FCFS", "easy"), cycle_s=100).replay(jobs, Cluster(4)).schedule.start
    assert starts.tolist() == [100, 200]
