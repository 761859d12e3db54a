"""Picked backfilling in the oracle: cases worked out by hand from docs/reference/semantics.md.

A job is (submit, run time, processors) with an exact estimate; `a..b` means running from a to b. All times are in s.
"""

from __future__ import annotations

import pytest

from tests.simulator.oracle import CANCELLED
from tests.simulator.oracle_cases import Case, Row
from tests.simulator.oracle_picks import NONE, Picks, oracle_picks, visible
from tests.simulator.oracle_types import Workload


def work(procs: int, *jobs: Row, **rest: object) -> Workload:
    return Case("", procs, jobs, [], **rest).workload


def admitted_for(length: int, order: int, workload: Workload) -> Workload:
    """Return the workload in which the job with this order is admitted for `length` (s)."""
    jobs = [job._replace(admit=length) if job.order == order else job for job in workload.jobs]
    return workload._replace(jobs=jobs)


class Agent:
    """Answers with the jobs of a script, one a question (None: none), then with none; `asked` is what it was asked."""

    def __init__(self, *script: int | None) -> None:
        self.script = list(script)
        self.asked: list[tuple[int, list[int], list[bool]]] = []

    def __call__(self, t: int, slots: list[int], candidates: list[bool]) -> int:
        self.asked.append((t, slots, candidates))
        order = self.script.pop(0) if self.script else None
        return NONE if order is None else slots.index(order)


class Eager(Agent):
    """Picks the first candidate whenever there is one."""

    def __call__(self, t: int, slots: list[int], candidates: list[bool]) -> int:
        super().__call__(t, slots, candidates)
        return candidates.index(True) if True in candidates else NONE


def starts(workload: Workload, policy: str = "FCFS", **options: object) -> list[int]:
    return oracle_picks(workload, policy, Picks(**options)).start


# Rules.

# J0 holds 5 of 10 processors 0..100, J1 is the head with the shadow time 100 and no extra processors. Any two of the
# others are wider than the 5 free. J2 comes first, J3 is the shortest, J4 the narrowest (J5 ties and came later),
# J5 the smallest: areas 225, 120, 270, 105.
FIVE_FREE = work(10, (0, 100, 5), (1, 50, 10), (1, 45, 5), (1, 30, 4), (1, 90, 3), (1, 35, 3))


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        # J2 1..46. At 46 J3 46..76. At 76 J5 would end at 111. J1 100..150, then both.
        ("first", [0, 100, 1, 46, 150, 150]),
        # J3 1..31. At 31 J5 (35) before J2 (45), 31..66; J4 would end at 121. At 66 J2 would end at 111.
        ("shortest", [0, 100, 150, 1, 150, 31]),
        # J4 1..91; at 91 all others end after 100. At 150 J2 and J3 start; J5 at 180, when J3 has ended.
        ("narrowest", [0, 100, 150, 150, 1, 180]),
        # J5 1..36. At 36 J3 (120) before J2 (225), 36..66; J4 would end at 126. At 66 J2 would end at 111.
        ("smallest", [0, 100, 150, 36, 150, 1]),
    ],
)
def test_rules_pick_by_their_measure_and_ties_by_submission(by: str, expected: list[int]) -> None:
    assert starts(FIVE_FREE, by=by) == expected


# Windows. J0 holds all but one of 4 processors 0..100; J1 is the head with the shadow time 100.


def test_the_window_has_the_front_and_then_the_end_newest_first() -> None:
    # 2-2: with two or fewer behind the head there is no end; with three it is one job; then it moves with arrivals.
    workload = work(4, (0, 100, 3), (1, 10, 4), *((submit, 10, 1) for submit in (2, 3, 4, 5, 6)))
    agent = Agent()
    run = oracle_picks(workload, "FCFS", Picks(window=(2, 2)), agent)
    assert agent.asked == [
        (2, [2], [True]),
        (3, [2, 3], [True] * 2),
        (4, [2, 3, 4], [True] * 3),
        (5, [2, 3, 5, 4], [True] * 4),
        (6, [2, 3, 6, 5], [True] * 4),
    ]
    # J1 100..110, then four from the front at 110 and J6 when they end.
    assert run.start == [0, 100, 110, 110, 110, 110, 120]


