"""Tests of the oracle itself: cases worked out by hand, promises of the rules, and golden results of other simulators.

In the hand-worked cases a job is (submit, run time, processors) with an exact estimate, or (submit, run time,
processors, estimate, limit); J0, J1, ... are the jobs in log order; `a..b` means running from a to b.
"""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from tests.shared import shared_file
from tests.simulator.oracle import (
    BACKFILLS,
    POLICIES,
    BlockedHead,
    Job,
    OracleRun,
    Workload,
    heads_start_by_shadow_time,
    max_procs_in_use,
    never_oversubscribes,
    never_starts_before_submission,
    oracle_metrics,
    oracle_replay,
    oracle_run,
    percentile,
    read_swf,
    score,
    starts_in_order,
    workloads,
)


def replayed(
    jobs: Sequence[tuple[int, ...]], cluster_procs: int, policy: str = "FCFS", backfill: str = "easy", origin: int = 0
) -> OracleRun:
    """Replay the short form of jobs described at the top of this file."""
    rows = [job if len(job) == 5 else (*job, job[1], job[1]) for job in jobs]
    submit, runtime, procs, estimate, limit = (list(column) for column in zip(*rows, strict=True))
    return oracle_run(submit, runtime, procs, estimate, limit, cluster_procs, policy, backfill, origin)


def starts(
    jobs: Sequence[tuple[int, ...]], cluster_procs: int, policy: str = "FCFS", backfill: str = "easy", origin: int = 0
) -> list[int]:
    """Return the start times (s) of `replayed`."""
    return replayed(jobs, cluster_procs, policy, backfill, origin).start


# The event loop.


def test_jobs_that_fit_start_at_submission() -> None:
    assert starts([(3, 10, 2), (4, 10, 2)], cluster_procs=4) == [3, 4]


def test_without_backfilling_the_pass_ends_at_the_head() -> None:
    # J0 0..10 leaves 1 free. J1 needs 4 and is the head; J2 would fit at 1 but stands behind it.
    jobs = [(0, 10, 3), (1, 5, 4), (1, 2, 1)]
    assert starts(jobs, 4, backfill="none") == [0, 10, 15]
    assert starts(jobs, 4, backfill="easy") == [0, 10, 1]


def test_completions_free_processors_before_submissions_at_the_same_time() -> None:
    # J0 0..10 holds everything; J1 is submitted in the second in which J0 ends, and starts at once.
    assert starts([(0, 10, 2), (10, 5, 2)], 2) == [0, 10]


def test_submissions_join_before_the_pass_at_the_same_time() -> None:
    # At 10 J0 ends and J2 arrives. SJF must see J1 (9 s) and J2 (1 s) together: J2 10..11, then J1.
    assert starts([(0, 10, 2), (5, 9, 2), (10, 1, 2)], 2, "SJF") == [0, 11, 10]


def test_all_submissions_at_a_time_join_before_one_pass() -> None:
    # Both arrive at 0; SJF takes the later row first.
    assert starts([(0, 10, 1), (0, 1, 1)], 1, "SJF") == [1, 0]


def test_all_completions_at_a_time_are_counted_before_the_pass() -> None:
    # SJF: at 10 J0 and J1 end. The order is J2 (5 s, 3 of 4), J3 (6 s, 2 of 4): J2 10..15 leaves 1 and J3 waits.
    # A pass between the two completions would find J2 blocked with 2 free.
    run = replayed([(0, 10, 2), (0, 10, 2), (1, 5, 3), (1, 6, 2)], 4, "SJF")
    assert run.start == [0, 0, 10, 15]
    assert [blocked.t for blocked in run.blocked_heads] == [1, 10]  # one pass at 10


def test_the_head_is_not_committed() -> None:
    # SJF: at 1 J1 (8 s) is the head. J2 (2 s, same width) arrives at 5 and overtakes it: 10..12, then J1.
    assert starts([(0, 10, 2), (1, 8, 2), (5, 2, 2)], 2, "SJF", "none") == [0, 12, 10]


