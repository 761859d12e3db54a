"""A sum of regression trees as plain arrays: what scikit-learn's boosting has learned, without its classes.

The file of a predictor then holds numbers only, and reading it executes nothing. Predictions equal scikit-learn's bit for bit,
because the same values are added in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.compiled import compiled
from models.runtime.predictor import FloatArray

LEAF = -1
"""The feature of a node that is a leaf."""


@dataclass(frozen=True)
class TreeArrays:
    """Trees one after another; node numbers count from the first node of all trees.

    base: what is predicted before the first tree. first: node at which each tree begins, and the number of all nodes, int64
    (trees + 1,). feature: column that a node compares, LEAF for a leaf, int64 (nodes,). threshold: values up to it go left,
    float64 (nodes,). unknown_left: whether an unknown value goes left, int64 (nodes,). left, right: next node, 0 in a leaf,
    int64 (nodes,). value: what a leaf adds, float64 (nodes,).
    """

    base: float
    first: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: FloatArray
    unknown_left: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: FloatArray

    def predict(self, matrix: NDArray[np.float32]) -> FloatArray:
        """The sum over all trees, float64 (rows,). matrix: (rows, features), NaN where unknown."""
        total = np.full(len(matrix), self.base)
        nodes = (self.feature, self.threshold, self.unknown_left, self.left, self.right, self.value)
        _add_trees(np.ascontiguousarray(matrix), self.first, nodes, total)
        return total

    def state(self) -> dict[str, Any]:
        """As JSON takes it: a threshold without a limit is None."""
        threshold = [value if np.isfinite(value) else None for value in self.threshold.tolist()]
        lists = {
            name: getattr(self, name).tolist()
            for name in ("first", "feature", "unknown_left", "left", "right", "value")
        }
        return {"base": self.base, "threshold": threshold, **lists}


def trees_of_state(state: dict[str, Any], features: int) -> TreeArrays:
    """The inverse of `TreeArrays.state`. Raises ValueError or TypeError where the arrays are not trees over that many features."""
    whole = {
        name: np.array(state[name], dtype=np.int64) for name in ("first", "feature", "unknown_left", "left", "right")
    }
    threshold = np.array([np.inf if value is None else value for value in state["threshold"]], dtype=np.float64)
    trees = TreeArrays(
        float(state["base"]), threshold=threshold, value=np.array(state["value"], dtype=np.float64), **whole
    )
    _check(trees, features)
    return trees


def trees_of_sklearn(baseline: Any, predictors: Any) -> TreeArrays:
    """From what a fitted HistGradientBoostingRegressor holds: its `_baseline_prediction` and `_predictors`.

    Raises ValueError for trees with categories or with several outputs, which no predictor of ours learns.
    """
    if np.size(baseline) != 1 or any(len(round_) != 1 for round_ in predictors):
        raise ValueError("its trees have several outputs")
    nodes = [round_[0].nodes for round_ in predictors]
    if any(part["is_categorical"].any() for part in nodes):
        raise ValueError("its trees know categories")
    first = np.concatenate(([0], np.cumsum([len(part) for part in nodes]))).astype(np.int64)
    joined = np.concatenate(nodes)
    offset = np.repeat(first[:-1], np.diff(first))
    leaf = joined["is_leaf"].astype(bool)
    return TreeArrays(
        base=float(np.ravel(baseline)[0]),
        first=first,
        feature=np.where(leaf, LEAF, joined["feature_idx"]).astype(np.int64),
        threshold=np.where(leaf, 0.0, joined["num_threshold"]),
        unknown_left=np.where(leaf, 0, joined["missing_go_to_left"]).astype(np.int64),
        left=np.where(leaf, 0, joined["left"] + offset).astype(np.int64),
        right=np.where(leaf, 0, joined["right"] + offset).astype(np.int64),
        value=np.where(leaf, joined["value"], 0.0),
    )


def _check(trees: TreeArrays, features: int) -> None:
    """Children lie behind their node and in its own tree, so that every walk ends in a leaf."""
    nodes, first = len(trees.feature), trees.first
    arrays = (trees.feature, trees.threshold, trees.unknown_left, trees.left, trees.right, trees.value)
    if any(array.shape != (nodes,) for array in arrays) or first.ndim != 1 or not len(first):
        raise ValueError("the arrays of its trees do not fit together")
    if first[0] != 0 or first[-1] != nodes or (np.diff(first) < 1).any():
        raise ValueError("its trees do not begin where they say")
    number, end = np.arange(nodes), np.repeat(first[1:], np.diff(first))
    leaf = trees.feature == LEAF
    inside = np.ones(nodes, dtype=bool)
    for child in (trees.left, trees.right):
        inside &= (child > number) & (child < end)
    if not (leaf | (inside & (trees.feature >= 0) & (trees.feature < features))).all():
        raise ValueError("the nodes of its trees do not fit together")
    if not (np.isfinite(trees.value).all() and np.isfinite(trees.base)):
        raise ValueError("its trees predict no numbers")


@compiled
def _add_trees(matrix, first, nodes, total):
    """Adds every tree's leaf of each row to `total`, (rows,), tree by tree."""
    feature, threshold, unknown_left, left, right, value = nodes
    for row in range(len(matrix)):
        for tree in range(len(first) - 1):
            node = first[tree]
            while feature[node] >= 0:
                x = matrix[row, feature[node]]
                goes_left = unknown_left[node] == 1 if np.isnan(x) else x <= threshold[node]
                node = left[node] if goes_left else right[node]
            total[row] += value[node]
