"""Trees as plain arrays against scikit-learn's own predictions, and arrays that are no trees."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from models.runtime.predictors.tree_arrays import LEAF, TreeArrays, trees_of_sklearn, trees_of_state

FEATURES = 5


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, np.ndarray]:
    """A regressor of scikit-learn, and rows with unknown values to predict."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(900, FEATURES)).astype(np.float32)
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    target = np.nan_to_num(matrix[:, 0]) ** 2 + 3 * np.isnan(matrix[:, 1]) + rng.normal(size=900)
    model = HistGradientBoostingRegressor(loss="absolute_error", max_iter=30, max_bins=63, early_stopping=False)
    return model.fit(matrix[:500], target[:500]), matrix


def test_predictions_equal_those_of_sklearn_bit_for_bit(fitted: tuple[Any, np.ndarray]) -> None:
    model, matrix = fitted
    trees = trees_of_sklearn(model._baseline_prediction, model._predictors)
    assert (trees.predict(matrix) == model.predict(matrix)).all()
    assert not np.isfinite(trees.threshold).all(), "no split on what is unknown: the log is worth less than it was"
    kept = trees_of_state(json.loads(json.dumps(trees.state())), FEATURES)
    assert (kept.predict(matrix) == model.predict(matrix)).all()
    assert kept.state() == trees.state()


def test_two_trees_by_hand() -> None:
    """The first splits at 2, unknown values go right; the second is a leaf."""
    state = {
        "base": 10.0, "first": [0, 3, 4], "feature": [0, LEAF, LEAF, LEAF], "threshold": [2.0, 0.0, 0.0, 0.0],
        "unknown_left": [0, 0, 0, 0], "left": [1, 0, 0, 0], "right": [2, 0, 0, 0], "value": [0.0, 1.0, 2.0, 0.5],
    }  # fmt: skip
    trees = trees_of_state(state, 1)
    assert trees.predict(np.array([[1], [2], [3], [np.nan]], dtype=np.float32)).tolist() == [11.5, 11.5, 12.5, 12.5]
    assert trees.predict(np.zeros((0, 1), dtype=np.float32)).tolist() == []


@pytest.mark.parametrize(
    "harm",
    [
        {"first": [0, 3]}, {"first": [0, 0, 4]}, {"first": []}, {"feature": [1, -1, -1, -1]}, {"left": [0, 0, 0, 0]},
        {"right": [3, 0, 0, 0]}, {"right": [9, 0, 0, 0]}, {"value": [0.0, 1.0, 2.0]}, {"value": [0.0, 1.0, 2.0, None]},
        {"base": float("nan")}, {"threshold": "no numbers"}, {"feature": None},
    ],
)  # fmt: skip
def test_arrays_that_are_no_trees(harm: dict[str, Any]) -> None:
    """A walk must end and stay inside of the arrays, whatever a file says."""
    state = {
        "base": 10.0, "first": [0, 3, 4], "feature": [0, LEAF, LEAF, LEAF], "threshold": [2.0, 0.0, 0.0, 0.0],
        "unknown_left": [0, 0, 0, 0], "left": [1, 0, 0, 0], "right": [2, 0, 0, 0], "value": [0.0, 1.0, 2.0, 0.5],
    }  # fmt: skip
    with pytest.raises((ValueError, TypeError)):
        trees_of_state(state | harm, 1)


def test_trees_with_several_outputs_or_categories_are_refused(fitted: tuple[Any, np.ndarray]) -> None:
    model, _ = fitted
    with pytest.raises(ValueError, match="several outputs"):
        trees_of_sklearn(np.zeros(2), model._predictors)
    nodes = model._predictors[0][0].nodes.copy()
    nodes["is_categorical"][0] = 1

    class Tree:
        pass

    tree = Tree()
    tree.nodes = nodes  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="categories"):
        trees_of_sklearn(0.0, [[tree]])


def test_its_fields_are_arrays(fitted: tuple[Any, np.ndarray]) -> None:
    model, _ = fitted
    trees = trees_of_sklearn(model._baseline_prediction, model._predictors)
    assert isinstance(trees, TreeArrays)
    assert len(trees.first) == 31 and trees.first[-1] == len(trees.value)