def test_ties_go_by_submit_time_then_by_order_in_the_log() -> None:
    # SJF, all 3 s, one at a time: submitted at 1, 1 and 2.
    assert starts([(0, 10, 1), (1, 3, 1), (1, 3, 1), (2, 3, 1)], 1, "SJF") == [0, 10, 13, 16]


# EASY backfilling.


def test_a_job_ending_exactly_at_the_shadow_time_is_backfilled() -> None:
    # J0 0..10 leaves 1; head J1 needs all 4: shadow time 10, extra 0. J2: 1 + 9 = 10 is in time; 1 + 10 = 11 is not.
    in_time = replayed([(0, 10, 3), (1, 5, 4), (1, 9, 1)], 4)
    assert in_time.start == [0, 10, 1]
    assert in_time.backfilled == [False, False, True]
    assert starts([(0, 10, 3), (1, 5, 4), (1, 10, 1)], 4) == [0, 10, 15]


def test_the_shadow_time_is_the_first_estimated_end_that_suffices() -> None:
    # J0 (1) ends at 5, J1 (2) at 8, J2 (1) at 20; 0 free. Head J3 needs 3: free 1 at 5, 3 at 8.
    run = replayed([(0, 5, 1), (0, 8, 2), (0, 20, 1), (1, 4, 3)], 4)
    assert run.blocked_heads[0] == BlockedHead(t=1, order=3, shadow_time=8, extra_procs=0)
    assert run.start == [0, 0, 0, 8]


def test_ties_at_the_shadow_time_count_towards_the_extra_processors() -> None:
    # J0 and J1 0..10 leave 1 of 5. Head J2 needs 3: J0 alone would do (1 + 2), but J1 ends then as well:
    # free 5 at 10, extra 5 - 3 = 2. J3 (100 s) ends after 10 and takes 1 of the extra 2.
    run = replayed([(0, 10, 2), (0, 10, 2), (1, 5, 3), (1, 100, 1)], 5)
    assert run.start == [0, 0, 10, 1]
    assert run.blocked_heads == [BlockedHead(t=1, order=2, shadow_time=10, extra_procs=2)]
    assert run.backfilled == [False, False, False, True]


def test_extra_processors_are_used_up() -> None:
    # J0 0..10 leaves 2 of 8. Head J1 needs 7: shadow time 10, extra 1. J2 (20 s) takes the extra one: 1..21.
    # J3 (20 s) finds a processor free but no extra one. J4 (5 s) ends by 10: 1..6.
    # At 6: 1 free; free at 10 is 7, extra 0, so J3 still waits. J1 10..20 on 7. J3 at 20.
    assert starts([(0, 10, 6), (1, 10, 7), (1, 20, 1), (1, 20, 1), (1, 5, 1)], 8) == [0, 10, 1, 20, 1]


def test_a_job_that_ends_in_time_does_not_use_extra_processors() -> None:
    # As above, but J2 (5 s) meets both conditions, so the extra processor is left for J3 (20 s).
    assert starts([(0, 10, 6), (1, 10, 7), (1, 5, 1), (1, 20, 1)], 8) == [0, 10, 1, 1]


def test_jobs_started_in_the_same_pass_count_as_running() -> None:
    # All at 0: J0 (2, 10 s) and J1 (2, 5 s) start and leave 1 of 5. Head J2 (4): free 3 at 5, 5 at 10: extra 1 for J3.
    run = replayed([(0, 10, 2), (0, 5, 2), (0, 3, 4), (0, 20, 1)], 5)
    assert run.blocked_heads[0] == BlockedHead(t=0, order=2, shadow_time=10, extra_procs=1)
    assert run.start == [0, 0, 10, 0]


