"""The stack of predictors: who is chosen, and what it predicts."""

from __future__ import annotations

import numpy as np
import pytest

from models.runtime.named import predictor_from_bytes
from models.runtime.predictors.stack import Stack, _greedy_shares
from tests.models.runtime.trials import Trial


def test_a_stack_takes_what_is_best_together() -> None:
    """One member is 10 s above, one 10 s below, one far off: half of each of the first two is perfect."""
    true = np.array([100.0, 200.0, 300.0])
    shares = _greedy_shares([true + 10, true + 500, true - 10], true)
    assert shares.tolist() == [0.5, 0, 0.5]
    assert _greedy_shares([true + 10, true, true - 10], true).tolist() == [0, 1, 0]


def test_a_stack_is_the_mean_of_its_members(trials: dict[str, Trial]) -> None:
    stack, later = trials["stack"].predictor, trials["stack"].later
    assert isinstance(stack, Stack)
    assert stack.shares.sum() == pytest.approx(1) and (stack.shares >= 0).all()
    stack = predictor_from_bytes(trials["stack"].content)
    assert isinstance(stack, Stack)
    stack.shares = np.array([0.25, 0.0, 0.75])
    parts = [stack.members[k].predict(later) for k in (0, 2)]
    found = stack.predict(later)
    np.testing.assert_allclose(found.point, 0.25 * parts[0].point + 0.75 * parts[1].point)
    np.testing.assert_allclose(found.quantiles, 0.25 * parts[0].quantiles + 0.75 * parts[1].quantiles)
