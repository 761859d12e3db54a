"""The oracle of the RLScheduler rule set with inspection: cases worked out by hand from docs/reference/semantics.md.

A job is (submit, run time, processors) with an exact estimate, or (submit, run time, processors, estimate). `a..b`
means running from a to b. All times are in s.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulator.oracle_rlscheduler import Job, oracle_rlscheduler


def jobs_of(*rows: Sequence[int]) -> list[Job]:
    return [Job(*row) if len(row) == 4 else Job(*row, row[1]) for row in rows]


def fcfs(job: Job, now: int) -> float:
    return job.submit


def sjf(job: Job, now: int) -> float:
    return job.estimate


class Inspector:
    """Rejects the (time, index) that `rejects` lists, None: everything; `asked` is what it was asked."""

    def __init__(self, rejects: Sequence[tuple[int, int]] | None = None) -> None:
        self.rejects = rejects
        self.asked: list[tuple[int, int, bool]] = []

    def __call__(self, t: int, index: int, fits: bool) -> bool:
        self.asked.append((t, index, fits))
        return self.rejects is not None and (t, index) not in self.rejects


def test_who_is_always_rejected_starts_after_72_times_600_s() -> None:
    inspector = Inspector()
    assert oracle_rlscheduler(jobs_of((5, 10, 1)), 4, fcfs, True, inspector) == [5 + 72 * 600]
    assert inspector.asked == [(5 + 600 * times, 0, True) for times in range(72)]


def test_a_rejection_takes_one_event_within_the_interval_or_lets_it_pass() -> None:
    # J0 is rejected at 0, where J1 comes within 10 s, and at 5, where nothing does: 15..25 unasked. J1 is rejected at
    # 15, where J0 ends within 10 s (just so), and at 25, where nothing comes: 35.
    inspector = Inspector()
    assert oracle_rlscheduler(jobs_of((0, 10, 1), (5, 10, 1)), 1, fcfs, False, inspector, 2, 10) == [15, 35]
    assert inspector.asked == [(0, 0, True), (5, 0, True), (15, 1, False), (25, 1, True)]


def test_after_a_rejection_the_next_decision_sees_one_more_arrival() -> None:
    # J1 and J2 arrive at 5. J1 is decided on before J2 is seen, 5..25. J0 is the head at 5, before J2 is seen too.
    jobs = jobs_of((0, 30, 1), (5, 20, 1), (5, 10, 1))
    assert oracle_rlscheduler(jobs, 1, sjf, False, Inspector([(0, 0)])) == [25, 5, 55]


def test_the_interval_passes_before_a_late_event() -> None:
    # J1 does not fit at 1, where nothing comes until 601, and not at 601; J0 ends at 1000.
    inspector = Inspector([(1, 1), (601, 1)])
    assert oracle_rlscheduler(jobs_of((0, 1000, 2), (1, 10, 2)), 2, fcfs, True, inspector) == [0, 1000]
    assert inspector.asked == [(0, 0, True), (1, 1, False), (601, 1, False), (1000, 1, True)]


def test_after_a_rejection_an_arrival_comes_before_a_completion() -> None:
    # At 10 J2 arrives and J0 ends. J1 is decided on again between the two, and is the head until J0 has ended.
    inspector = Inspector([(1, 1)])
    assert oracle_rlscheduler(jobs_of((0, 10, 2), (1, 5, 2), (10, 5, 2)), 2, fcfs, False, inspector) == [0, 10, 15]
    assert inspector.asked == [(0, 0, True), (1, 1, False), (10, 1, False), (10, 2, False)]


def test_jobs_behind_an_accepted_head_are_not_inspected() -> None:
    inspector = Inspector([])
    assert oracle_rlscheduler(jobs_of((0, 10, 3), (1, 10, 4), (2, 5, 1)), 4, fcfs, True, inspector) == [0, 10, 2]
    assert inspector.asked == [(0, 0, True), (1, 1, False)]


def test_behind_a_rejected_job_nobody_is_backfilled() -> None:
    # J1 is rejected at 1 and, after J2 has come, at 2. The next event is the end of J0 at 10; J2 waits for J1.
    inspector = Inspector([(1, 1), (2, 1)])
    assert oracle_rlscheduler(jobs_of((0, 10, 3), (1, 10, 4), (2, 5, 1)), 4, fcfs, True, inspector) == [0, 10, 20]
    # Accepted at 2 it is the head, and J2 2..7 is backfilled at once.
    assert oracle_rlscheduler(jobs_of((0, 10, 3), (1, 10, 4), (2, 5, 1)), 4, fcfs, True, Inspector([(1, 1)]))[2] == 2


def test_rejections_are_counted_by_job() -> None:
    # J0 is rejected at 0; J1 arrives at 5, is rejected at 5 and 15 and starts at 25 unasked. At the next decision, at
    # 25, J0 is rejected a second time, where J1 ends within 10 s; it starts at 35 unasked.
    inspector = Inspector()
    assert oracle_rlscheduler(jobs_of((0, 30, 1), (5, 10, 1)), 1, sjf, False, inspector, 2, 10) == [35, 25]
    assert inspector.asked == [(0, 0, True), (5, 1, True), (15, 1, True), (25, 0, False)]


def test_scores_are_taken_again_after_a_rejection() -> None:
    # Shortest first before 600, then longest first. J0 is rejected at 0 alone, J1 at 0 before J0. At 600 J0 is first.
    def score(job: Job, now: int) -> float:
        return job.estimate if now < 600 else -job.estimate

    inspector = Inspector([(0, 0), (0, 1)])
    assert oracle_rlscheduler(jobs_of((0, 30, 1), (0, 10, 1)), 1, score, False, inspector) == [600, 630]
    assert inspector.asked == [(0, 0, True), (0, 1, True), (600, 0, True), (600, 1, False)]


def test_the_fault_that_idle_rejections_let_no_time_pass() -> None:
    # J1 arrives at 1000: J0 is rejected at 0, where time passes, and at 600, where J1 comes within 600 s: 1000..1010.
    # J1 is rejected at 1000, where J0 ends within 600 s, and at 1010, where nobody runs or arrives.
    jobs = jobs_of((0, 10, 1), (1000, 10, 1))
    assert oracle_rlscheduler(jobs, 1, fcfs, False, Inspector(), rejections=2, no_time_when_idle=True) == [1000, 1010]
    assert oracle_rlscheduler(jobs, 1, fcfs, False, Inspector(), rejections=2) == [1000, 1610]
    inspector = Inspector()
    assert oracle_rlscheduler(jobs[:1], 1, fcfs, False, inspector, no_time_when_idle=True) == [0]
    assert inspector.asked == [(0, 0, True)] * 72


def test_the_fault_needs_that_nobody_runs() -> None:
    # J0 0..1000. J1 is rejected at 1 and at 601 (time passes: J0 runs), where its end at 1000 is within 600 s.
    inspector = Inspector([(1, 1), (601, 1)])
    jobs = jobs_of((0, 1000, 2), (1, 10, 2))
    assert oracle_rlscheduler(jobs, 2, fcfs, False, inspector, no_time_when_idle=True) == [0, 1000]