def test_no_job_has_two_slots() -> None:
    queue = work(4, *((0, 10, 1) for _ in range(5))).jobs
    for window, orders in [((3, 4), [0, 1, 2, 4, 3]), ((5, 5), [0, 1, 2, 3, 4]), ((0, 2), [4, 3]), ((1, 2), [0, 4, 3])]:
        assert [job.order for job in visible(queue, window)] == orders


def test_the_window_is_taken_again_after_every_start() -> None:
    # 4 of 10 free, 1-1 of J2, J3, J4: the last is J4, then J3, and then J2 alone.
    workload = work(10, (0, 100, 6), (1, 10, 10), (1, 10, 1), (1, 10, 1), (1, 10, 1))
    agent = Agent(4, 3, None)
    run = oracle_picks(workload, "FCFS", Picks(window=(1, 1)), agent)
    assert agent.asked[:3] == [(1, [2, 4], [True] * 2), (1, [2, 3], [True] * 2), (1, [2], [True])]
    assert agent.asked[3:] == [(11, [2], [True])]  # J3 and J4 end; at 100 J1 starts, at 110 J2
    assert run.start == [0, 100, 110, 1, 1]
    assert run.backfilled == [False, False, False, True, True]


def test_a_rule_picks_by_slot_so_the_end_alone_is_newest_first() -> None:
    # One free: J4 1..21, J3 21..41, J2 41..61.
    workload = work(4, (0, 100, 3), (1, 10, 4), (1, 20, 1), (1, 20, 1), (1, 20, 1))
    assert starts(workload, window=(0, 2)) == [0, 100, 41, 21, 1]


def test_who_is_not_visible_is_no_candidate() -> None:
    # J2 is too wide and hides J3.
    workload = work(4, (0, 100, 3), (1, 10, 4), (1, 20, 2), (1, 20, 1))
    assert starts(workload, window=(1, 0)) == [0, 100, 110, 110]
    assert starts(workload) == [0, 100, 110, 1]


# From all.


def test_from_all_has_no_head_and_no_guard() -> None:
    # J2 1..101 beside J0; at 10 J1 does not fit. J0 and J1 are the first of the queue when they are picked.
    run = oracle_picks(work(4, (0, 10, 3), (1, 10, 4), (1, 100, 1)), "FCFS", Picks(from_="all"))
    assert run.start == [0, 101, 1]
    assert run.backfilled == [False, False, True]
    assert run.blocked_heads == []


def test_from_all_an_agent_may_start_the_second_before_the_first() -> None:
    run = oracle_picks(work(4, (0, 10, 4), (0, 10, 4)), "FCFS", Picks(from_="all"), Agent(1, 0))
    assert run.start == [10, 0]
    assert run.backfilled == [False, True]


def test_from_all_a_policy_that_looks_at_the_free_processors_orders_again() -> None:
    # tetris: 6, 5, 4 processors. Beside J0 J1 does not fit, so that J2 is before it then, and visible.
    workload = work(10, (0, 10, 6), (0, 10, 5), (0, 10, 4))
    options = Picks(from_="all", window=(1, 0))
    assert oracle_picks(workload, "tetris", options).start == [0, 10, 0]


def test_from_all_cannot_be_guarded() -> None:
    with pytest.raises(ValueError, match="no head"):
        Picks(from_="all", guard=True)


# None as an answer.


def test_with_none_nothing_starts_until_the_next_event() -> None:
    # At 1 none; J3 arrives at 20 and would end at 520, after 100, so it is no candidate. J2 20..30 leaves no candidate.
    agent = Agent(None, 2)
    run = oracle_picks(work(4, (0, 100, 3), (1, 10, 4), (1, 10, 1), (20, 500, 1)), "FCFS", Picks(), agent)
    assert agent.asked == [(1, [2], [True]), (20, [2, 3], [True, False])]
    assert run.start == [0, 100, 20, 110]


@pytest.mark.parametrize("answer", [1, 2, 99, -5])
def test_a_slot_without_a_candidate_counts_as_none(answer: int) -> None:
    workload = work(4, (0, 100, 3), (1, 10, 4), (1, 10, 1), (1, 500, 1))
    assert oracle_picks(workload, "FCFS", Picks(), lambda *_: answer).start == [0, 100, 110, 110]


