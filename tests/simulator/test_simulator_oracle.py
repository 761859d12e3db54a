"""Tests of the oracle itself: cases worked out by hand, promises of the rules, and golden results of other simulators.

The cases lie in `oracle_cases*.py`, so that any engine can be put through them.
"""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import shared_file, size
from tests.simulator import oracle_cases, oracle_cases_policies
from tests.simulator.oracle import BACKFILLS, OracleRun, Replay, oracle_run
from tests.simulator.oracle_cases import Case
from tests.simulator.oracle_metrics import (
    backfilling_leaves_room_for_heads,
    compression_never_delays,
    heads_start_by_shadow_time,
    never_oversubscribes,
    no_start_after_first_reservation,
    oracle_metrics,
    percentile,
    procs_in_use,
    shadow_times_never_move_back,
    starts_at_events,
    starts_in_order,
    waits_within_bounds,
)
from tests.simulator.oracle_policies import (
    DAY_S,
    POLICIES,
    Moment,
    moment,
    parse_policy,
    random_numbers,
    score,
    usage_of_users,
)
from tests.simulator.oracle_types import CORRECTIONS, HOUR_S, MINUTE_S, Job, RunningJob, Workload, workload_of
from tests.simulator.oracle_workloads import read_swf, workloads

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


# Scores.


def waiting(order: int, submit: int, estimate: int, procs: int, user: int = 0) -> Job:
    return Job(order, submit, estimate, procs, estimate, estimate, user)


def score_of(policy: str, job: Job, t: int, cluster_procs: int = 10, **rest: object) -> float:
    return score(parse_policy(policy), job, Moment(t, cluster_procs, cluster_procs)._replace(**rest))


def test_scores_by_hand() -> None:
    job = waiting(0, submit=2, estimate=4, procs=3)
    assert score_of("FCFS", job, t=10) == 2
    assert score_of("LCFS", job, t=10) == -2
    assert score_of("SAF", job, t=10) == 12
    assert score_of("SEXP", job, t=10) == 3
    assert score_of("LEXP", job, t=10) == -3
    assert score_of("WFP3", job, t=10) == -24
    assert score_of("UNICEP", waiting(0, 1, 3, 4), t=10) == pytest.approx(-1.5)
    assert score_of("tetris", job, t=10, free=5) == pytest.approx(-0.3 * 0.5)
    assert score_of("tetris", job, t=10, free=2) == 1
    assert score_of("tetris-star", job, t=10, free=2) == 1e300


def test_f1_to_f4_take_at_least_a_tenth_of_a_second_since_the_origin() -> None:
    for policy, factor in (("F1", 870), ("F2", 25_600), ("F3", 6_860_000), ("F4", 530_000)):
        area = 0 if policy == "F1" else 1
        assert score_of(policy, waiting(0, 0, 1, 1), t=5) == pytest.approx(area - factor)
        assert score_of(policy, waiting(0, 30, 1, 1), t=50, origin=20) == pytest.approx(area + factor)
    assert score_of("F1", waiting(0, 1, 100, 2), t=5) == pytest.approx(4)


def test_tetris_star_takes_means_over_the_jobs_that_fit() -> None:
    # 6 of 10 free: J0 a = 0.12, J1 a = 0.24, J2 does not fit. A = 0.18, E = 20: J0 -(0.12 - 0.09) and J1 -(0.24 - 0.27).
    jobs = [waiting(0, 0, 10, 2), waiting(1, 0, 30, 4), waiting(2, 0, 1000, 7)]
    policy = parse_policy("tetris-star")
    now = moment(policy, Workload(jobs, 10), jobs, [], t=0, free=6)
    assert [score(policy, job, now) for job in jobs] == pytest.approx([-0.03, 0.03, 1e300])


def test_multifactor_by_hand() -> None:
    # 7 of 14 days: 500. User 0 has half of all use: 2^(-0.5 * 2): 5000. 5 of 10 processors: 500.
    job = waiting(0, 0, 10, 5)
    assert score_of("multifactor", job, 7 * DAY_S, usage={0: 3.0, 1: 3.0}, usage_of_all=6.0, users=2) == pytest.approx(
        -6000
    )
    assert score_of("multifactor", job, 7 * DAY_S) == pytest.approx(-11_000)  # nobody has used anything
    assert score_of("multifactor", job, 28 * DAY_S) == pytest.approx(-11_500)
    assert score_of("multifactor:age=1,fairshare=2,size=4,max_age_days=70", job, 7 * DAY_S) == pytest.approx(-4.1)


