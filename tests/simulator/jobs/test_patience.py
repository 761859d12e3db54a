"""Tests of simulator/jobs: patience."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from simulator.jobs.jobs import NEVER
from simulator.jobs.patience import LEAST_CANCELLATIONS, SeenWaits, luck_of, patience_of, survival_of


def share_after(second: int, wait: list[int], gave_up: list[bool]) -> Fraction:
    """The product of Kaplan and Meier, as their paper writes it: over the seconds at which some give up, the share of those who still wait
    just before and do not."""
    share = Fraction(1)
    for at in sorted({w for w, gone in zip(wait, gave_up, strict=True) if gone and w <= second}):
        at_risk = sum(w >= at for w in wait)
        leave = sum(w == at and gone for w, gone in zip(wait, gave_up, strict=True))
        share *= Fraction(at_risk - leave, at_risk)
    return share


@pytest.mark.parametrize("seed", range(40))
def test_survival_is_that_of_the_paper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 60))
    wait, gave_up = rng.integers(0, rng.choice([5, 50, 5000]), count), rng.random(count) < rng.choice([0.1, 0.5, 1.0])
    survival = survival_of(wait, gave_up)
    assert survival.second.tolist() == sorted(set(wait[gave_up].tolist()))
    asked = np.concatenate([[0], wait, wait + 1, wait // 2])
    expected = [float(share_after(int(second), wait.tolist(), gave_up.tolist())) for second in asked]
    assert survival.after(asked) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_a_draw_is_the_inverse_of_the_survival_beyond_the_wait(seed: int) -> None:
    """Of many equal jobs, the share whose patience is longer than t is S(t) / S(w)."""
    rng = np.random.default_rng(seed)
    wait, gave_up = rng.integers(0, 100, 50), rng.random(50) < 0.5
    survival = survival_of(wait, gave_up)
    waited, luck = int(rng.integers(0, 60)), (np.arange(20_000) + 0.5) / 20_000
    patience = survival.drawn(np.full(len(luck), waited), luck)
    assert patience.min() > waited and set(patience.tolist()) <= {NEVER, *wait[gave_up].tolist()}
    beyond = np.arange(waited, 101)
    shares = [(patience > second).mean() for second in beyond]
    assert shares == pytest.approx(survival.after(beyond) / survival.after(np.array([waited])), abs=1e-4)


def test_beyond_the_longest_wait_nobody_gives_up() -> None:
    survival = survival_of(np.array([5, 7, 9]), np.array([True, True, False]))
    assert survival.share == pytest.approx([2 / 3, 1 / 3])
    assert survival.drawn(np.array([7, 8, 0, 0, 0]), np.array([0.5, 0.9, 0.9, 0.5, 0.2])).tolist() == [
        NEVER,
        NEVER,
        5,
        7,
        NEVER,
    ]
    all_gone = survival_of(np.array([5, 7]), np.array([True, True]))
    assert all_gone.drawn(np.array([7, 100, 6]), np.array([0.5, 0.5, 0.5])).tolist() == [NEVER, NEVER, 7]


def test_users_and_sizes_with_few_cancellations_are_taken_together() -> None:
    """User 0 cancels small jobs after 10 s and user 1 after 100 s, often enough. Wide jobs are cancelled after 1000 s, by both."""
    enough = LEAST_CANCELLATIONS
    user = np.repeat([0, 1, 0, 1, 2], [enough, enough, enough // 2, enough // 2, 3])
    size = np.repeat([0, 0, 3, 3, 1], [enough, enough, enough // 2, enough // 2, 3])
    wait = np.repeat([10, 100, 1000, 1000, 50], [enough, enough, enough // 2, enough // 2, 3])
    seen = SeenWaits(user, size, wait, np.ones(len(user), dtype=np.bool_))
    asked = SeenWaits(
        np.array([0, 1, 0, 1, 5]), np.array([0, 0, 3, 3, 3]), np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.bool_)
    )
    drawn = patience_of(seen, asked.user, asked.size, asked.wait, np.full(5, 0.5))
    assert drawn.tolist() == [10, 100, 1000, 1000, 1000]
    others = patience_of(seen, np.array([7, 2]), np.array([0, 1]), np.array([0, 0]), np.array([0.9, 0.01]))
    assert others.tolist() == [10, 1000], "of small jobs of all users, and of all jobs"


def test_where_nobody_gave_up_nobody_does() -> None:
    none = SeenWaits(*np.zeros((3, 4), dtype=np.int64), np.zeros(4, dtype=np.bool_))
    assert patience_of(none, none.user, none.size, none.wait, luck_of(np.arange(4))).tolist() == [NEVER] * 4
    empty = SeenWaits(*np.zeros((3, 0), dtype=np.int64), np.zeros(0, dtype=np.bool_))
    assert patience_of(empty, none.user, none.size, none.wait, luck_of(np.arange(4))).tolist() == [NEVER] * 4


def test_luck_is_uniform_and_the_same_for_a_job_whatever_the_others() -> None:
    luck = luck_of(np.arange(100_000))
    assert luck.min() > 0 and luck.max() < 1 and len(np.unique(luck)) == len(luck)
    assert np.histogram(luck, bins=20)[0] == pytest.approx(np.full(20, 5000), rel=0.06)
    assert np.corrcoef(luck[1:], luck[:-1])[0, 1] == pytest.approx(0, abs=0.01)
    assert luck_of(np.array([77, 5])).tolist() == [luck[77], luck[5]]
