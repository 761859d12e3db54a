"""Tests of simulator/engine: episode, events, plan, reserving, running, starting, static."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest

from simulator.engine import episode as at
from simulator.engine.episode import ANY, EASY, EASY_SJBF, NO_BACKFILL, NUM_COUNTERS, RESERVE, UNPROTECTED, new_episode
from simulator.engine.events import close_gap
from simulator.engine.plan import begin_plan, change, earlier_start, earliest_start, fits_now, forget_past
from simulator.engine.queue_tree import BACK, SHORT, queue_by
from simulator.engine.replay import BACKFILLING, replay, rules_of
from simulator.engine.reserving import expansion_factor_reached, sort_places
from simulator.engine.running import (
    CORRECTION_IDS,
    corrected_end,
    heap_pop,
    heap_push,
    insert_running,
    remove_running,
    reservation,
)
from simulator.engine.static import DEEP, HEAD, Queues, join_queue, leave_queues, new_static_episode
from simulator.jobs.cluster import FOREVER, Cluster, Outages, RunningJobs
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import tasks_of
from simulator.policies.agents import FIRST, NO_ONE
from tests.simulator.busy import PROCS, busy_jobs

# episode: The state before the first event.

n = np.array


def test_a_new_episode_knows_the_running_jobs_only() -> None:
    jobs = busy_jobs(20)
    running = RunningJobs(jobs.submit[:1], n([50]), n([2]), n([50]), n([50]), n([0]))
    tasks = tasks_of(jobs, Cluster(PROCS, running))
    episode = new_episode(tasks, PROCS, users=3, plans=True, inputs=4)
    assert episode.start.tolist() == [jobs.submit[0]] + [CANCELLED] * 20
    assert episode.counters.tolist() == [0] * NUM_COUNTERS
    assert (episode.reserved == UNPROTECTED).all()
    assert (len(episode.usage), episode.rows.shape[1]) == (4, 4)


def test_what_the_rules_do_not_need_takes_no_room() -> None:
    episode = new_episode(tasks_of(busy_jobs(20), Cluster(PROCS)), PROCS, users=0, plans=False, inputs=0)
    assert [len(column) for column in (episode.reserved, episode.ended, episode.promised, episode.plan_time)] == [1] * 4


# events: Events of one second, in their order, and what leaves the queue.


def test_a_gap_is_closed_behind_the_place() -> None:
    queue, score = n([5, 6, 7, 8]), n([1.0, 2.0, 3.0, 4.0])
    close_gap(queue, score, 1, 4)
    assert (queue[:3].tolist(), score[:3].tolist()) == ([5, 7, 8], [1.0, 3.0, 4.0])


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_what_happens_in_one_second(backfill: str) -> None:
    """At 10 s the first job ends, an outage begins, the second job is cancelled and the third is submitted: it gets what the
    outage leaves."""
    jobs = Jobs(n([0, 1, 10]), n([10, 5, 5]), n([4, 4, 2]), n([10, 5, 5]), n([10, 5, 5]), cancel=n([NEVER, 10, NEVER]))
    cluster = Cluster(4, outages=Outages(n([10]), n([20]), n([2]), n([10])))
    assert replay(jobs, cluster, "WFP3", backfill).start.tolist() == [0, CANCELLED, 10]


# plan: The plan of reservations against a plain array of one number per second.

HORIZON = 60
"""Seconds that the plain array has; from there on its last number holds for ever."""
PLAN_PROCS = 8
CHANGES = 150


class Plain:
    """Free processors by second: room[t] for now <= t < HORIZON, the last one for ever."""

    def __init__(self, now: int, free: int) -> None:
        self.now = now
        self.room = np.full(HORIZON, free)

    def fits(self, begin: int, length: int, procs: int, own: tuple[int, int] | None = None) -> bool:
        """Whether the processors are free for `length` seconds; in the seconds of `own` its own count as free."""
        for t in range(begin, min(begin + length, HORIZON)):
            mine = procs if own and own[0] <= t < own[1] else 0
            if self.room[t] + mine < procs:
                return False
        return begin + length <= HORIZON or self.room[-1] >= procs

    def earliest(self, procs: int, length: int) -> int:
        starts = (t for t in range(self.now, HORIZON) if self.fits(t, length, procs))
        return next(starts, FOREVER)


class Steps:
    """The compiled plan, with arrays that are exactly as long as they have to be: a longer plan would be a mistake."""

    def __init__(self, now: int, free: int, most_steps: int) -> None:
        self.time = np.full(most_steps, -7, dtype=np.int64)
        self.room = np.full(most_steps, -7, dtype=np.int64)
        self.count = begin_plan(self.time, self.room, now, free)

    @property
    def plan(self) -> tuple[np.ndarray, np.ndarray, int]:
        return self.time, self.room, self.count

    def change(self, start: int, end: int, procs: int) -> None:
        self.count = change(*self.plan, start, end, procs)

    def forget_past(self, now: int) -> None:
        self.count = forget_past(*self.plan, now)


def assert_same(steps: Steps, plain: Plain) -> None:
    time, room, count = steps.plan
    assert time[0] == plain.now
    assert (np.diff(time[:count]) > 0).all(), "times rise"
    assert (np.diff(room[:count]) != 0).all(), "neighbours differ"
    seconds = np.arange(plain.now, HORIZON)
    assert (room[np.searchsorted(time[:count], seconds, "right") - 1] == plain.room[plain.now :]).all()
    assert time[count - 1] < HORIZON


def wander(seed: int, least_room: int, check: Callable[[Steps, Plain, np.random.Generator], None]) -> None:
    """Takes and gives back random rooms while time goes on, and calls `check` after every change. No second has less than
    `least_room` processors left."""
    rng = np.random.default_rng(seed)
    now = int(rng.integers(0, 5))
    plain, steps = Plain(now, PLAN_PROCS), Steps(now, PLAN_PROCS, 2 * CHANGES + 2)
    held: list[tuple[int, int, int]] = []
    for _ in range(CHANGES):
        if held and rng.random() < 0.4:
            start, end, procs = held.pop(int(rng.integers(len(held))))
            start = max(start, plain.now)
        else:
            start = int(rng.integers(plain.now, HORIZON - 2))
            end = int(rng.integers(start + 1, HORIZON)) if rng.random() < 0.9 else FOREVER + int(rng.integers(0, 9))
            procs = -int(rng.integers(1, 4))
            if plain.room[start : min(end, HORIZON)].min() + procs < least_room:
                continue
            held.append((start, end, -procs))
        steps.change(start, end, procs)
        plain.room[start : min(end, HORIZON)] += procs
        assert_same(steps, plain)
        check(steps, plain, rng)
        if rng.random() < 0.1 and plain.now < HORIZON - 10:
            plain.now += int(rng.integers(0, 4))
            steps.forget_past(plain.now)
            held = [entry for entry in held if entry[1] > plain.now]
            assert_same(steps, plain)


@pytest.mark.parametrize("seed", range(12))
def test_changes_are_those_of_an_array_of_seconds(seed: int) -> None:
    """Room below zero included: an outage that nobody announced may take more than is free."""
    wander(seed, -20, lambda steps, plain, rng: None)


@pytest.mark.parametrize("seed", range(12))
def test_starts_are_those_of_an_array_of_seconds(seed: int) -> None:
    answers = []

    def check(steps: Steps, plain: Plain, rng: np.random.Generator) -> None:
        for _ in range(4):
            procs, length = int(rng.integers(1, PLAN_PROCS + 2)), int(rng.integers(1, 30))
            expected = plain.earliest(procs, length)
            answers.append(expected)
            assert earliest_start(*steps.plan, procs, length) == expected
            assert bool(fits_now(*steps.plan, procs, length)) == (expected == plain.now)

    wander(100 + seed, -3, check)
    assert FOREVER in answers and len(set(answers)) > 10, "the plans were too alike to test anything"


@pytest.mark.parametrize("seed", range(12))
def test_earlier_starts_are_those_of_an_array_of_seconds(seed: int) -> None:
    """A job holds a reservation that fits; where could it move, if its own room counts as free?

    Jobs that could start now are rarely asked about, and most hold the earliest place that there is: else nearly all would
    move, to the first second."""
    moved, stayed, moved_part_of_the_way = 0, 0, 0

    def check(steps: Steps, plain: Plain, rng: np.random.Generator) -> None:
        nonlocal moved, stayed, moved_part_of_the_way
        for _ in range(20):
            procs, length = int(rng.integers(3, PLAN_PROCS + 1)), int(rng.integers(1, 12))
            if not plain.fits(plain.now, length, procs) or rng.random() < 0.03:
                break
        places = [t for t in range(plain.now + 1, HORIZON - length) if plain.fits(t, length, procs)]
        if not places:
            return
        reserved = places[0] if rng.random() < 0.5 else int(rng.choice(places))
        own = (reserved, reserved + length)
        steps.change(*own, -procs)
        plain.room[slice(*own)] -= procs
        for horizon in (HORIZON, int(rng.integers(plain.now + 1, HORIZON))):
            before = range(plain.now, min(reserved, horizon))
            expected = next((t for t in before if plain.fits(t, length, procs, own)), reserved)
            assert earlier_start(*steps.plan, procs, length, reserved, horizon) == expected
            moved += expected != reserved
            stayed += expected == reserved
            moved_part_of_the_way += plain.now < expected < reserved
        steps.change(*own, procs)
        plain.room[slice(*own)] += procs
        assert_same(steps, plain)

    for walk in range(4):
        wander(1000 * walk + seed, 0, check)
    assert min(moved, stayed, moved_part_of_the_way) > 20, "the plans were too alike to test anything"


def test_a_room_taken_and_given_back_leaves_one_step() -> None:
    steps = Steps(3, PLAN_PROCS, 6)
    for start, end in ((3, 4), (5, 9), (3, FOREVER), (10, FOREVER)):
        steps.change(start, end, -2)
        assert steps.count > 1 or (start == 3 and end == FOREVER)
        steps.change(start, end, 2)
        assert steps.plan[2] == 1 and steps.time[0] == 3 and steps.room[0] == PLAN_PROCS


def test_jobs_end_to_end_need_no_step_between_them() -> None:
    steps = Steps(0, PLAN_PROCS, 6)
    for start in (0, 10, 20):
        steps.change(start, start + 10, -5)
    assert (steps.time[: steps.count].tolist(), steps.room[: steps.count].tolist()) == ([0, 30], [3, 8])


# reserving: Rights to reservations, and the order in which they are made.


def test_the_expansion_factor_counts_waiting() -> None:
    assert expansion_factor_reached(100, 100, 2.0)
    assert not expansion_factor_reached(99, 100, 2.0)


def test_places_are_sorted_by_score_then_place() -> None:
    rng = np.random.default_rng(1)
    score, order = rng.integers(0, 9, 50).astype(np.float64), rng.permutation(50)
    sort_places(score, order, 50)
    assert order.tolist() == sorted(range(50), key=lambda k: (score[k], k))


def test_an_early_end_moves_reservations_up() -> None:
    """The first job ends at 10 instead of 100: the second moves up, and the third fills what is left beside it."""
    jobs = Jobs(n([0, 1, 2]), n([10, 50, 50]), n([4, 3, 1]), n([100, 50, 50]), n([100, 50, 50]))
    schedule = replay(jobs, 4, "FCFS", "conservative")
    assert schedule.start.tolist() == [0, 10, 10]


# rules: Rules by name.


def test_each_backfilling_has_its_rule() -> None:
    rules = [rules_of(name, "requested", 8) for name in BACKFILLING]
    assert [rule.backfill for rule in rules] == [NO_BACKFILL, ANY, EASY, EASY_SJBF, RESERVE, RESERVE, EASY]
    assert [rule.threshold for rule in rules[4:6]] == [1.0, 2.0]
    assert [rule.picking.by for rule in rules] == [NO_ONE] * 6 + [FIRST]
    assert rules_of("selective:threshold=3", "requested", 8).threshold == 3.0


@pytest.mark.parametrize("name", ["eazy", "easy:threshold=2", "selective:limit=2"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)expected"):
        rules_of(name, "requested", 8)


# running: Running jobs, twice sorted, and corrected estimates.


def test_the_heap_gives_ends_in_order() -> None:
    expected = np.random.default_rng(1).integers(0, 40, 60)
    ends, jobs = np.empty(60, dtype=np.int64), np.empty(60, dtype=np.int64)
    for size, end in enumerate(expected.tolist()):
        heap_push(ends, jobs, size, end, size)
    popped = []
    for size in range(60, 0, -1):
        popped.append(int(ends[0]))
        assert expected[jobs[0]] == ends[0]
        heap_pop(ends, jobs, size)
    assert popped == sorted(expected.tolist())


def test_estimated_ends_stay_sorted() -> None:
    est_end, est_job = np.empty(6, dtype=np.int64), np.empty(6, dtype=np.int64)
    for count, end in enumerate((5, 3, 5, 9, 5)):
        insert_running(est_end, est_job, count, end, count)
    assert (est_end[:5].tolist(), est_job[:5].tolist()) == ([3, 5, 5, 5, 9], [1, 0, 2, 4, 3])
    remove_running(est_end, est_job, 5, 5, 2)
    assert (est_end[:4].tolist(), est_job[:4].tolist()) == ([3, 5, 5, 9], [1, 0, 4, 3])


@pytest.mark.parametrize(
    ("correction", "now", "expected"),
    [
        ("requested", 100, 1000),
        ("increments", 100, 160),
        ("increments", 200, 460),
        ("doubling", 100, 200),
        ("doubling", 700, 800),
        ("doubling", 900, 1000),
    ],
)
def test_corrected_ends_of_a_job_of_100_s_with_a_limit_of_1000(correction: str, now: int, expected: int) -> None:
    assert corrected_end(0, 100, 1000, now, CORRECTION_IDS[correction]) == expected


def test_shadow_time_and_extra_processors() -> None:
    est_end, est_job, procs = np.array([10, 20, 20, 30]), np.arange(4), np.array([1, 1, 2, 4])
    assert reservation(1, 3, est_end, est_job, 4, procs) == (20, 2), "all that end at the shadow time count"
    assert reservation(0, 9, est_end, est_job, 4, procs) == (FOREVER, 0)


# starting: A pass: the front of the order starts, then what does not delay the blocked head.


@pytest.mark.parametrize(
    ("backfill", "expected"),
    [("none", [0, 100, 150, 150, 150]), ("easy", [0, 100, 2, 150, 150]), ("easy-sjbf", [0, 100, 150, 2, 22])],
)
@pytest.mark.parametrize("policy", ["FCFS", "formula:0 - submit"])
def test_backfilling_by_hand(policy: str, backfill: str, expected: list[int]) -> None:
    """One processor is free until the head can start at 100: easy takes the third job, easy-sjbf the shortest ones."""
    estimate = n([100, 50, 90, 20, 70])
    jobs = Jobs(n([0, 1, 2, 2, 2]), estimate, n([3, 4, 1, 1, 1]), estimate, estimate)
    schedule = replay(jobs, 4, policy, backfill)
    assert schedule.start.tolist() == expected
    assert schedule.backfilled.tolist() == [False, False, *(start < 100 for start in expected[2:])]


# static_queue: The queue of the fast engine: a list while it is short, a tree while it is long, and back.


@numba.njit
def _join(tasks, queues, episode, job):
    join_queue(tasks, queues, episode, job)


@numba.njit
def _leave(queues, episode, job):
    leave_queues(queues, episode, job)


def test_the_head_is_the_first_rank_that_waits_in_list_and_tree() -> None:
    jobs = busy_jobs(SHORT + 20)
    tasks = tasks_of(jobs, Cluster(PROCS))
    order = queue_by(jobs.estimate, tasks.procs, tasks.estimate, 0)
    queues, episode = Queues(order, order, False), new_static_episode(tasks, PROCS)
    episode.counters[HEAD] = len(jobs)
    waiting: set[int] = set()
    moves = [(job, True) for job in range(len(jobs))] + [(job, False) for job in range(len(jobs) - 1)]
    depths = set()
    for job, joins in moves:
        if joins:
            _join(tasks, queues, episode, job)
            waiting.add(job)
        else:
            _leave(queues, episode, job)
            waiting.remove(job)
        assert episode.counters[at.QUEUED] == len(waiting)
        assert episode.counters[HEAD] == min(order.rank[waiting_job] for waiting_job in waiting)
        depths.add((bool(episode.counters[DEEP]), joins))
        assert not (episode.counters[DEEP] and len(waiting) <= BACK)
    assert depths == {(False, True), (True, True), (True, False), (False, False)}
