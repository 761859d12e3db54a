"""The oracle of docs/reference/rlschert.md against examples that were worked by hand from that page, and against what must hold.

Examples are written as tests/papers/rlschert/examples.py says. Kills are in test_rlschert_oracle_kills.py.
"""

from __future__ import annotations

import copy
import random

import pytest

from tests.papers.rlschert.examples import A, B, C, D, E, after, cluster
from tests.simulator.oracle_rlschert import (
    LONGEST,
    OracleCluster,
    pick_random,
    pick_saf,
    pick_sjf,
    pick_tetris,
    pick_tetris_star,
    run,
    run_whole_queue,
)

PICKS = (pick_sjf, pick_saf, pick_tetris, pick_tetris_star)


# Places


def test_jobs_fill_the_slots_in_order_and_then_the_backlog():
    c = cluster(*[(j, 50, 1, 50) for j in range(5)], slots=2)
    assert (c.now, c.visible, c.backlog) == (0, [A, None], [])
    after(c, 3)
    assert (c.now, c.visible, c.backlog) == (3, [A, B], [C, D])
    c.select(0)
    assert (c.now, c.visible, c.backlog, c.running) == (3, [C, B], [D], [A])
    c.select(1)
    assert (c.visible, c.backlog, c.running) == ([C, D], [], [A, B])
    c.select(0)  # nothing is left behind the slots, and the other job does not move up
    assert (c.visible, c.running, c.start) == ([None, D], [A, B, C], {A: 3, B: 3, C: 3})
    c.wait()
    assert (c.visible, c.backlog) == ([E, D], [])


def test_a_job_arrives_in_the_lowest_of_several_empty_slots():
    c = after(cluster((0, 9, 1, 9), (1, 9, 1, 9), (2, 9, 1, 9), (3, 9, 1, 9), slots=3), 2)
    c.select(1)
    c.select(0)
    assert (c.visible, c.running) == ([None, None, C], [B, A])
    assert after(c, 1).visible == [D, None, C]


def test_nothing_has_arrived_before_the_first_arrival():
    c = after(cluster((2, 1, 1, 1)), 1)
    assert (c.visible, c.rewards) == ([None] * 5, [0])
    assert after(c, 1).visible[0] == A and not c.over


def test_an_empty_slot_or_place_is_none():
    c = cluster((0, 9, 1, 9))
    c.select(3)
    assert (c.now, len(c.rewards)) == (1, 1)
    c.kill(0)  # nothing runs
    assert (c.now, len(c.rewards)) == (2, 2)
    c.select(0)
    c.kill(1)  # one job runs
    assert (c.now, c.running, c.rewards) == (3, [A], [-1 / 9] * 3)


# The plan


def test_ready_jobs_take_the_earliest_place_gaps_included():
    c = after(cluster((0, 2, 4, 2), (1, 3, 2, 3), (2, 2, 4, 2), (3, 4, 2, 4), (4, 3, 2, 3)), 4)
    free = [
        [0, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4],  # A runs
        [0, 0, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4],  # B when A ends
        [0, 0, 2, 2, 2, 0, 0, 4, 4, 4, 4, 4],  # C needs all
        [0, 0, 2, 2, 2, 0, 0, 2, 2, 2, 2, 4],  # D is too long for the gap before C
        [0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 4],  # E is not
    ]
    for j in range(5):
        c.select(j)
        assert c.free == free[j]
    assert (c.running, c.ready, c.planned_start) == ([A], [B, C, D, E], {B: 2, C: 5, D: 7, E: 2})
    after(c, 2)
    assert (c.now, c.finish, c.running, c.ready) == (6, {A: 6}, [B, E], [C, D])
    assert (c.start, c.planned_start) == ({A: 4, B: 6, E: 6}, {C: 3, D: 5})
    after(c, 9)
    assert c.over and c.finish == {A: 6, B: 9, E: 9, C: 11, D: 15}


def test_a_later_job_starts_now_only_where_it_moves_nothing():
    c = after(cluster((0, 3, 2, 3), (1, 2, 4, 2), (2, 4, 2, 4), (3, 3, 2, 3)), 3)
    for j in range(4):
        c.select(j)
    assert (c.running, c.ready, c.planned_start) == ([A, D], [B, C], {B: 3, C: 5})
    assert c.free == [0, 0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4]


def test_ready_jobs_stand_and_start_in_the_order_of_their_selection():
    c = after(cluster((0, 3, 4, 3), (1, 2, 1, 2), (2, 2, 1, 2)), 2)
    for slot in (0, 2, 1):
        c.select(slot)
    assert (c.ready, c.planned_start) == ([C, B], {C: 3, B: 3})
    assert after(c, 3).running == [C, B]


def test_a_job_that_ends_early_frees_its_processors_at_once():
    c = cluster((0, 2, 4, 5), (1, 1, 4, 1), with_remaining=False)
    c.select(0)
    after(c, 1).select(0)
    assert (c.estimate, c.planned_start) == ([5, 1], {B: 4})  # an estimate that is too long stays
    after(c, 1)
    assert (c.finish, c.running, c.start, c.planned_start) == ({A: 2}, [B], {A: 0, B: 2}, {})
    assert c.free == [0] + [4] * 11