def test_the_rest_of_the_queue_is_visited_in_policy_order() -> None:
    # J0 0..10 leaves 1 of 4. SAF's order at 1: head J1 (area 4), J3 (5), J2 (6): J3 takes the free processor, 1..6.
    # At 6 J2 (6 s) would end at 12 > 10 and waits. J1 10..11, J2 11.
    jobs = [(0, 10, 3), (1, 1, 4), (1, 6, 1), (1, 5, 1)]
    assert starts(jobs, 4, "SAF") == [0, 10, 11, 1]
    # FCFS visits J2 first: 1..7. At 7 J3 (5 s) would end at 12 > 10.
    assert starts(jobs, 4, "FCFS") == [0, 10, 1, 11]


def test_backfilling_believes_the_estimate_not_the_run_time() -> None:
    # J2 runs 3 s but is estimated at 30: it would end after the shadow time 10, so it waits for J1 10..15.
    assert starts([(0, 10, 3), (1, 5, 4), (1, 3, 1, 30, 30)], 4) == [0, 10, 15]
    # J0 is estimated at 40 and ends at 10: at 1 the shadow time is 40, J2 (1 + 30) is in time. J2 ends at 4.
    assert starts([(0, 10, 3, 40, 40), (1, 5, 4), (1, 3, 1, 30, 30)], 4) == [0, 10, 1]


def test_an_underestimated_backfilled_job_delays_the_head() -> None:
    # J2 is estimated at 9 (1 + 9 = 10 is in time) but runs 29 s: 1..30. J1 has to wait for it.
    assert starts([(0, 10, 3), (1, 5, 4), (1, 29, 1, 9, 60)], 4) == [0, 30, 1]


def test_an_expired_estimate_is_replaced_by_the_limit() -> None:
    # J0 (3 of 4) is estimated to end at 10, runs to 100, limit 200. Head J1 needs 4. At 1: shadow time 10, so J2
    # (20 s) waits. J3's arrival at 15 is the next pass: J0's estimate has expired, its end is 200 now; J2 15..35.
    # J3 finds no free processor until 35.
    jobs = [(0, 100, 3, 10, 200), (1, 5, 4), (1, 20, 1), (15, 1, 1)]
    run = replayed(jobs, 4)
    assert run.start == [0, 100, 15, 35]
    assert [(blocked.t, blocked.shadow_time) for blocked in run.blocked_heads[:3]] == [(1, 10), (15, 200), (35, 200)]


def test_an_estimate_expires_in_the_second_in_which_it_ends() -> None:
    # The same with J3 at 10 = J0's estimated end: "not later than t", so expired. J2 10..30, J3 30.
    assert starts([(0, 100, 3, 10, 200), (1, 5, 4), (1, 20, 1), (10, 1, 1)], 4) == [0, 100, 10, 30]
    # At 9 it has not: shadow time 10, J3 (1 s) 9..10. That ending at 10 is a pass, where J2 goes as above.
    assert starts([(0, 100, 3, 10, 200), (1, 5, 4), (1, 20, 1), (9, 1, 1)], 4) == [0, 100, 10, 9]


def test_no_pass_runs_when_an_estimate_expires() -> None:
    # J0's estimate expires at 10, but that is no event: J2 waits until J0 ends at 100, then J1 100..105.
    assert starts([(0, 100, 3, 10, 200), (1, 5, 4), (1, 20, 1)], 4) == [0, 100, 105]


def test_only_expired_estimates_are_replaced() -> None:
    # 6 processors, 1 free: J0 (2) estimated 10, limit 50, runs 40; J1 (3) 0..60. Head J2 needs 5.
    # At 20: J0's end is 50, J1's 60: free 3 at 50, 6 at 60: shadow time 60, extra 1. J3 (500 s) takes it: 20..520.
    # At 40 J0 ends: 2 free; free 5 at 60, extra 0. J2 60..65.
    run = replayed([(0, 40, 2, 10, 50), (0, 60, 3), (1, 5, 5), (20, 500, 1)], 6)
    assert BlockedHead(t=20, order=2, shadow_time=60, extra_procs=1) in run.blocked_heads
    assert run.start == [0, 0, 60, 20]


