"""Picked backfilling and inspected picks in the oracle: what docs/reference/semantics.md promises, on random workloads."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulator.oracle import OracleRun, oracle_run
from tests.simulator.oracle_metrics import heads_start_by_shadow_time, never_oversubscribes, waits_within_bounds
from tests.simulator.oracle_picks import Ask, Picks, oracle_inspected, oracle_picks
from tests.simulator.oracle_policies import LOOKS_AT_FREE, POLICIES
from tests.simulator.oracle_types import Workload
from tests.simulator.oracle_workloads import workloads

any_policy = st.sampled_from(POLICIES)
same_order_in_a_pass = st.sampled_from([policy for policy in POLICIES if policy not in LOOKS_AT_FREE])
windows = st.sampled_from([None, (1, 0), (0, 1), (2, 2), (10, 10)])
any_picks = st.builds(
    Picks,
    window=windows,
    guard=st.booleans(),
    slack_s=st.sampled_from([0, 0, 3, 600]),
    slack_share=st.sampled_from([0, 0, 0.1, 2]),
    must=st.booleans(),
    keep_free=st.integers(0, 4),
    keep_over_s=st.sampled_from([0, 3, 3600]),
) | st.builds(Picks, from_=st.just("all"), window=windows, must=st.booleans())


def same_but_for_heads(run: OracleRun, other: OracleRun) -> bool:
    return run.start == other.start and run.backfilled == other.backfilled


def anybody(seed: int) -> Ask:
    """An agent that picks any slot, or none, of those that it sees."""
    numbers = random.Random(seed)
    return lambda t, slots, candidates: numbers.randrange(-1, len(slots))


@settings(deadline=None, max_examples=150)
@given(workload=workloads(), policy=any_policy)
def test_the_first_by_slot_is_easy_and_without_a_guard_any(workload: Workload, policy: str) -> None:
    run, easy = oracle_picks(workload, policy, Picks()), oracle_run(workload, policy, "easy")
    assert same_but_for_heads(run, easy)
    assert run.blocked_heads == easy.blocked_heads
    assert same_but_for_heads(oracle_picks(workload, policy, Picks(guard=False)), oracle_run(workload, policy, "any"))


@settings(deadline=None, max_examples=100)
@given(workload=workloads(), policy=any_policy)
def test_the_shortest_is_easy_sjbf(workload: Workload, policy: str) -> None:
    assert same_but_for_heads(
        oracle_picks(workload, policy, Picks(by="shortest")), oracle_run(workload, policy, "easy-sjbf")
    )


@settings(deadline=None, max_examples=100)
@given(workload=workloads(), policy=same_order_in_a_pass)
def test_from_all_is_first_fit(workload: Workload, policy: str) -> None:
    assert oracle_picks(workload, policy, Picks(from_="all")).start == oracle_run(workload, policy, "any").start


@settings(deadline=None, max_examples=200)
@given(workload=workloads(), policy=any_policy, options=any_picks, seed=st.integers(0, 99), always=st.booleans())
def test_every_schedule_is_feasible_whoever_picks(
    workload: Workload, policy: str, options: Picks, seed: int, always: bool
) -> None:
    try:
        run = oracle_picks(workload, policy, options, anybody(seed), always)
    except ValueError:
        assert any(outage.end is None for outage in workload.outages)  # and long jobs have to leave processors free
        return
    assert never_oversubscribes(workload, run.start)
    assert waits_within_bounds(workload, run.start)


@settings(deadline=None, max_examples=150)
@given(
    workload=workloads(estimates=("exact",), features=("warm",)),
    window=windows,
    slack_s=st.sampled_from([0, 3, 600]),
    seed=st.integers(0, 99),
)
def test_no_head_is_later_than_promised_and_slack(
    workload: Workload, window: tuple[int, int] | None, slack_s: int, seed: int
) -> None:
    run = oracle_picks(workload, "FCFS", Picks(window=window, slack_s=slack_s), anybody(seed))
    promised: dict[int, int] = {}
    for head in run.blocked_heads:
        promised.setdefault(head.order, head.shadow_time)
    assert all(run.start[order] <= time + slack_s for order, time in promised.items())
    assert slack_s > 0 or heads_start_by_shadow_time(run)


def never_asked(t: int, order: int, fits: bool) -> bool:
    raise AssertionError("nobody is to be asked")


@settings(deadline=None, max_examples=100)
@given(
    workload=workloads(), policy=any_policy, backfill=st.sampled_from(["none", "any", "easy", "easy-sjbf", "selective"])
)
def test_who_accepts_everything_changes_nothing(workload: Workload, policy: str, backfill: str) -> None:
    expected = oracle_run(workload, policy, backfill)
    assert same_but_for_heads(oracle_inspected(workload, policy, backfill, lambda *_: True), expected)
    unasked = oracle_inspected(workload, policy, backfill, never_asked, rejections=0)
    assert same_but_for_heads(unasked, expected)


@settings(deadline=None, max_examples=50)
@given(workload=workloads(), backfill=st.sampled_from(["conservative", "selective"]))
def test_reservations_are_not_inspected(workload: Workload, backfill: str) -> None:
    run = oracle_inspected(workload, "FCFS", backfill, never_asked)
    assert run.start == oracle_run(workload, "FCFS", backfill).start


@settings(deadline=None, max_examples=100)
@given(
    workload=workloads(),
    policy=any_policy,
    backfill=st.sampled_from(["none", "any", "easy"]),
    seed=st.integers(0, 99),
    interval=st.sampled_from([1, 7, 600]),
)
def test_every_inspected_schedule_is_feasible(
    workload: Workload, policy: str, backfill: str, seed: int, interval: int
) -> None:
    numbers = random.Random(seed)
    run = oracle_inspected(workload, policy, backfill, lambda *_: numbers.random() < 0.5, 5, interval)
    assert never_oversubscribes(workload, run.start)
    assert waits_within_bounds(workload, run.start)
