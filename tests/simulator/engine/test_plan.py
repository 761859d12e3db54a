"""The plan of reservations against a plain array of one number per second."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from simulator.engine.plan import begin_plan, change, earlier_start, earliest_start, fits_now, forget_past
from simulator.jobs.cluster import FOREVER

HORIZON = 60
"""Seconds that the plain array has; from there on its last number holds for ever."""
PROCS = 8
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
    plain, steps = Plain(now, PROCS), Steps(now, PROCS, 2 * CHANGES + 2)
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
            procs, length = int(rng.integers(1, PROCS + 2)), int(rng.integers(1, 30))
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
            procs, length = int(rng.integers(3, PROCS + 1)), int(rng.integers(1, 12))
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
    steps = Steps(3, PROCS, 6)
    for start, end in ((3, 4), (5, 9), (3, FOREVER), (10, FOREVER)):
        steps.change(start, end, -2)
        assert steps.count > 1 or (start == 3 and end == FOREVER)
        steps.change(start, end, 2)
        assert steps.plan[2] == 1 and steps.time[0] == 3 and steps.room[0] == PROCS


def test_jobs_end_to_end_need_no_step_between_them() -> None:
    steps = Steps(0, PROCS, 6)
    for start in (0, 10, 20):
        steps.change(start, start + 10, -5)
    assert (steps.time[: steps.count].tolist(), steps.room[: steps.count].tolist()) == ([0, 30], [3, 8])