def test_multifactor_counts_the_users_of_the_replay() -> None:
    # Users 1 and 7 submit, 3 is in the warm start.
    jobs = [waiting(0, 0, 10, 5, user=1), waiting(1, 0, 10, 5, user=7)]
    warm = [RunningJob(Job(-1, -5, 10, 1, 10, 10, 3), -5)]
    assert moment(parse_policy("multifactor"), Workload(jobs, 10, 0, warm), jobs, warm, 0, 9).users == 3


def test_usage_halves_in_a_half_life() -> None:
    # 4 processors from 0 to 100, half-life 100: 4 * 100 / ln 2 * (1 - 1 / 2) = 288.539 at 100.
    ran = [RunningJob(Job(0, 0, 100, 4, 100, 100, user=7), 0)]
    assert usage_of_users(ran, 0, 100, 100) == pytest.approx({7: 288.539008})
    assert usage_of_users(ran, 0, 200, 100) == pytest.approx({7: 288.539008 / 2})
    assert usage_of_users(ran, 0, 0, 100) == {}  # not for a moment yet


def test_usage_is_the_integral() -> None:
    # Second by second, by the midpoint rule, for a job that ran, one that runs, and one from before the first event.
    ran = [(0, 30, 2), (40, 100, 3), (-20, 35, 5)]
    history = [RunningJob(Job(order, 0, r, p, r, r), start) for order, (start, r, p) in enumerate(ran)]
    t, half_life_s = 60, 50
    summed = sum(
        p * 2 ** (-(t - v - 0.5) / half_life_s) for start, r, p in ran for v in range(max(start, 0), min(start + r, t))
    )
    assert usage_of_users(history, 0, t, half_life_s)[0] == pytest.approx(summed, rel=1e-4)


def test_random_numbers_come_from_the_seed() -> None:
    assert random_numbers(1, 3) == pytest.approx([0.51182162, 0.9504637, 0.14415961])
    assert parse_policy("random").options == {"seed": 1}


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


# Corrections.


def test_increments_are_those_of_tsafrir() -> None:
    running = RunningJob(Job(0, 100, 10**7, 1, 10, 10**7), 100)
    ends = [110]
    while ends[-1] < 100 + 10**7:
        ends.append(running.estimated_end(ends[-1], "increments"))
    minutes_and_hours = [m * MINUTE_S for m in (1, 5, 15, 30)] + [h * HOUR_S for h in (1, 2, 5, 10, 20, 50, 100)]
    assert ends == [*accumulate(minutes_and_hours, initial=110), 100 + 10**7]


def test_doubling_doubles_until_the_limit() -> None:
    running = RunningJob(Job(0, 100, 75, 1, 10, 75), 100)
    ends = [running.estimated_end(t, "doubling") for t in (100, 109, 110, 120, 140, 174)]
    assert ends == [110, 110, 120, 140, 175, 175]


# Input that the rules exclude.