def test_none_is_no_answer_where_nothing_lies_ahead() -> None:
    # At 0 J1 is still to come. At 5 nothing is: J0 5..15 starts all the same; then its end lies ahead. At 15 nothing.
    agent = Agent()
    assert oracle_picks(work(4, (0, 10, 2), (5, 10, 2)), "FCFS", Picks(from_="all"), agent).start == [5, 15]
    assert agent.asked == [(0, [0], [True]), (5, [0, 1], [True] * 2), (5, [1], [True]), (15, [1], [True])]


def test_the_first_candidate_by_slot_starts_in_its_place() -> None:
    # All in one second; 1-1 shows J0 and J2. An outage leaves 3 of 4, so that J0 is no candidate until it ends at 30.
    workload = work(4, (0, 10, 4), (0, 10, 1), (0, 10, 3), outages=[(0, 30, 1)])
    # At 0 the end of the outage lies ahead. At 30 nothing: J0 30..40. At 40 J1 is slot 0, and then J2 fits beside it.
    assert oracle_picks(workload, "FCFS", Picks(from_="all", window=(1, 1)), Agent()).start == [30, 40, 50]
    # After J1 started at 40 its end lies ahead, so that J2 is left waiting until 50.


def test_a_cancellation_lies_ahead() -> None:
    assert oracle_picks(work(4, (0, 10, 2), cancel={0: 7}), "FCFS", Picks(from_="all"), Agent()).start == [CANCELLED]


def test_an_outage_lies_ahead() -> None:
    # At 0 its start at 50 lies ahead, then its end at 60; then nothing.
    workload = work(4, (0, 10, 2), outages=[(50, 60, 4, 0)])
    assert oracle_picks(workload, "FCFS", Picks(from_="all"), Agent()).start == [60]


def test_the_end_of_a_job_without_run_time_lies_ahead_in_the_same_second() -> None:
    # J0 is picked; its end is another event at 0, and so is none an answer after it. Then nothing lies ahead.
    agent = Agent(0)
    assert oracle_picks(work(4, (0, 0, 2, 1, 1), (0, 10, 2)), "FCFS", Picks(from_="all"), agent).start == [0, 0]
    assert agent.asked == [(0, [0, 1], [True] * 2), (0, [1], [True]), (0, [1], [True])]


# Extra processors and slack.


def test_a_job_that_ends_after_the_shadow_time_takes_extra_processors() -> None:
    # At 100 all 10 are free, 2 more than J1 needs. J2 and J3 take them, J4 has none left: at 150 J1 has ended.
    workload = work(10, (0, 100, 6), (1, 50, 8), (1, 200, 1), (1, 200, 1), (1, 200, 1))
    assert starts(workload) == [0, 100, 1, 1, 150]


def test_a_job_that_ends_in_time_takes_no_extra_processors() -> None:
    assert starts(work(10, (0, 100, 6), (1, 50, 8), (1, 99, 2), (1, 200, 2))) == [0, 100, 1, 1]


def test_without_a_guard_the_head_may_be_delayed() -> None:
    run = oracle_picks(work(4, (0, 10, 3), (1, 10, 4), (1, 100, 1)), "FCFS", Picks(guard=False))
    assert run.start == [0, 101, 1]
    assert run.backfilled == [False, False, True]


def test_the_first_promise_is_kept_over_several_passes() -> None:
    # J1 is promised 10 at 1, so that 5 s of slack end at 15. J2 2..15 uses them. At 3 the shadow time is 15: J4 3..15
    # ends in time; J3 would end at 18, within 5 s of the new shadow time but not of the promise, and at 10 at 25.
    workload = work(4, (0, 10, 2), (1, 10, 4), (2, 13, 1), (3, 15, 1), (3, 12, 1))
    run = oracle_picks(workload, "FCFS", Picks(slack_s=5))
    assert run.start == [0, 15, 2, 25, 3]
    assert [head[:4] for head in run.blocked_heads[:4]] == [(1, 1, 10, 0), (2, 1, 10, 0), (3, 1, 15, 0), (10, 1, 15, 0)]