@pytest.mark.parametrize(
    ("with_remaining", "estimates", "starts"),
    [(False, [2, 3, 4, 5], [1, 1, 1, 1]), (True, [8, 4, 9, 5], [7, 2, 6, 1])],
)
def test_a_job_that_outlives_its_estimate(with_remaining, estimates, starts):
    c = cluster((0, 5, 4, 2, {0: 9, 1: 7, 2: 2, 3: 6, 4: 1}), (1, 1, 4, 1, {0: 7}), with_remaining=with_remaining)
    c.select(0)
    assert (c.estimate, c.free[1:3]) == ([2, 1], [0, 4])  # it has just started: not 0 + remaining[0]
    after(c, 1).select(0)
    for estimate, start in zip(estimates, starts, strict=True):
        assert (c.estimate, c.planned_start) == ([estimate, 1], {B: start})
        after(c, 1)
    assert (c.finish, c.running) == ({A: 5}, [B])


def test_a_ready_job_without_a_place_inside_the_horizon_takes_nothing():
    c = after(cluster((0, 4, 4, 4), (1, 3, 1, 3), (2, 2, 1, 2), horizon=6), 2)
    for j in range(3):
        c.select(j)
    assert (c.ready, c.planned_start, c.free) == ([B, C], {C: 4}, [0, 0, 0, 0, 3, 3])
    after(c, 1)  # now there is a place for it, and it is the first to be given one
    assert (c.ready, c.planned_start, c.free) == ([B, C], {B: 3, C: 3}, [0, 0, 0, 2, 2, 3])


def test_estimates_count_up_to_the_horizon():
    c = after(cluster((0, 1, 3, 1), (1, 50, 2, 50), (2, 70, 2, 70), (3, 1, 1, 1), horizon=6), 3)
    c.select(0)
    c.select(1)  # needs its processors from now to the horizon
    assert (c.running, c.ready, c.planned_start, c.free) == ([A], [B], {}, [1, 4, 4, 4, 4, 4])
    after(c, 1)
    assert (c.running, c.ready, c.free) == ([B], [], [2] * 6)
    c.select(2)
    c.select(3)
    assert (c.running, c.ready, c.planned_start, c.free) == ([B, C], [D], {}, [0] * 6)
    after(c, 45)  # B has run 45 of 50, C 45 of 70
    assert (c.planned_start, c.free) == ({D: 5}, [0, 0, 0, 0, 0, 1])


# Rewards and measures


@pytest.mark.parametrize(
    ("options", "rewards"),
    [
        ({"with_remaining": False}, [-1 / 2, -1 / 2 - 1 / 4, -1 / 3 - 1 / 4, -1 / 4]),
        ({"with_remaining": True}, [-1 / 2, -1 / 5 - 1 / 4, -1 / 3 - 1 / 4, -1 / 4]),
        ({"true_lengths": True}, [-1 / 3, -1 / 3 - 1, -1 / 3 - 1, -1]),
        ({"reward": "completion"}, [-1, -2, -2, -1]),
        ({"reward": "completion", "true_lengths": True}, [-1, -2, -2, -1]),
    ],
)
def test_rewards_and_measures(options, rewards):
    c = cluster((0, 3, 4, 2, {1: 4, 2: 1}), (1, 1, 4, 4, {0: 9}), **options)
    c.select(0)
    after(c, 1).select(0)
    after(c, 3)
    assert c.over and c.finish == {A: 3, B: 4}
    assert c.rewards == pytest.approx(rewards, abs=1e-12)
    assert (c.slowdown(), c.completion(), c.holes()) == ((3 / 3 + 3 / 1) / 2, (3 + 3) / 2, 0)


def test_holes_are_counted_from_the_first_arrival_and_killed_runs_are_none():
    c = after(cluster((2, 2, 3, 2), (6, 1, 1, 1)), 2)
    c.select(0)
    after(c, 4).select(0)
    assert after(c, 1).over and c.holes() == 2 * 1 + 2 * 4 + 1 * 3
    c = cluster((0, 2, 4, 2))
    c.select(0)
    after(c, 1).kill(0)
    c.select(0)
    assert after(c, 2).over and (c.holes(), c.slowdown(), c.completion()) == (0, 1.5, 3)


# Anything


def random_cluster(seed):
    rng = random.Random(seed)
    arrive = [t for t in range(80) if rng.random() < 0.4]
    n = len(arrive)
    length = [rng.randint(1, rng.choice([5, 30])) for _ in range(n)]
    procs = [rng.randint(1, 10) for _ in range(n)]
    first = [rng.randint(1, rng.choice([5, 30])) for _ in range(n)]
    remaining = [[max(1, round((x - t) * rng.uniform(0.5, 2))) for t in range(LONGEST)] for x in length]
    options = {name: rng.random() < 0.5 for name in ("with_remaining", "kill_by_rule", "true_lengths")}
    options |= {"cluster_procs": rng.randint(10, 20), "horizon": rng.choice([20, 120])}
    options |= {"stop_within": rng.choice([0, 5]), "preemption_cost": rng.choice([0, 0, 3])}
    options["reward"] = rng.choice(["slowdown", "completion"])
    return rng, OracleCluster(arrive, length, procs, first, remaining, **options)