def test_one_arrival_and_one_completion_backfill_in_the_same_pass() -> None:
    # 4 processors: J0 (2) 0..20, J1 (2) 0..10; head J2 (4): shadow time 20, extra 0. At 10 J1 ends and J3 (1, 10 s)
    # and J4 (1, 11 s) arrive: 10 + 10 = 20 is in time, 10 + 11 is not. J2 20..25, J4 25.
    assert starts([(0, 20, 2), (0, 10, 2), (1, 5, 4), (10, 10, 1), (10, 11, 1)], 4) == [0, 0, 20, 10, 25]


# Policies.


def test_sjf_and_saf_order_by_estimate_and_by_area() -> None:
    # Four processors, J0 0..10 on all of them. J1: 6 s x 3 = 18; J2: 5 s x 4 = 20; run times differ from estimates.
    jobs = [(0, 10, 4), (1, 2, 3, 6, 6), (1, 5, 4, 5, 5)]
    assert starts(jobs, 4, "SJF", "none") == [0, 15, 10]
    assert starts(jobs, 4, "SAF", "none") == [0, 10, 12]


def test_wfp3_by_hand() -> None:
    # 4 processors, J0 0..10 on all. At 10: J1 (s 2, e 4, p 3): -(8/4)^3 * 3 = -24; J2 (s 4, e 3, p 4):
    # -(6/3)^3 * 4 = -32; J3 (s 9, e 1, p 2): -(1/1)^3 * 2 = -2. J2 10..13. At 13: J1: -(11/4)^3 * 3 = -62.4;
    # J3: -(4/1)^3 * 2 = -128. J3 13..14; J1 does not fit beside it: 14.
    assert starts([(0, 10, 4), (2, 4, 3), (4, 3, 4), (9, 1, 2)], 4, "WFP3", "none") == [0, 14, 10, 13]
    assert score("WFP3", Job(1, 2, 4, 3, 4, 4), t=10) == -24


def test_unicep_by_hand() -> None:
    # 4 processors, J0 0..10 on all. At 10: J1 (s 1, e 3, p 4): -9 / (2 * 3) = -1.5;
    # J2 (s 2, e 2, p 3): -8 / (1.585 * 2) = -2.52; J3 (s 9, e 50, p 1) is serial and has waited: first.
    # J3 10..60 and J2 10..12 start, J1 needs all: 60.
    assert starts([(0, 10, 4), (1, 3, 4), (2, 2, 3), (9, 50, 1)], 4, "UNICEP", "none") == [0, 60, 10, 10]
    assert score("UNICEP", Job(1, 1, 3, 4, 3, 3), t=10) == pytest.approx(-1.5)


def test_unicep_and_wfp3_scores_tie_at_zero_for_jobs_that_have_not_waited() -> None:
    # Both arrive at 0, so log order decides, whatever their size.
    for policy in ("WFP3", "UNICEP"):
        assert starts([(0, 9, 2), (0, 1, 1)], 2, policy, "none") == [0, 9]


def test_f1_by_hand() -> None:
    # 20 processors, J0 15 s from 10. 870 log10(12) - 870 log10(11) = 938.9 - 906.0 = 32.9. J1: log10(1000) * 20 = 60;
    # J2: log10(1) * 20 = 0: J2 is lower by 27 and runs 25..26.
    assert starts([(10, 15, 20), (11, 1000, 20), (12, 1, 20)], 20, "F1") == [10, 26, 25]
    # With J1 of 10 s, log10(10) * 20 = 20 < 32.9: J1 first.
    assert starts([(10, 15, 20), (11, 10, 20), (12, 1, 20)], 20, "F1") == [10, 25, 35]