def test_no_promise_is_made_while_nobody_fits() -> None:
    # J0 (estimate 100) and J1 hold everything, so that J2 is no head yet. J0 ends at 10: J2 is promised 50, when J1 ends. J3 would
    # end at 110, later than the 10 s after 50, and waits.
    workload = work(4, (0, 10, 2, 100, 100), (0, 50, 2), (1, 10, 4), (1, 100, 2))
    assert starts(workload, slack_s=10) == [0, 0, 50, 60]


def test_slack_is_a_share_of_the_heads_estimate_rounded_down_or_seconds() -> None:
    # A quarter of 10 s after 10: 12.5, so 12. J3 2..12 ends then; J2 would end at 13, and waits for J1 12..22.
    workload = work(4, (0, 10, 2), (1, 10, 4), (2, 11, 1), (2, 10, 1))
    assert starts(workload, slack_share=0.25) == [0, 12, 22, 2]
    assert starts(workload, slack_share=0.25, slack_s=3) == [0, 13, 2, 2]  # the larger of both: 13
    assert starts(workload, slack_share=0.25, slack_s=1) == [0, 12, 22, 2]


def test_a_job_that_starts_by_slack_takes_no_extra_processors() -> None:
    # Extra 2, slack until 150. J2 ends at 141 and is wider than 2; J3 starts on extra processors. J1 waits for J2.
    workload = work(10, (0, 100, 6), (1, 50, 8), (1, 140, 3), (1, 400, 1))
    assert starts(workload, slack_s=50) == [0, 141, 1, 1]


def test_a_job_that_slack_and_extra_processors_let_start_takes_none() -> None:
    # J2 (2 processors, until 141) would do by either, so not by the second condition alone. J3 takes the 2.
    workload = work(10, (0, 100, 6), (1, 50, 8), (1, 140, 2), (1, 400, 2))
    assert starts(workload, slack_s=50) == [0, 141, 1, 1]


# What an agent must, and what long jobs leave.


def test_who_must_pick_gets_the_first_for_none_and_is_not_asked_about_one() -> None:
    # At 1 J2 is the only candidate. At 2 one of J3 and J4 fits: none is taken for J3. At 11 J2 ends: J4 alone.
    agent = Agent()
    workload = work(4, (0, 100, 2), (1, 10, 4), (1, 10, 1), (2, 10, 1), (2, 10, 1))
    assert oracle_picks(workload, "FCFS", Picks(must=True), agent).start == [0, 100, 1, 2, 11]
    assert agent.asked == [(2, [3, 4], [True] * 2)]


def test_a_long_job_leaves_processors_free() -> None:
    # 6 of 10 free. J2 (70 s) would leave 2 of the 3. J3 (60 s) is not above 60 s. It leaves 2, so J4 has to wait.
    workload = work(10, (0, 100, 4), (1, 50, 10), (1, 70, 4), (1, 60, 4), (1, 70, 1))
    assert starts(workload, keep_free=3, keep_over_s=60) == [0, 100, 150, 1, 150]
    assert starts(workload) == [0, 100, 1, 150, 1]  # J2 and J4 1..71; then J3 would end at 131


def test_a_wide_job_leaves_what_the_cluster_has_beside_it() -> None:
    # J0 leaves 2 of 4, all that it can; J1 would leave 1 and could leave 3, so it waits for the end of J0.
    assert starts(work(4, (0, 5000, 2), (0, 5000, 1)), from_="all", keep_free=3) == [0, 5000]
    assert starts(work(4, (0, 5000, 4)), from_="all", keep_free=3) == [0]
    # An hour is not above an hour.
    assert starts(work(4, (0, 3600, 2), (0, 3600, 1)), from_="all", keep_free=3) == [0, 0]


def test_jobs_from_the_front_need_not_leave_anything() -> None:
    assert starts(work(4, (0, 5000, 2), (0, 5000, 1)), keep_free=3) == [0, 0]


def test_whether_a_job_may_go_past_is_decided_by_what_it_is_admitted_for() -> None:
    # J2 and J3 are estimated at 5 s. J2 is admitted for 20 s, so until 21, after the shadow time of 10.
    workload = admitted_for(20, 2, work(4, (0, 10, 3), (1, 10, 4), (1, 5, 1), (1, 5, 1)))
    assert starts(workload) == [0, 10, 20, 1]
    # J1 is above 10 s, and so would have to leave one processor free beside J0.
    workload = admitted_for(20, 1, work(4, (0, 5, 3), (0, 5, 1)))
    assert starts(workload, from_="all", keep_free=1, keep_over_s=10) == [0, 5]