def check_moment(c):
    seen = [*(j for j in c.visible if j is not None), *c.backlog, *c.ready, *c.running, *c.finish]
    assert sorted(seen) == [j for j, job in enumerate(c.jobs) if job.arrive <= c.now]  # each in one place
    assert not c.backlog or None not in c.visible
    assert sum(c.jobs[j].procs for j in c.running) == c.cluster_procs - c.free[0] <= c.cluster_procs
    assert min(c.free) >= 0
    assert set(c.planned_start) <= set(c.ready) and set(c.start) == {*c.running, *c.finish}
    replanned = copy.deepcopy(c)
    replanned._plan_again()  # a job that is selected is where planning from the beginning would have put it
    assert (replanned.free, replanned.planned_start, replanned.running) == (c.free, c.planned_start, c.running)


@pytest.mark.parametrize("seed", range(40))
def test_what_holds_for_any_sequence(seed):
    rng, c = random_cluster(seed)
    while not c.over:
        action = rng.random()
        if action < 0.4:
            c.select(rng.randrange(5))
        elif action < 0.45:
            c.kill(rng.randrange(8))
        else:
            c.wait()
        check_moment(c)
    assert len(c.rewards) == c.now == max(c.finish.values())
    assert all(
        c.finish[j] == c.start[j] + job.restart + job.length and c.start[j] >= job.arrive
        for j, job in enumerate(c.jobs)
    )
    if c.reward == "completion":
        assert sum(c.rewards) == -round(c.completion() * len(c.jobs))
    elif c.true_lengths:
        assert sum(c.rewards) == pytest.approx(-c.slowdown() * len(c.jobs))


# Heuristics


def test_heuristics_differ_where_they_should():
    jobs = [(0, 9, 2, 9), (1, 2, 2, 2), (2, 8, 6, 8), (3, 3, 1, 3), (4, 3, 5, 3), (5, 1, 9, 1)]
    c = cluster(*jobs, cluster_procs=10)
    c.select(0)
    after(c, 5)  # 8 are free; the job in slot 4 wants 9
    assert [pick(c) for pick in PICKS] == [0, 2, 1, 3]
    assert (pick_tetris_star(c, knob=0), pick_tetris_star(c, knob=1)) == (0, 1)
    assert {pick_random(c, random.Random(seed)) for seed in range(50)} == {0, 1, 2, 3}


def test_heuristics_leave_what_would_wait_and_take_the_lowest_slot_of_equals():
    c = after(cluster((0, 3, 2, 3), (1, 2, 4, 2), (2, 4, 2, 4), (3, 3, 1, 3), (4, 3, 1, 3)), 4)
    c.select(0)
    c.select(1)
    assert [pick(c) for pick in PICKS] == [3] * 4  # C would fit now, but not until B is to start
    for _ in range(2):
        c.select(pick_tetris(c))
    assert pick_sjf(c) is None and pick_random(c, random.Random(0)) is None
    for jobs in ([(0, 4, 1, 4), (1, 20, 5, 20)], [(0, 20, 5, 20), (1, 4, 1, 4)]):  # 1/20 + 1/4 = 5/20 + 1/20
        assert pick_tetris_star(after(cluster(*jobs, cluster_procs=20, horizon=120), 1)) == 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pick", [lambda c: pick_random(c, random.Random(c.now)), *PICKS])
def test_a_heuristic_runs_a_sequence_to_its_end_and_nothing_ever_waits_in_the_plan(pick, seed):
    def picker(c):
        assert not c.ready
        return pick(c)

    c = run(random_cluster(seed)[1], picker)
    assert c.over and sorted(c.finish) == list(range(len(c.jobs)))


def test_who_sees_the_whole_queue_takes_from_the_backlog():
    c = cluster((0, 9, 4, 9), (1, 8, 1, 8), (2, 7, 2, 7), (3, 2, 4, 2), (4, 3, 2, 3), slots=1)
    c.select(0)
    after(c, 4)
    assert (c.visible, c.backlog) == ([B], [C, D, E])
    c.select_from_backlog(D)
    assert (c.visible, c.backlog, c.planned_start) == ([B], [C, E], {D: 5})
    c = run_whole_queue(
        cluster((0, 5, 4, 5), (1, 8, 1, 8), (2, 7, 2, 7), (3, 3, 2, 3), slots=1), lambda procs, estimate: estimate
    )
    assert c.start == {A: 0, D: 5, C: 5, B: 8}
    c = run_whole_queue(
        cluster((0, 5, 4, 5), (1, 8, 1, 8), (2, 7, 4, 7), (3, 9, 1, 9), slots=1), lambda procs, estimate: procs
    )
    assert c.start == {A: 0, B: 5, D: 5, C: 14}