def test_f1_counts_from_the_origin() -> None:
    # The case above 1000 s later. From origin 1000 it is the same; from origin 0 the submit terms differ by only
    # 870 log10(1012 / 1011) = 0.37 < 20: J2 first.
    jobs = [(1010, 15, 20), (1011, 10, 20), (1012, 1, 20)]
    assert starts(jobs, 20, "F1", origin=1000) == [1010, 1025, 1035]
    assert starts(jobs, 20, "F1", origin=0) == [1010, 1026, 1025]


def test_f1_takes_at_least_a_tenth_of_a_second_since_the_origin() -> None:
    assert score("F1", Job(0, 0, 1, 1, 1, 1), t=5) == pytest.approx(-870)
    assert score("F1", Job(0, 1, 1, 2, 100, 100), t=5) == pytest.approx(4)


def test_close_scores_are_reported() -> None:
    # F1 at one submit time: log10(3) * 2 and log10(9) * 1 are equal on paper and may differ by rounding.
    assert replayed([(0, 5, 4), (1, 3, 2), (1, 9, 1)], 4, "F1").ambiguous_order
    assert not replayed([(0, 5, 4), (1, 3, 2), (1, 10, 1)], 4, "F1").ambiguous_order
    # Identical jobs tie exactly.
    assert not replayed([(0, 5, 4), (1, 3, 2), (1, 3, 2)], 4, "F1").ambiguous_order


# Input that the rules exclude.


