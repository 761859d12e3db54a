"""The oracle of docs/reference/rlschert.md where jobs are killed: by a learner, by the paper's rule, by the stopping rule,
and at what cost.

Examples are written as tests/papers/rlschert/examples.py says.
"""

from __future__ import annotations

import pytest

from tests.papers.rlschert.examples import A, B, C, D, E, after, cluster
from tests.simulator.oracle_rlschert import LONGEST

# Kills


@pytest.mark.parametrize(("with_remaining", "again"), [(True, 8), (False, 9)])
def test_a_killed_job_keeps_what_was_seen_of_it_and_runs_anew(with_remaining, again):
    c = cluster((0, 8, 4, 3, {0: 5, 2: 7}), with_remaining=with_remaining)
    c.select(0)
    after(c, 2).kill(0)
    assert (c.now, c.estimate, c.visible[0], c.running, c.start, c.free) == (2, [9], A, [], {}, [4] * 12)
    assert (after(c, 1).estimate, c.rewards[-1]) == ([9], -1 / 9)
    c.select(0)
    assert (c.estimate, c.start, c.free) == ([9], {A: 3}, [0] * 9 + [4] * 3)
    assert after(c, 1).estimate == [again]
    assert after(c, 7).finish == {A: 11}
    c = cluster((0, 8, 4, 3, {0: 5}), with_remaining=with_remaining)
    c.select(0)
    c.kill(0)  # before it has run for a unit
    assert (c.now, c.estimate, c.visible[0], c.rewards) == (0, [5], A, [])


def test_a_kill_plans_anew():
    c = after(cluster((0, 6, 3, 6), (1, 3, 2, 3)), 1)
    c.select(0)
    c.select(1)
    assert c.planned_start == {B: 6}
    c.kill(0)
    assert (c.now, c.running, c.ready, c.start, c.planned_start) == (1, [B], [], {B: 1}, {})


def test_a_killed_job_goes_to_the_lowest_empty_slot_else_behind_the_backlog():
    for slots, units, visible, backlog in ((3, 1, [B, A, None], []), (1, 2, [B], [C, A])):
        c = cluster((0, 9, 1, 9), (1, 9, 1, 9), (2, 9, 1, 9), slots=slots)
        c.select(0)
        after(c, units).kill(0)
        assert (c.visible, c.backlog) == (visible, backlog)


def test_killable_are_the_jobs_that_started_last():
    c = cluster((0, 9, 1, 9), (1, 9, 1, 9), (2, 9, 1, 9), killable=2)
    c.select(0)
    after(c, 2)
    c.select(1)
    c.select(0)
    assert (c.running, c.killable_jobs) == ([A, C, B], [B, C])
    c.kill(1)
    assert (c.running, c.killable_jobs, c.visible[0], c.now) == ([A, B], [B, A], C, 2)
    c.select(0)
    assert c.killable_jobs == [C, B]
    c.kill(2)  # A runs, but is not among the two
    assert (c.running, c.now) == ([A, B, C], 3)


@pytest.mark.parametrize("with_remaining", [True, False])
@pytest.mark.parametrize(
    ("first", "t", "left", "killed"),
    [
        (5, 1, 11, True),
        (4, 1, 10, False),  # left > 10
        (5, 4, 11, True),
        (5, 5, 11, False),  # t < first
        (9, 1, 19, True),
        (9, 1, 18, False),  # (left - first) / first > 1
        (6, 1, 13, True),
        (6, 1, 12, False),
        (10, 1, 30, False),  # first < 10
    ],
)
def test_kill_by_rule(first, t, left, killed, with_remaining):
    job = (0, 50, 1, first, {**dict.fromkeys(range(LONGEST), 1), t: left})
    c = cluster(job, kill_by_rule=True, with_remaining=with_remaining)
    c.select(0)
    assert after(c, t - 1).running == [A]
    assert after(c, 1).running == ([] if killed else [A])
    assert not killed or (c.estimate, c.visible[0]) == ([t + left], A)
    c = cluster(job, with_remaining=with_remaining)
    c.select(0)
    assert after(c, t).running == [A]


def test_the_rule_kills_a_job_once_whoever_else_has_killed_it():
    c = cluster((0, 40, 1, 5, dict.fromkeys(range(LONGEST), 30)), kill_by_rule=True)
    c.select(0)
    c.kill(0)
    c.select(0)
    assert after(c, 1).running == []
    c.select(0)
    assert after(c, 5).running == [A]
    c.kill(0)
    c.select(0)
    assert after(c, 40).finish == {A: 46}


