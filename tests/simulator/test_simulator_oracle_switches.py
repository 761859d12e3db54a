"""The oracle of periods and of waiting for few switches by itself: examples worked out by hand, and what must hold.

A job is (submit, run time, processors) with an exact estimate; `a..b` means running from a to b. All times are in s.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from simulator.topology.tree import regular_tree
from tests.simulator.oracle import CANCELLED, oracle_run
from tests.simulator.oracle_cases import Case, Row
from tests.simulator.oracle_machine import machine_of
from tests.simulator.oracle_metrics import (
    BACKFILLS_WITH_PERIODS,
    POLICIES_WITH_PERIODS,
    in_periods,
    never_oversubscribes,
    oracle_periods,
)
from tests.simulator.oracle_placing import Placement, check_placement, random_placing_case
from tests.simulator.oracle_switches import BACKFILLS_WITH_SWITCHES, Switches, SwitchesRun, oracle_switches
from tests.simulator.oracle_types import Job, Workload

SEEDS = range(150)

LEAVES = machine_of(regular_tree((4, 2)), 8)
"""Two leaves of 4 nodes, 0-3 and 4-7."""


def work(procs: int, *jobs: Row, **rest: object) -> Workload:
    return Case("", procs, jobs, [], **rest).workload


def switched(workload: Workload, wait: int = 100, leaves: int = 1, **rules: str) -> SwitchesRun:
    return oracle_switches(LEAVES, workload, Switches(leaves, wait), **rules)


# J0 0..50 has 0-1, J1 0..5 has 2-3 and J2 0..20 has 4-5: from 5 on two nodes of each leaf are idle.
HALVES: tuple[Row, ...] = ((0, 50, 2), (0, 5, 2), (0, 20, 2))


def test_a_job_is_put_off_until_a_leaf_has_room() -> None:
    # J3 would have 2-3 and 6-7 at 6. At 20 the leaf 4-7 is idle.
    run = switched(work(8, *HALVES, (6, 10, 4)))
    assert run.units == [[0, 1], [2, 3], [4, 5], [4, 5, 6, 7]]
    assert run.run.start == [0, 0, 0, 20] and run.put_off == {3: 6}
    assert oracle_run(work(8, *HALVES, (6, 10, 4))).start[3] == 6


def test_its_wait_is_over_at_a_second_of_its_own() -> None:
    run = switched(work(8, *HALVES, (6, 10, 4)), wait=7)
    assert run.run.start[3] == 13 and run.units[3] == [2, 3, 6, 7]
    assert run.run.pass_times == [0, 5, 6, 13]


def test_without_a_wait_nobody_is_put_off() -> None:
    run = switched(work(8, *HALVES, (6, 10, 4)), wait=0)
    assert run.run.start[3] == 6 and run.put_off == {}


def test_leaves_are_counted_as_best_fit_gives_them() -> None:
    run = switched(work(8, *HALVES, (6, 10, 4)), leaves=2)
    assert run.run.start[3] == 6 and run.put_off == {}


def test_a_job_of_more_than_a_leaf_never_waits_for_one() -> None:
    run = switched(work(8, (0, 5, 2), (1, 5, 5)))
    assert run.run.start == [0, 1] and run.units[1] == [2, 4, 5, 6, 7] and run.put_off == {}


def test_others_go_before_it_and_are_not_backfilled() -> None:
    # J3 is put off at 6; J4, of two nodes, starts then, as the first of the queue that is not put off.
    run = switched(work(8, *HALVES, (6, 10, 4), (6, 10, 2)))
    assert run.run.start == [0, 0, 0, 20, 6] and run.units[4] == [2, 3]
    assert run.run.backfilled == [False] * 5


def test_it_holds_no_reservation() -> None:
    # At 7 J4 takes 2-3 and J5 6-7 for long. J3 fits again at 50, when 0-1 and 4-5 are idle, but not into one leaf; its
    # wait is over at 56, 50 after 6.
    run = switched(work(8, *HALVES, (6, 10, 4), (7, 90, 2), (7, 90, 2)), wait=50)
    assert run.run.start == [0, 0, 0, 56, 7, 7]
    assert run.units[3] == [0, 1, 4, 5]


def test_its_wait_goes_on_from_the_first_time() -> None:
    # Put off at 6, it does not fit from 7 to 40, and at 40 its wait (30) is over although it was not put off meanwhile.
    run = switched(work(8, (0, 50, 2), (0, 5, 2), (0, 50, 2), (6, 10, 4), (7, 33, 1)), wait=30, backfill="any")
    assert run.run.start == [0, 0, 0, 40, 7]


def test_a_blocked_head_behind_it_has_its_reservation() -> None:
    # At 6 J3 is put off; J4 (of 6) is the head, its shadow time 20 with 6 idle then. J5 may go ahead until 20, J6 may not.
    run = switched(work(8, *HALVES, (6, 10, 4), (6, 10, 6), (6, 14, 2), (6, 15, 2)))
    assert run.run.blocked_heads[0][:2] == (6, 4)
    assert run.run.start[5] == 6 and run.run.backfilled[5]
    assert run.run.start[6] != 6


def test_a_job_behind_the_head_may_be_put_off_and_takes_nothing() -> None:
    # At 6 4 are idle, 2-3 and 6-7; J3 of 5 is the head, shadow time 20, one extra. J4 of 4 would start (until 20) and is
    # put off; J5 of one takes the extra processor.
    run = switched(work(8, *HALVES, (6, 10, 5), (6, 14, 4), (6, 30, 1)))
    assert run.put_off[4] == 6
    assert run.run.start[5] == 6 and run.run.backfilled[5]
    assert run.run.start[3] == 20


def test_under_none_it_blocks_nobody() -> None:
    run = switched(work(8, *HALVES, (6, 10, 4), (6, 10, 2)), backfill="none")
    assert run.run.start == [0, 0, 0, 20, 6]


def test_who_is_put_off_may_be_cancelled() -> None:
    run = switched(work(8, *HALVES, (6, 10, 4), cancel={3: 9}))
    assert run.run.start[3] == CANCELLED and run.units[3] == []


def test_units_are_given_as_jobs_start() -> None:
    # SJF starts J1 first: it gets the first leaf's nodes, although J0 was submitted before.
    run = switched(work(8, (0, 9, 2), (0, 5, 4)), policy="SJF")
    assert run.units == [[4, 5], [0, 1, 2, 3]]


def test_reservations_are_no_rule_of_it() -> None:
    with pytest.raises(ValueError, match="conservative"):
        switched(work(8, (0, 5, 1)), backfill="conservative")


def test_random_cases_keep_to_the_rules() -> None:
    counts: Counter[str] = Counter()
    for seed in SEEDS:
        case = random_placing_case(Random(seed))
        machine, workload, rules = case.machine, case.replayed, (case.policy, case.backfill, case.correction)
        plain = oracle_run(workload, *rules)
        for switches in (Switches(1, 0), Switches(len(machine.units), 1000)):
            free = oracle_switches(machine, workload, switches, *rules)
            assert (free.run.start, free.run.backfilled, free.put_off) == (plain.start, plain.backfilled, {})
        run = oracle_switches(machine, workload, case.switches, *rules)
        start = run.run.start
        assert never_oversubscribes(workload, start)
        check_placement(machine, workload, start, "random", Placement(run.units, run.running, [], []))
        for job in workload.jobs:
            leaves = machine.switches(run.units[job.order], 0)
            counts["spread"] += leaves > case.switches.leaves
            if start[job.order] != CANCELLED and leaves > case.switches.leaves:
                over = start[job.order] - run.put_off.get(job.order, CANCELLED) >= case.switches.wait
                wide = machine.leaves_needed(machine.wanted(job.procs)) > case.switches.leaves
                assert wide or (job.order in run.put_off and over)
                counts["over"] += not wide
            counts["put off"] += job.order in run.put_off
        counts["differ"] += start != plain.start
        counts[case.backfill] += start != plain.start
    assert counts["put off"] > counts["over"] > 10 and counts["differ"] > len(SEEDS) / 5
    assert all(counts[backfill] for backfill in BACKFILLS_WITH_SWITCHES)


# Periods.


def plain_jobs(rng: Random) -> Workload:
    """Draw jobs whose estimates are exact or longer, on an empty and whole cluster."""
    procs = rng.randint(2, 16)
    span = rng.choice((6, 20, 60, 300))
    exact = rng.random() < 0.5
    clock = rng.choice((0, 1, 1_000_003))
    jobs: list[Job] = []
    for order in range(rng.randint(8, 30)):
        clock += rng.choice((0, rng.randint(0, span // 2)))
        runtime = rng.randint(1, span)
        estimate = runtime if exact else runtime + rng.choice((0, rng.randint(0, span)))
        jobs.append(Job(order, clock, runtime, rng.randint(1, procs), estimate, estimate))
    return Workload(jobs, procs)


def test_periods_by_hand() -> None:
    # T = 10. J0 is seen at 10 and ends at 22, free at 30. J1, seen at 20, starts at 30; J2, seen at 30, fits beside it.
    workload = work(4, (3, 12, 4), (11, 5, 2), (21, 5, 2))
    assert oracle_periods(workload, 10) == [10, 30, 30]


def test_a_start_at_the_second_of_its_submission() -> None:
    assert oracle_periods(work(4, (20, 10, 4), (30, 5, 4)), 10) == [20, 30]


@pytest.mark.parametrize("backfill", BACKFILLS_WITH_PERIODS)
@pytest.mark.parametrize("policy", POLICIES_WITH_PERIODS)
def test_starts_are_those_of_the_replay_in_whole_periods(policy: str, backfill: str) -> None:
    rng = Random(f"{policy} {backfill}")
    for _ in range(60):
        workload, period = plain_jobs(rng), rng.choice((1, 2, 7, 10, 30))
        rounded = in_periods(workload, period)
        assert oracle_periods(workload, period, policy, backfill) == oracle_run(rounded, policy, backfill).start


def test_a_scheduler_that_sees_seconds_is_another() -> None:
    # T = 10, 4 processors. SJF: at 10 both are 20 s long in whole periods, so that J1 goes first; in seconds J2 is shorter.
    order = work(4, (0, 7, 4), (1, 18, 4), (2, 12, 4))
    assert oracle_periods(order, 10, "SJF") == oracle_run(in_periods(order, 10), "SJF").start == [0, 10, 30]
    assert oracle_periods(order, 10, "SJF", sees_seconds=True) == [0, 30, 10]
    # EASY: J0 ends at 15, so that J1 can start at 20. In seconds J2, which ends at 18, would delay it from 15.
    easy = work(4, (0, 15, 3), (0, 9, 4), (0, 18, 1))
    assert oracle_periods(easy, 10) == oracle_run(in_periods(easy, 10)).start == [0, 20, 0]
    assert oracle_periods(easy, 10, sees_seconds=True) == [0, 20, 30]


@pytest.mark.parametrize("backfill", BACKFILLS_WITH_PERIODS)
def test_first_come_first_served_without_backfilling_does_not_depend_on_what_it_sees(backfill: str) -> None:
    rng = Random(backfill)
    same = 0
    for _ in range(60):
        workload, period = plain_jobs(rng), rng.choice((2, 7, 10, 30))
        seconds = oracle_periods(workload, period, "FCFS", backfill, sees_seconds=True)
        same += seconds == oracle_periods(workload, period, "FCFS", backfill)
    assert (same == 60) == (backfill == "none")


def test_outages_cover_the_periods_that_they_touch() -> None:
    workload = work(4, (3, 5, 4), (12, 5, 4), outages=[(5, 15, 1), (8, None, 1, 2)], cancel={1: 14})
    rounded = in_periods(workload, 10)
    assert [tuple(outage) for outage in rounded.outages] == [(0, 20, 1, 0), (0, None, 1, 0)]
    assert [(job.submit, job.runtime, job.cancel) for job in rounded.jobs] == [(10, 10, None), (20, 10, 20)]


def test_a_replay_in_whole_periods_acts_at_periods_alone() -> None:
    for seed in SEEDS:
        case = random_placing_case(Random(seed))
        workload = in_periods(case.replayed, case.period)
        run = oracle_run(workload, case.policy, case.backfill, case.correction)
        assert all(t % case.period == 0 for t in run.pass_times)
        true = zip(case.replayed.jobs, run.start, strict=True)
        assert all(start == CANCELLED or start >= job.submit for job, start in true)


def test_jobs_of_a_warm_start_end_at_periods() -> None:
    # J0 is seen at 20, when the second of them is over; the first ends at 21 and is free at 30.
    rounded = in_periods(work(4, (13, 5, 4), running=[(7, 14, 2, 8, 15), (7, 13, 2)]), 10)
    assert [(one.start, one.end, one.job.estimate, one.job.limit) for one in rounded.running] == [(7, 30, 13, 23)]
    assert oracle_run(rounded).start == [30]


def test_an_empty_and_whole_cluster_alone() -> None:
    with pytest.raises(ValueError, match="alone"):
        oracle_periods(work(4, (0, 5, 1), outages=[(0, 5, 1)]), 10)