@pytest.mark.parametrize(
    "job",
    [(0, 5, 5), (0, 5, 0), (0, 0, 1, 1, 1), (0, 5, 1, 0, 5), (0, 5, 1, 6, 5), (0, 5, 1, 4, 4)],
    ids=["too wide", "no processors", "no run time", "no estimate", "estimate over limit", "run time over limit"],
)
def test_undefined_jobs_are_errors(job: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        starts([job], cluster_procs=4)


def test_undefined_choices_are_errors() -> None:
    for policy, backfill in (("LJF", "easy"), ("FCFS", "conservative")):
        with pytest.raises(ValueError):
            starts([(0, 1, 1)], 1, policy, backfill)
    with pytest.raises(ValueError, match="submit order"):
        starts([(5, 1, 1), (4, 1, 1)], 1)


# Metrics.


def test_metrics_by_hand() -> None:
    # 4 processors. J0: s 0, r 20, p 2, start 0: wait 0. J1: s 5, r 5, p 2, start 15: wait 10. J2: s 10, r 100, p 4,
    # start 20: wait 10. Turnarounds 20, 15, 110. Slowdowns 1, 3, 1.1; bounded 1, 15 / 10 = 1.5, 1.1.
    # Makespan 120 - 0. Work 40 + 10 + 400 = 450 of 480.
    # 95th percentile of three values: rank 0.95 * 2 = 1.9, so the second plus 0.9 of the way to the third.
    measured = oracle_metrics([0, 5, 10], [20, 5, 100], [2, 2, 4], [0, 15, 20], [False, True, False], 4)
    assert measured == pytest.approx(
        {
            "average_wait_s": 20 / 3,
            "p95_wait_s": 10,
            "max_wait_s": 10,
            "average_turnaround_s": 145 / 3,
            "average_slowdown": 5.1 / 3,
            "average_bounded_slowdown": 3.6 / 3,
            "p95_bounded_slowdown": 1.1 + 0.9 * 0.4,
            "utilisation": 450 / 480,
            "makespan_s": 120,
            "backfilled_share": 1 / 3,
        }
    )


def test_bounded_slowdown_is_at_least_one() -> None:
    # A job of 2 s that waits 3 s: 5 / 10 is raised to 1; its plain slowdown is 2.5.
    measured = oracle_metrics([0], [2], [1], [3], [False], 1)
    assert measured["average_bounded_slowdown"] == 1
    assert measured["average_slowdown"] == 2.5
    assert measured["makespan_s"] == 5  # from the submission, not from the start


def test_percentile_interpolates_linearly() -> None:
    assert percentile([7], 95) == 7
    assert percentile([0, 10], 95) == pytest.approx(9.5)
    assert percentile(list(range(101)), 95) == 95


def test_processors_in_use_are_not_held_at_the_end() -> None:
    # 2 in 0..10, then 3 in 10..20: never 5 together.
    assert max_procs_in_use([0, 10], [10, 10], [2, 3]) == 3
    assert max_procs_in_use([0, 9], [10, 10], [2, 3]) == 5


# Promises, on random workloads.


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("policy", POLICIES)
@settings(deadline=None, max_examples=40)
@given(workload=workloads())
def test_every_schedule_is_feasible(workload: Workload, policy: str, backfill: str) -> None:
    run = workload.run(policy, backfill)
    assert never_oversubscribes(run.start, workload.runtime, workload.procs, workload.cluster_procs)
    assert never_starts_before_submission(workload.submit, run.start)
    assert run.start == oracle_replay(*workload[:6], policy, backfill, workload.origin)
    # Somebody starts only when somebody is submitted or ends.
    events = {*workload.submit, *(start + r for start, r in zip(run.start, workload.runtime, strict=True))}
    assert events.issuperset(run.start)
    if backfill == "none":
        assert not any(run.backfilled)


@settings(deadline=None, max_examples=200)
@given(workload=workloads(estimates=("exact", "over")))
def test_fcfs_with_easy_keeps_its_promise_to_the_head(workload: Workload) -> None:
    assert heads_start_by_shadow_time(workload.run("FCFS", "easy"))


@settings(deadline=None)
@given(workload=workloads())
def test_fcfs_without_backfilling_starts_jobs_in_order(workload: Workload) -> None:
    assert starts_in_order(workload.run("FCFS", "none"))


# Golden results of other simulators.


def golden_starts(name: str) -> dict[int, int]:
    """Return start times (s) by job number, or skip."""
    path = shared_file("golden", "replay", name)
    return {int(number): int(start) for number, start in map(str.split, path.read_text().splitlines())}


def logged_workload(name: str, cluster_procs: int) -> tuple[list[int], Workload]:
    """Return the job numbers and jobs of a log, or skip."""
    return read_swf(shared_file("traces", "swf", name), cluster_procs)


@pytest.mark.parametrize(
    ("backfill", "golden"), [("easy", "lublin-1-easy.starts"), ("none", "lublin-1-fcfs-no-backfill.starts")]
)
def test_lublin_start_times_equal_the_golden_ones(backfill: str, golden: str) -> None:
    numbers, workload = logged_workload("lublin_256.swf.gz", cluster_procs=256)
    run = workload.run("FCFS", backfill)
    assert dict(zip(numbers, run.start, strict=True)) == golden_starts(golden)
    assert never_oversubscribes(run.start, workload.runtime, workload.procs, 256)
    if backfill == "easy":
        assert heads_start_by_shadow_time(run)
        measured = oracle_metrics(workload.submit, workload.runtime, workload.procs, run.start, run.backfilled, 256)
        assert measured["average_wait_s"] == pytest.approx(97155.9945, abs=5e-5)
        assert measured["average_bounded_slowdown"] == pytest.approx(590.0538, abs=5e-5)


def test_kth_averages_are_near_those_of_pyss() -> None:
    # Requested times over the run times. pyss orders simultaneous events otherwise: near, not equal.
    numbers, workload = logged_workload("KTH-SP2-1996-2.1-cln.swf.gz", cluster_procs=100)
    golden = golden_starts("kth-sp2-easy-pyss.starts")
    run = workload.run("FCFS", "easy")
    measured = oracle_metrics(workload.submit, workload.runtime, workload.procs, run.start, run.backfilled, 100)
    assert measured["average_wait_s"] == pytest.approx(6804.72, rel=0.01)
    assert measured["average_bounded_slowdown"] == pytest.approx(90.7248, rel=0.01)
    equal = sum(golden[number] == start for number, start in zip(numbers, run.start, strict=True))
    assert equal / len(golden) > 0.9