def test_the_rule_kills_before_the_arrival_and_plans_once():
    shorts = [(j, 50, 2, 5, {1: 4, 2: 3, 3: 30}) for j in (0, 1)]
    rest = [(2, 6, 4, 6, {1: 1}), (3, 2, 1, 2, {1: 1}), (4, 9, 1, 9)]
    c = after(cluster(*shorts, *rest, kill_by_rule=True, with_remaining=False), 1)
    c.select(0)
    c.select(1)
    after(c, 2)
    c.select(0)
    c.select(1)
    assert (c.running, c.planned_start) == ([A, B], {C: 3, D: 9})
    after(c, 1)  # had the plan been made between the two kills, D would have started and C not
    assert (c.running, c.ready, c.planned_start) == ([C], [D], {D: 6})
    assert (c.visible, c.estimate[:2]) == ([A, B, E, None, None], [33, 33])


# The stopping rule, and what a kill costs


@pytest.mark.parametrize(
    ("ran", "waiting", "stopped"),
    [
        (5, (3, 2), True),
        (6, (3, 2), False),  # ran for more than 5 units
        (5, (4, 2), False),  # 3 x 4 > 9 + 2
        (5, (3, 1), False),  # fits beside it
    ],
)
def test_a_job_makes_way_for_a_much_shorter_one(ran, waiting, stopped):
    length, procs = waiting
    c = cluster((0, 9, 3, 9), (ran, length, procs, length), stop_within=5, with_remaining=False)
    c.select(0)
    after(c, ran)
    assert (c.running, c.visible[:2]) == (([], [B, A]) if stopped else ([A], [B, None]))
    assert c.estimate[A] == 9


def test_stopping_comes_after_the_arrival_in_the_order_of_starts_and_only_as_needed():
    c = cluster((0, 30, 2, 30), (1, 30, 2, 30), (2, 5, 2, 5), (3, 5, 2, 5), stop_within=5)
    c.select(0)
    after(c, 1).select(0)
    assert after(c, 1).running == [B]  # A makes way, and two processors are enough for C
    c.select(1 if c.visible[1] == C else 0)
    assert after(c, 1).running == [C]  # B makes way for D: C is too short to
    assert c.jobs[A].kills == c.jobs[B].kills == 1
    c = cluster((0, 30, 2, 30), (1, 30, 2, 30), (2, 5, 4, 5), stop_within=5)
    c.select(0)
    after(c, 1).select(0)
    assert after(c, 1).running == [A, B]  # neither is enough for C


def test_a_job_is_stopped_for_one_in_backlog_or_ready_and_at_most_three_times():
    c = cluster((0, 60, 3, 60), (1, 60, 1, 60), (2, 60, 1, 60), (3, 5, 4, 5), slots=2, stop_within=5)
    c.select(0)
    assert after(c, 2).running == [A] and c.backlog == []
    assert after(c, 1).running == [] and c.backlog == [D, A]  # D wants all four
    c = cluster((0, 60, 3, 60), (1, 5, 4, 5), stop_within=5)
    for kills in range(1, 4):
        c.select(c.visible.index(A))
        assert after(c, 1).jobs[A].kills == kills
    c.select(c.visible.index(A))
    assert after(c, 6).running == [A]
    c = cluster((0, 60, 3, 60), (1, 5, 4, 5), stop_within=5)
    c.select(0)
    c.jobs[A].kills = 3
    after(c, 1).select(0)
    assert c.ready == [B]
    c.jobs[A].kills = 0
    assert after(c, 1).running == [B]


@pytest.mark.parametrize("with_remaining", [True, False])
def test_a_run_after_a_kill_is_longer_by_what_preemption_costs(with_remaining):
    c = cluster((0, 4, 4, 4), preemption_cost=3, with_remaining=with_remaining)
    c.select(0)
    after(c, 2).kill(0)
    assert c.estimate == [3 + 4]
    c.select(0)
    assert c.free == [0] * 7 + [4] * 5
    after(c, 3)  # it has only started again
    assert (c.estimate, c.jobs[A].worked, c.running) == ([7], 0, [A])
    assert after(c, 4).finish == {A: 9} and c.slowdown() == 9 / 4
    c = cluster((0, 4, 4, 4), preemption_cost=3, with_remaining=with_remaining)
    c.select(0)
    for _ in range(2):  # a second kill costs no more than the first
        after(c, 2).kill(0)
        c.select(0)
    assert after(c, 7).finish == {A: 11}


def test_estimates_and_the_rule_of_a_job_that_starts_again_count_its_work():
    job = (0, 40, 1, 5, {0: 6, 1: 30, 2: 3, 3: 31})
    c = cluster(job, preemption_cost=2, kill_by_rule=True)
    c.select(0)
    c.kill(0)
    assert c.estimate == [2 + 6]
    c.select(0)
    assert (after(c, 2).estimate, c.running) == ([8], [A])
    assert (after(c, 1).estimate, c.running) == ([2 + 1 + 30], [])  # after one unit of work
