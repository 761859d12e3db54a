"""Scores of changing priorities by hand; the lowest goes first."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.formula.machine import NUM_SLOTS, STACK_SIZE
from simulator.policies import scoring
from simulator.policies.observation import no_weights
from simulator.policies.scoring import LAST, Scoring, Scratch, fill_scores
from tests.simulator.policies.moments import moment


def scores(kind: int, parameters: tuple[float, ...] = (0.0,)) -> list[float]:
    """What a policy of this kind gives the three waiting jobs."""
    policy = Scoring(
        kind, np.zeros(1), np.array(parameters), 50.0, 2, False, np.zeros((0, 2), dtype=np.int64), np.zeros(0),
        no_weights(), np.zeros((5, 0), dtype=np.float32), 0, False,
    )  # fmt: skip
    empty = np.zeros((0, 0), dtype=np.float32)
    scratch = Scratch(np.zeros(NUM_SLOTS), np.zeros(STACK_SIZE), empty, empty[:, 0:0].ravel(), np.zeros(2))
    score = np.empty(3)
    assert fill_scores(moment(), policy, scratch, score) == (-1, -1)
    return score.tolist()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (scoring.SEXP, [80 / 20, 20 / 10, 1.0]),
        (scoring.LEXP, [-80 / 20, -20 / 10, -1.0]),
        (scoring.WFP3, [-(3.0**3), -4.0, 0.0]),
        (scoring.TETRIS, [-(1 / 8) * (2 / 8), 1.0, 1.0]),
        (scoring.TETRIS_STAR, [0.0, LAST, LAST]),
        (scoring.FAIRSHARE, [3.0, 9.0, 9.0]),
    ],
)
def test_scores_by_hand(kind: int, expected: list[float]) -> None:
    assert scores(kind) == pytest.approx(expected)


def test_unicep_takes_a_serial_job_first() -> None:
    serial, wide, widest = scores(scoring.UNICEP)
    assert serial < wide < widest == 0.0
    assert wide == pytest.approx(-10 / (2 * 10))


def test_multifactor_adds_its_weighted_factors() -> None:
    age, fair, size = 60 / 600, 2.0 ** -(3 / 12 * 2), 1 / 8
    assert scores(scoring.MULTIFACTOR, (10.0, 600.0, 100.0, 1000.0))[0] == pytest.approx(
        -(10 * age + 100 * fair + 1000 * size)
    )
