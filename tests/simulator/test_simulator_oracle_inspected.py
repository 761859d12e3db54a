"""Inspected picks in the oracle: cases worked out by hand from docs/reference/semantics.md.

A job is (submit, run time, processors) with an exact estimate; `a..b` means running from a to b. All times are in s.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulator.oracle import CANCELLED
from tests.simulator.oracle_cases import Case, Row
from tests.simulator.oracle_picks import oracle_inspected
from tests.simulator.oracle_types import Workload


def work(procs: int, *jobs: Row, **rest: object) -> Workload:
    return Case("", procs, jobs, [], **rest).workload


class Inspector:
    """Rejects the (time, order) that `rejects` lists, None: everything; `asked` is what it was asked."""

    def __init__(self, rejects: Sequence[tuple[int, int]] | None = None) -> None:
        self.rejects = rejects
        self.asked: list[tuple[int, int, bool]] = []

    def __call__(self, t: int, order: int, fits: bool) -> bool:
        self.asked.append((t, order, fits))
        return self.rejects is not None and (t, order) not in self.rejects


def test_who_is_always_rejected_starts_after_72_times_600_s() -> None:
    inspector = Inspector()
    assert oracle_inspected(work(4, (5, 10, 1)), "FCFS", "easy", inspector).start == [5 + 72 * 600]
    assert inspector.asked == [(5 + 600 * times, 0, True) for times in range(72)]


def test_another_event_before_it_takes_the_place_of_the_wake_up() -> None:
    # J0 is rejected at 0 (woken at 10, but 5 comes before) and at 5 (woken at 15), and then accepted unasked. J1 is
    # rejected at 15 (woken at 25, when J0 ends too) and at 25 (woken at 35, when nothing else happens).
    run = oracle_inspected(work(4, (0, 10, 1), (5, 10, 1)), "FCFS", "easy", Inspector(), rejections=2, interval=10)
    assert run.start == [15, 35]
    assert run.pass_times == [0, 5, 15, 25, 35]


# One of 4 is free while J0 runs 0..100; J1 would be the head, J2 would be backfilled.
ONE_FREE = work(4, (0, 100, 3), (1, 10, 4), (1, 10, 1))


def test_behind_a_rejected_job_nobody_is_backfilled() -> None:
    # Woken at 31, J1 is accepted as the head and J2 31..41 goes past it. At 41 only J1 waits, too wide: no question.
    inspector = Inspector([(1, 1)])
    run = oracle_inspected(ONE_FREE, "FCFS", "easy", inspector, interval=30)
    assert inspector.asked == [(0, 0, True), (1, 1, False), (31, 1, False), (100, 1, True)]
    assert run.start == [0, 100, 31]
    assert run.backfilled == [False, False, True]
    assert [head.t for head in run.blocked_heads] == [31]


def test_nobody_is_asked_while_no_waiting_job_fits() -> None:
    inspector = Inspector([])
    assert oracle_inspected(work(4, (0, 100, 4), (1, 10, 1), (2, 5, 4)), "FCFS", "easy", inspector).start == [
        0,
        100,
        110,
    ]
    assert inspector.asked == [(0, 0, True), (100, 1, True), (110, 2, True)]  # at 100 J2 is wider than the 3 free


def test_unfit_rejects_the_picks_that_do_not_fit() -> None:
    # J1 is rejected at 1; the end of J0 at 100 comes before 601. J1 100..110, J2 after it.
    def unfit(t: int, order: int, fits: bool) -> bool:
        return fits

    assert oracle_inspected(ONE_FREE, "FCFS", "easy", unfit).start == [0, 100, 110]
    # With 30 s: rejected at 1, 31, 61 and 91.
    assert oracle_inspected(ONE_FREE, "FCFS", "easy", unfit, interval=30).pass_times == [0, 1, 31, 61, 91, 100, 110]


def test_a_job_rejected_often_enough_becomes_the_head_unasked() -> None:
    # J0 is rejected at 0 and starts unasked at 1. J1 is rejected at 1, is the head unasked at 31, and J2 goes past it.
    # It starts unasked at 101. J2 was never a pick.
    inspector = Inspector()
    assert oracle_inspected(ONE_FREE, "FCFS", "easy", inspector, rejections=1, interval=30).start == [1, 101, 31]
    assert inspector.asked == [(0, 0, True), (1, 1, False)]


def test_the_next_of_the_order_is_asked_after_a_start() -> None:
    # SJF: J1 starts, J0 is rejected; J1 ends before 600.
    inspector = Inspector([(0, 0)])
    assert oracle_inspected(work(4, (0, 30, 1), (0, 10, 1)), "SJF", "easy", inspector).start == [10, 0]
    assert inspector.asked == [(0, 1, True), (0, 0, True), (10, 0, True)]


def test_rejections_are_counted_by_job() -> None:
    # J0 is rejected at 0; J1 is before it at 5 and 15 and starts at 25. J0 is rejected a second time at 35.
    run = oracle_inspected(work(1, (0, 30, 1), (5, 10, 1)), "SJF", "easy", Inspector(), rejections=2, interval=10)
    assert run.start == [45, 25]
    assert run.pass_times == [0, 5, 15, 25, 35, 45]


def test_a_rejected_job_may_be_cancelled() -> None:
    # Woken at 10, 20 and 30; it leaves at 25.
    run = oracle_inspected(work(1, (0, 30, 1), cancel={0: 25}), "FCFS", "easy", Inspector(), interval=10)
    assert run.start == [CANCELLED]
    assert run.pass_times == [0, 10, 20, 25]


def test_a_pick_fits_only_around_an_announced_outage() -> None:
    # J0 fits into the free processors at 0 and not into the plan. During the outage nothing is free: no question.
    inspector = Inspector([])
    workload = work(4, (0, 30, 1), outages=[(10, 20, 4, 0)])
    assert oracle_inspected(workload, "FCFS", "easy", inspector).start == [20]
    assert inspector.asked == [(0, 0, False), (20, 0, True)]