# Announced outages.


def test_candidates_fit_around_an_announced_outage() -> None:
    # All 4 are gone 20..30. J1 cannot run 15..25, so its reservation is 30..40. J2 1..11; J3 would run into the outage.
    workload = work(4, (0, 15, 3), (1, 10, 4), (1, 10, 1), (1, 25, 1), outages=[(20, 30, 4, 0)])
    assert starts(workload) == [0, 30, 1, 40]
    assert starts(workload, guard=False) == [0, 30, 1, 40]


# 2 of 4 are gone 20..30, as is known from 0 on. J1 gets 30..40. J2 would run 1..41 beside the outage.
PARTLY_OUT = work(4, (0, 15, 3), (1, 10, 4), (1, 40, 1), outages=[(20, 30, 2, 0)])


def test_the_heads_reservation_is_in_the_plan_only_under_a_guard() -> None:
    assert starts(PARTLY_OUT) == [0, 30, 40]
    assert starts(PARTLY_OUT, guard=False) == [0, 41, 1]


def test_slack_is_not_used_while_an_outage_is_pending() -> None:
    # At 1 and 15 the outage is pending. At 20 it is under way, and J2 20..60 ends within 100 s after the promise of 30.
    assert starts(PARTLY_OUT, slack_s=100) == [0, 60, 20]
    assert starts(PARTLY_OUT, slack_s=29) == [0, 30, 40]  # until 59


def test_from_all_fits_around_an_announced_outage() -> None:
    # J0 would run into the outage of all processors 5..10; J1 would not.
    assert starts(work(4, (0, 6, 1), (0, 5, 1), outages=[(5, 10, 4, 0)]), from_="all") == [10, 0]


# Every event asked.


def test_jobs_of_one_second_arrive_one_by_one() -> None:
    # SJF would take J1 first, had it seen both.
    workload = work(4, (0, 100, 4), (0, 10, 4))
    assert oracle_picks(workload, "SJF", Picks(), ask_always=True).start == [0, 100]
    assert oracle_picks(workload, "SJF", Picks()).start == [10, 0]


def test_every_event_is_asked_until_its_pass_ends() -> None:
    # J0 and J1 arrive at 0, one after the other. They end at 10, when nobody waits. J2 arrives at 20.
    workload = work(4, (0, 10, 2), (0, 10, 2), (20, 5, 1))
    agent = Eager()
    assert oracle_picks(workload, "FCFS", Picks(from_="all"), agent, ask_always=True).start == [0, 0, 20]
    empty: list[bool] = []
    assert agent.asked == [
        (0, [0], [True]),
        (0, [], empty),
        (0, [1], [True]),
        (0, [], empty),
        (10, [], empty),
        (20, [2], [True]),
        (20, [], empty),
    ]
    agent = Eager()
    assert oracle_picks(workload, "FCFS", Picks(from_="all"), agent).start == [0, 0, 20]
    assert agent.asked == [(0, [0, 1], [True] * 2), (0, [1], [True]), (20, [2], [True])]


def test_an_arrival_of_the_same_second_lies_ahead() -> None:
    # None is an answer for J0 before J1 has arrived. Then nothing lies ahead: J0 0..10, and at 10 J1.
    agent = Agent()
    workload = work(4, (0, 10, 2), (0, 10, 2))
    assert oracle_picks(workload, "FCFS", Picks(from_="all"), agent, ask_always=True).start == [0, 10]
    assert [(t, slots) for t, slots, _ in agent.asked] == [(0, [0]), (0, [0, 1]), (0, [1]), (10, [1]), (10, [])]


def test_behind_a_head_every_event_is_asked_too() -> None:
    # At 0 J0 starts from the front. At 1 nobody is behind J1. J2 is too wide at 2; at 10 J1 starts, and at 20 J2.
    agent = Agent()
    workload = work(4, (0, 10, 3), (1, 10, 4), (2, 10, 2))
    assert oracle_picks(workload, "FCFS", Picks(), agent, ask_always=True).start == [0, 10, 20]
    assert agent.asked == [(0, [], []), (1, [], []), (2, [2], [False]), (10, [], []), (20, [], [])]