@pytest.mark.parametrize(
    "job",
    [(0, 5, 5), (0, 5, 0), (0, -1, 1, 1, 1), (0, 5, 1, 0, 5), (0, 5, 1, 6, 5), (0, 5, 1, 4, 4)],
    ids=["too wide", "no processors", "negative", "no estimate", "estimate over limit", "run time over limit"],
)
def test_undefined_jobs_are_errors(job: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        oracle_run(Case("", 4, [job], []).workload)


@pytest.mark.parametrize(
    "choice",
    [
        {"policy": "fifo"},
        {"policy": "fairshare:age=1"},
        {"backfill": "greedy"},
        {"backfill": "easy:threshold=1"},
        {"correction": "tripling"},
    ],
    ids=str,
)
def test_undefined_choices_are_errors(choice: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        oracle_run(Case("", 1, [(0, 1, 1)], []).workload, **choice)


def test_undefined_workloads_are_errors() -> None:
    for case in (
        Case("no job", 1, [], []),
        Case("not in submit order", 1, [(5, 1, 1), (4, 1, 1)], []),
        Case("cancelled before it is submitted", 1, [(5, 1, 1)], [], cancel={0: 4}),
        Case("over before the first submission", 1, [(5, 1, 1)], [], running=[(0, 5, 1)]),
        Case("not begun at the first submission", 1, [(5, 1, 1)], [], running=[(6, 5, 1)]),
        Case("more running than the cluster has", 3, [(5, 1, 1)], [], running=[(0, 9, 2), (0, 9, 2)]),
    ):
        with pytest.raises(ValueError):
            oracle_run(case.workload)


@pytest.mark.parametrize("announced", [0, 5])
@pytest.mark.parametrize("backfill", BACKFILLS)
def test_a_job_that_no_outage_lets_start_is_an_error(backfill: str, announced: int) -> None:
    outage = (5, None, 3, announced)
    with pytest.raises(ValueError, match="job 1 "):
        oracle_run(Case("", 4, [(0, 5, 1), (6, 1, 2)], [], outages=[outage]).workload, "FCFS", backfill)


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


# Golden results of other simulators.


def golden_starts(name: str) -> dict[int, int]:
    """Return start times (s) by job number, or skip."""
    path = shared_file("golden", "replay", name)
    return {int(number): int(start) for number, start in map(str.split, path.read_text().splitlines())}


def measured_of(workload: Workload, run: OracleRun) -> dict[str, float]:
    """Return the metrics of a run without cancellations."""
    submit, runtime, procs = ([getattr(job, name) for job in workload.jobs] for name in ("submit", "runtime", "procs"))
    return oracle_metrics(submit, runtime, procs, run.start, run.backfilled, workload.cluster_procs)


@pytest.mark.parametrize(
    ("backfill", "golden", "average_wait_s", "average_bounded_slowdown"),
    [
        ("easy", "lublin-1-easy.starts", 97_155.9945, 590.0538),
        ("conservative", "lublin-1-conservative-pyss.starts", 131_567.5089, 489.2013),
    ],
)
def test_lublin_start_times_equal_the_golden_ones(
    backfill: str, golden: str, average_wait_s: float, average_bounded_slowdown: float
) -> None:
    numbers, workload = read_swf(shared_file("traces", "swf", "lublin_256.swf.gz"), cluster_procs=256)
    run = oracle_run(workload, "FCFS", backfill)
    assert dict(zip(numbers, run.start, strict=True)) == golden_starts(golden)
    assert heads_start_by_shadow_time(run)
    assert no_start_after_first_reservation(run)
    measured = measured_of(workload, run)
    assert measured["average_wait_s"] == pytest.approx(average_wait_s, abs=5e-5)
    assert measured["average_bounded_slowdown"] == pytest.approx(average_bounded_slowdown, abs=5e-5)


def test_lublin_start_times_equal_the_golden_ones_without_backfilling() -> None:
    # Without backfilling later jobs change nothing, so that the first 4,000 can be compared alone.
    log = shared_file("traces", "swf", "lublin_256.swf.gz")
    numbers, workload = read_swf(log, cluster_procs=256, at_most=4000)
    golden = golden_starts("lublin-1-fcfs-no-backfill.starts")
    assert oracle_run(workload, "FCFS", "none").start == [golden[number] for number in numbers]


def test_kth_averages_are_near_those_of_pyss() -> None:
    # Requested times over the run times. pyss orders simultaneous events otherwise: near, not equal.
    log = shared_file("traces", "swf", "KTH-SP2-1996-2.1-cln.swf.gz")
    numbers, workload = read_swf(log, cluster_procs=100)
    golden = golden_starts("kth-sp2-easy-pyss.starts")
    run = oracle_run(workload, "FCFS", "easy")
    measured = measured_of(workload, run)
    assert measured["average_wait_s"] == pytest.approx(6804.72, rel=0.01)
    assert measured["average_bounded_slowdown"] == pytest.approx(90.7248, rel=0.01)
    equal = sum(golden[number] == start for number, start in zip(numbers, run.start, strict=True))
    assert equal / len(golden) > 0.9


@pytest.mark.skipif(
    not size(0, 1), reason="a full study: plain Python takes 10 s for what the engine is held to in the suite"
)
def test_kth_averages_of_conservative_backfilling_are_near_those_of_pyss() -> None:
    log = shared_file("traces", "swf", "KTH-SP2-1996-2.1-cln.swf.gz")
    _, workload = read_swf(log, cluster_procs=100)
    measured = measured_of(workload, oracle_run(workload, "FCFS", "conservative"))
    assert measured["average_wait_s"] == pytest.approx(7295.10, rel=0.01)
    assert measured["average_bounded_slowdown"] == pytest.approx(88.0262, rel=0.01)
