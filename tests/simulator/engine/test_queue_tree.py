"""The waiting queue, list and tree, against a plain set of jobs of which every question is answered by looking at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engine.queue_tree import (
    BACK,
    NOTHING,
    SHORT,
    Queue,
    enter_list,
    enter_tree,
    leave_list,
    leave_tree,
    list_to_tree,
    next_in_list,
    next_in_tree,
    order_of,
    queue_by,
    tree_to_list,
)
from simulator.jobs.jobs import column_of

SIZES = (1, 2, 7, 8, 9, 63, 64, 65, 511, 513, 1500)
WIDTHS = {
    "one": lambda rng, n: np.full(n, 5),
    "few": lambda rng, n: 2 ** rng.integers(0, 6, n),
    "many": lambda rng, n: rng.integers(1, 300, n),
    "all different": lambda rng, n: rng.permutation(n) + 1,
    "wide": lambda rng, n: rng.integers(1, 1 << 20, n),
}
ESTIMATES = {
    "short": lambda rng, n: rng.integers(1, 100, n),
    "long": lambda rng, n: rng.integers(1, 1 << 40, n),
    "at the limit": lambda rng, n: NOTHING + rng.integers(-3, 4, n),
    "mixed": lambda rng, n: np.where(rng.random(n) < 0.5, rng.integers(1, 9, n), NOTHING + rng.integers(-2, 3, n)),
}


class Plain:
    """The same queue as a list of flags by rank."""

    def __init__(self, queue: Queue) -> None:
        self.procs, self.estimate = queue.procs[queue.job_at], queue.estimate[queue.job_at]
        self.waiting = np.zeros(len(queue.job_at), dtype=bool)

    def first(self, rank: int, extra: int, free: int, slack: int) -> int:
        """The first rank from `rank` on that may start; the number of jobs when there is none."""
        narrow_enough = (self.procs <= extra) | ((self.procs <= free) & (self.estimate <= slack))
        found = np.flatnonzero((self.waiting & narrow_enough)[rank:])
        return rank + int(found[0]) if len(found) else len(self.waiting)


def some_queue(rng: np.random.Generator, size: int, widths: str, estimates: str, first: int) -> Queue:
    """A queue in random order, of jobs that are tasks `first` on."""
    procs = column_of(np.concatenate([np.full(first, 1), WIDTHS[widths](rng, size)]))
    estimate = column_of(np.concatenate([np.full(first, 1), ESTIMATES[estimates](rng, size)]))
    return queue_by(rng.integers(0, max(2, size // 3), size), procs, estimate, first)


def some_question(rng: np.random.Generator, plain: Plain) -> tuple[int, int, int, int]:
    """rank, extra, free and slack, near what the jobs have, so that answers are often just so."""
    rank = int(rng.integers(0, len(plain.procs) + 1))
    free = max(0, int(rng.choice(plain.procs)) + int(rng.integers(-1, 2)))
    extra = int(rng.choice([0, free, max(0, min(free, int(rng.choice(plain.procs)) - 1))]))
    slack = max(0, int(rng.choice(plain.estimate)) + int(rng.integers(-1, 2)))
    return rank, extra, free, slack


def assert_answers(queue: Queue, plain: Plain, rng: np.random.Generator) -> None:
    question = some_question(rng, plain)
    assert next_in_tree(queue, *question) == plain.first(*question), question
    assert next_in_tree(queue, 0, NOTHING, 0, 0) == plain.first(0, NOTHING, 0, 0)


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("estimates", ESTIMATES)
def test_the_tree_answers_as_a_plain_list_does(widths: str, estimates: str) -> None:
    for size in SIZES:
        rng = np.random.default_rng(size)
        first = int(rng.integers(0, 4))
        queue = some_queue(rng, size, widths, estimates, first)
        plain = Plain(queue)
        for step in range(160):
            # Waves, so that the tree is nearly empty and nearly full by turns.
            enters = rng.random() < (0.85 if step // 40 % 2 == 0 else 0.15)
            ranks = np.flatnonzero(plain.waiting != enters)
            for rank in (
                rng.choice(ranks, min(len(ranks), 1 + size // 40), replace=False).tolist() if len(ranks) else []
            ):
                (enter_tree if enters else leave_tree)(queue, queue.job_at[rank])
                plain.waiting[rank] = enters
            assert_answers(queue, plain, rng)
        assert (queue.leaf[: len(plain.waiting)] != 0).tolist() == plain.waiting.tolist()


@pytest.mark.parametrize("widths", WIDTHS)
def test_a_tree_that_is_left_by_all_is_as_new(widths: str) -> None:
    """Zero means that no job waits: a node that kept anything would promise a job for ever."""
    rng = np.random.default_rng(3)
    queue = some_queue(rng, 700, widths, "mixed", 2)
    for _ in range(3):
        for rank in rng.permutation(700).tolist():
            enter_tree(queue, queue.job_at[rank])
        for rank in rng.permutation(700).tolist():
            leave_tree(queue, queue.job_at[rank])
        assert not queue.leaf.any() and not queue.narrow.any() and not queue.short.any()


def test_the_tree_holds_all_jobs_at_once() -> None:
    rng = np.random.default_rng(4)
    queue = some_queue(rng, 1500, "many", "short", 0)
    plain = Plain(queue)
    for rank in range(1500):
        enter_tree(queue, queue.job_at[rank])
    plain.waiting[:] = True
    for _ in range(2000):
        assert_answers(queue, plain, rng)


@pytest.mark.parametrize("widths", WIDTHS)
def test_the_list_answers_as_a_plain_list_does(widths: str) -> None:
    rng = np.random.default_rng(5)
    size = 400
    queue = some_queue(rng, size, widths, "mixed", 0)
    plain = Plain(queue)
    count = 0
    for step in range(3000):
        enters = rng.random() < (0.8 if step // 300 % 2 == 0 else 0.2)
        if enters and count < SHORT:
            rank = int(rng.choice(np.flatnonzero(~plain.waiting)))
            enter_list(queue.rows, count, rank, plain.procs[rank], plain.estimate[rank])
            plain.waiting[rank] = True
            count += 1
        elif not enters and count > 0:
            rank = int(rng.choice(np.flatnonzero(plain.waiting)))
            leave_list(queue.rows, count, rank)
            plain.waiting[rank] = False
            count -= 1
        ranks = np.flatnonzero(plain.waiting)
        expected = np.stack([ranks, plain.procs[ranks], plain.estimate[ranks]], axis=1)
        assert np.array_equal(queue.rows[:count], expected)
        _, extra, free, slack = some_question(rng, plain)
        place = int(rng.integers(0, count + 1))
        answer = next_in_list(queue.rows, count, place, extra, free, slack)
        found = plain.first(int(ranks[place]) if place < count else size, extra, free, slack)
        assert answer == (np.searchsorted(ranks, found) if found < size else count)


@pytest.mark.parametrize("first", [0, 5])
def test_a_full_list_moves_into_the_tree_and_what_is_left_of_it_back(first: int) -> None:
    rng = np.random.default_rng(6)
    queue = some_queue(rng, 900, "many", "mixed", first)
    plain = Plain(queue)
    for _ in range(4):
        ranks = rng.choice(900, SHORT, replace=False)
        for count, rank in enumerate(ranks.tolist()):
            enter_list(queue.rows, count, rank, plain.procs[rank], plain.estimate[rank])
            plain.waiting[rank] = True
        list_to_tree(queue)
        for _ in range(50):
            assert_answers(queue, plain, rng)
        for rank in rng.choice(ranks, SHORT - BACK, replace=False).tolist():
            leave_tree(queue, queue.job_at[rank])
            plain.waiting[rank] = False
        tree_to_list(queue)
        left = np.flatnonzero(plain.waiting)
        expected = np.stack([left, plain.procs[left], plain.estimate[left]], axis=1)
        assert np.array_equal(queue.rows[:BACK], expected)
        assert not queue.leaf.any() and not queue.narrow.any() and not queue.short.any()
        plain.waiting[:] = False


EXTREMES = (0, 1, -1, 2**31, -(2**31), 2**53, -(2**53), 2**62, -(2**62), 2**63 - 1, -(2**63))


@settings(deadline=None, max_examples=200)
@given(scores=st.lists(st.one_of(st.sampled_from(EXTREMES), st.integers(-5, 5)), min_size=1, max_size=40))
def test_the_order_of_whole_numbers_is_a_stable_sort(scores: list[int]) -> None:
    expected = sorted(range(len(scores)), key=lambda job: (scores[job], job))
    assert order_of(np.array(scores, dtype=np.int64)).tolist() == expected


@settings(deadline=None, max_examples=200)
@given(scores=st.lists(st.floats(allow_nan=False), min_size=1, max_size=40))
def test_the_order_of_decimals_is_a_stable_sort(scores: list[float]) -> None:
    expected = sorted(range(len(scores)), key=lambda job: (scores[job], job))
    assert order_of(np.array(scores)).tolist() == expected


def test_ranks_and_jobs_are_each_others_inverse() -> None:
    rng = np.random.default_rng(7)
    queue = some_queue(rng, 300, "few", "short", 11)
    assert sorted(queue.job_at.tolist()) == list(range(11, 311))
    assert queue.rank[queue.job_at].tolist() == list(range(300))
