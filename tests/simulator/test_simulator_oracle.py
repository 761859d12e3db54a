"""Tests of the oracle itself: cases worked out by hand, and promises of the rules.

The cases lie in `oracle_cases*.py`, so that any engine can be put through them.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import size
from tests.simulator import oracle_cases, oracle_cases_policies
from tests.simulator.oracle import BACKFILLS, Replay, oracle_run
from tests.simulator.oracle_cases import Case
from tests.simulator.oracle_metrics import (
    backfilling_leaves_room_for_heads,
    compression_never_delays,
    heads_start_by_shadow_time,
    never_oversubscribes,
    no_start_after_first_reservation,
    procs_in_use,
    shadow_times_never_move_back,
    starts_at_events,
    starts_in_order,
    waits_within_bounds,
)
from tests.simulator.oracle_policies import (
    POLICIES,
)
from tests.simulator.oracle_types import CORRECTIONS, Workload, workload_of
from tests.simulator.oracle_workloads import workloads

CASES = [*oracle_cases.CASES, *oracle_cases_policies.CASES]

any_policy = st.sampled_from(POLICIES)
any_correction = st.sampled_from(CORRECTIONS)
any_backfill = st.sampled_from([*BACKFILLS, "selective:threshold=1.5", "selective:threshold=5"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases_by_hand(case: Case) -> None:
    run = oracle_run(case.workload, case.policy, case.backfill, case.correction)
    assert run.start == case.starts
    if case.backfilled is not None:
        assert run.backfilled == case.backfilled
    if case.heads is not None:
        assert [tuple(head) for head in run.blocked_heads[: len(case.heads)]] == case.heads
    if case.reservations is not None:
        assert [(given.t, given.order, given.start) for given in run.reservations] == case.reservations


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_close_scores_are_reported() -> None:
    def ambiguous(policy: str, *rows: tuple[int, ...], users: tuple[int, ...] = ()) -> bool:
        case = Case("", 4, [(0, 5, 4), *rows], [], policy, users=users)
        return oracle_run(case.workload, policy).ambiguous_order

    # F1 at one submit time: log10(3) * 2 and log10(9) * 1 are equal on paper and may differ by rounding.
    assert ambiguous("F1", (1, 3, 2), (1, 9, 1))
    assert not ambiguous("F1", (1, 3, 2), (1, 10, 1))
    assert not ambiguous("F1", (1, 3, 2), (1, 3, 2))  # identical jobs tie exactly
    # Users 1 and 2 have used the same, in one second or in two.
    assert ambiguous("fairshare", (1, 1, 2), (1, 1, 2), (6, 5, 4), (6, 5, 4), (6, 5, 4), users=(0, 1, 2, 0, 1, 2))
    assert not ambiguous("fairshare", (1, 5, 4), (1, 5, 4), users=(0, 1, 2))  # nothing
    assert not ambiguous("fairshare", (1, 5, 4), (1, 5, 3), users=(0, 1, 1))


# The invariants themselves.


def test_processors_in_use_are_not_held_at_the_end() -> None:
    workload = Case("", 4, [(0, 10, 2), (0, 10, 3)], []).workload
    assert [procs_in_use(workload, [0, 10], t) for t in (-1, 0, 9, 10, 19, 20)] == [0, 2, 2, 3, 3, 0]
    assert never_oversubscribes(workload, [0, 10])
    assert not never_oversubscribes(workload, [0, 9])


def test_starts_into_an_outage_are_found() -> None:
    workload = Case("", 4, [(0, 10, 2), (0, 10, 2)], [], outages=[(5, 20, 2)]).workload
    assert never_oversubscribes(workload, [0, 0])  # the outage waits
    assert never_oversubscribes(workload, [0, 10])
    assert not never_oversubscribes(workload, [0, 5])


def test_waits_out_of_bounds_are_found() -> None:
    workload = Case("", 4, [(5, 1, 1), (5, 1, 1)], [], cancel={1: 9}).workload
    assert waits_within_bounds(workload, [5, -1])
    assert waits_within_bounds(workload, [5, 8])
    for wrong in ([4, 8], [-1, 8], [5, 9]):
        assert not waits_within_bounds(workload, wrong)


# Promises, on random workloads.


@settings(deadline=None, max_examples=size(200, 400))
@given(workload=workloads(), policy=any_policy, backfill=any_backfill, correction=any_correction)
def test_every_schedule_is_feasible(workload: Workload, policy: str, backfill: str, correction: str) -> None:
    run = oracle_run(workload, policy, backfill, correction)
    assert never_oversubscribes(workload, run.start)
    assert waits_within_bounds(workload, run.start)
    assert starts_at_events(workload, run)
    assert backfilling_leaves_room_for_heads(workload, run, correction)
    assert compression_never_delays(run)
    if backfill == "none":
        assert not any(run.backfilled)


@settings(deadline=None, max_examples=200)
@given(
    workload=workloads(estimates=("exact", "over"), features=("zero", "warm", "planned", "endless")),
    backfill=st.sampled_from(["easy", "easy-sjbf"]),
)
def test_fcfs_with_easy_keeps_its_promise_to_the_head(workload: Workload, backfill: str) -> None:
    run = oracle_run(without_news(workload), "FCFS", backfill)
    assert heads_start_by_shadow_time(run)
    assert shadow_times_never_move_back(run)


@settings(deadline=None, max_examples=200)
@given(
    workload=workloads(estimates=("exact", "over"), features=("zero", "warm", "planned", "endless", "cancelled")),
    policy=any_policy,
    backfill=st.sampled_from(["conservative", "selective", "selective:threshold=1.5"]),
)
def test_nobody_starts_after_the_first_reservation(workload: Workload, policy: str, backfill: str) -> None:
    assert no_start_after_first_reservation(oracle_run(without_news(workload), policy, backfill))


@settings(deadline=None, max_examples=200)
@given(workload=workloads(), policy=any_policy, correction=any_correction)
def test_conservative_is_selective_with_threshold_1(workload: Workload, policy: str, correction: str) -> None:
    conservative = oracle_run(workload, policy, "conservative", correction)
    assert oracle_run(workload, policy, "selective:threshold=1", correction) == conservative


@settings(deadline=None, max_examples=200)
@given(
    workload=workloads(features=("zero", "cancelled", "warm", "unplanned", "endless")),
    policy=any_policy,
    backfill=st.sampled_from(["none", "easy", "easy-sjbf"]),
    correction=any_correction,
)
def test_easy_is_the_same_in_the_plan_while_no_announced_outage_is_pending(
    workload: Workload, policy: str, backfill: str, correction: str
) -> None:
    in_the_plan = Replay(workload, policy, backfill, correction)
    in_the_plan.announcement_pending = lambda: True
    assert in_the_plan.run() == oracle_run(workload, policy, backfill, correction)


@settings(deadline=None, max_examples=200)
@given(workload=workloads())
def test_fcfs_without_backfilling_starts_jobs_in_order(workload: Workload) -> None:
    assert starts_in_order(oracle_run(workload, "FCFS", "none"))


@settings(deadline=None, max_examples=200)
@given(workload=workloads())
def test_workloads_survive_the_engines_types(workload: Workload) -> None:
    back = workload_of(workload.as_jobs(), workload.as_cluster())
    assert [list(part) for part in (back.jobs, back.outages)] == [list(workload.jobs), list(workload.outages)]
    assert [running.start for running in back.running] == [running.start for running in workload.running]
    assert oracle_run(back, "multifactor", "conservative") == oracle_run(workload, "multifactor", "conservative")


def without_news(workload: Workload) -> Workload:
    """Return the workload with all outages announced before the first submission, when nobody has any promise."""
    first = workload.jobs[0].submit
    return workload._replace(outages=[o._replace(announced=min(o.announced, first)) for o in workload.outages])
