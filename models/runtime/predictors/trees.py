"""Boosted trees: xgboost with quantiles or an asymmetric loss, scikit-learn, and the general predictor of RLSchert.

Targets are square roots of seconds. In seconds only a few long jobs would count. In logarithms, an hour in ten costs as little as
a second in ten. The scale does not change which quantile is right, but it changes what trees learn first.

A sum of regression trees as plain arrays: what scikit-learn's boosting has learned, without its classes.

The file of a predictor then holds numbers only, and reading it executes nothing. Predictions equal scikit-learn's bit for bit,
because the same values are added in the same order.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models import NothingToLearn
from models.compiled import compiled
from models.runtime.predictor import (
    LEVELS,
    MEDIAN,
    FloatArray,
    Prediction,
    Predictor,
    from_points,
    ratio_quantiles,
    recent,
    runtimes,
    within_request,
)
from models.runtime.predictors.columns import SimilarJobs
from models.runtime.predictors.encoding import Encoding, encoding_of

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


# --- trees


LEARN_ROWS = 15_000
SPREAD_SHARE = 0.2
"""Last part of the rows that a predictor of points does not learn from. It shows how run times spread around the points."""


class _Trees(Predictor):
    """seed, trees, depth, learning_rate: of the boosting. rows: the newest jobs it learns from."""

    kind = "all"

    def __init__(
        self, seed: int = 1, trees: int = 50, depth: int = 5, learning_rate: float = 0.15, rows: int = LEARN_ROWS
    ) -> None:
        self.options = {"seed": seed, "trees": trees, "depth": depth, "learning_rate": learning_rate, "rows": rows}
        self.most_rows = rows
        self.encoding: Encoding | None = None
        self.model: Any = None

    def fit(self, rows: pl.DataFrame) -> None:
        rows = recent(rows, self.most_rows)
        if rows.is_empty():
            raise NothingToLearn(f"predictor {self.name}: no job has ended yet, there is nothing to learn from")
        self.encoding = encoding_of(rows, self.kind)
        self._fit(self.encoding.matrix(rows), np.sqrt(runtimes(rows)), rows)

    @abstractmethod
    def _fit(self, matrix: NDArray[np.float32], target: FloatArray, rows: pl.DataFrame) -> None:
        """Learns `model` from features (rows, features) and targets (rows,)."""

    def predict(self, rows: pl.DataFrame) -> Prediction:
        assert self.encoding is not None
        if rows.is_empty():
            return Prediction(np.zeros(0), np.zeros((0, len(LEVELS))))
        return self._predict(self.encoding.matrix(rows), rows)

    @abstractmethod
    def _predict(self, matrix: NDArray[np.float32], rows: pl.DataFrame) -> Prediction:
        """Predictions from features (rows, features), of at least one row."""

    def features(self) -> tuple[str, ...]:
        assert self.encoding is not None
        return self.encoding.features

    def importance(self) -> dict[str, float]:
        if not hasattr(self.model, "get_score"):
            return {}
        names = self.features()
        return {
            names[int(key[1:])]: float(np.mean(value))
            for key, value in self.model.get_score(importance_type="gain").items()
        }

    def state(self) -> dict[str, Any]:
        assert self.encoding is not None
        return {
            "options": self.options,
            "words": self.encoding.words,
            "features": [self.encoding.logarithms, self.encoding.plain, self.encoding.names],
            "model": self._model_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.options = state["options"]
        logarithms, plain, names = map(tuple, state["features"])
        self.encoding = Encoding(logarithms, plain, names, state["words"])
        self.model = self._restored_model(state["model"])

    def _model_state(self) -> Any:
        return json.loads(self.model.save_raw("json").decode())

    def _restored_model(self, state: Any) -> Any:
        import xgboost

        booster = xgboost.Booster({"nthread": 1})
        booster.load_model(bytearray(json.dumps(state).encode()))
        return booster

    def card(self) -> dict[str, Any]:
        return dict(self.options)

    def _xgboost(
        self, matrix: NDArray[np.float32], target: FloatArray, start: FloatArray | None = None, **parameters: Any
    ) -> Any:
        import xgboost

        common = {
            "max_depth": self.options["depth"],
            "eta": self.options["learning_rate"],
            "subsample": 0.8,
            "colsample_bytree": 0.7,
            "min_child_weight": 5,
            "tree_method": "hist",
            "max_bin": 64,
            "nthread": 1,
            "seed": self.options["seed"],
        }
        if start is not None:
            common["base_score"] = 0.0  # so a prediction is the start plus the sum of the trees
        data = xgboost.QuantileDMatrix(matrix, target, base_margin=start, max_bin=64, nthread=1)
        return xgboost.train(common | parameters, data, int(self.options["trees"]))


class XgboostQuantiles(_Trees):
    """xgboost on the pinball loss, all quantiles at once. The point is the median."""

    name = "xgboost"

    def _fit(self, matrix: NDArray[np.float32], target: FloatArray, rows: pl.DataFrame) -> None:
        self.model = self._xgboost(
            matrix, target, self._start(rows), objective="reg:quantileerror", quantile_alpha=np.array(LEVELS)
        )

    def _predict(self, matrix: NDArray[np.float32], rows: pl.DataFrame) -> Prediction:
        root = self.model.inplace_predict(matrix).astype(np.float64).reshape(len(matrix), len(LEVELS))
        start = self._start(rows)
        quantiles = _seconds(root if start is None else root + start)
        quantiles = np.maximum(1.0, np.sort(quantiles, axis=1))  # quantiles that are learned separately may cross
        return Prediction(within_request(quantiles[:, MEDIAN], rows), quantiles)

    def _start(self, rows: pl.DataFrame) -> FloatArray | None:
        """What the first tree corrects, on the target's scale, (rows, levels). None is a constant."""
        return None


class XgboostAfterSimilar(XgboostQuantiles):
    """Quantiles by xgboost where the trees correct the quantiles of similar jobs, so that they need not learn these again."""

    name = "xgboost_after_similar"

    def _start(self, rows: pl.DataFrame) -> FloatArray | None:
        return np.sqrt(SimilarJobs().predict(rows).quantiles)


class _TreesOfPoints(_Trees):
    """Trees that return points alone. The spread around them is that of true run times around earlier points."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.ratios = np.ones(len(LEVELS))

    def _fit(self, matrix: NDArray[np.float32], target: FloatArray, rows: pl.DataFrame) -> None:
        held = max(1, int(len(target) * SPREAD_SHARE))
        if len(target) > held:  # the spread must come from jobs that the trees have not seen
            self.model = self._train(matrix[:-held], target[:-held])
        else:
            self.model = self._train(matrix, target)
        point = within_request(_seconds(self._points(matrix[-held:])), rows[-held:])
        self.ratios = ratio_quantiles(point, target[-held:] ** 2)

    def _predict(self, matrix: NDArray[np.float32], rows: pl.DataFrame) -> Prediction:
        return from_points(within_request(_seconds(self._points(matrix)), rows), self.ratios)

    @abstractmethod
    def _train(self, matrix: NDArray[np.float32], target: FloatArray) -> Any:
        """A model, from features (rows, features) and targets (rows,)."""

    def _points(self, matrix: NDArray[np.float32]) -> FloatArray:
        """What the model returns, on the target's scale, (rows,)."""
        return np.asarray(self.model.inplace_predict(matrix), dtype=np.float64)

    def state(self) -> dict[str, Any]:
        return super().state() | {"ratios": self.ratios.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.ratios = np.array(state["ratios"])


class XgboostAsymmetric(_TreesOfPoints):
    """xgboost on |error|, with underestimates costing `UNDER` times as much. A job that runs longer than its estimate
    upsets a schedule, one that ends early does not. That is the pinball loss at level UNDER / (1 + UNDER)."""

    name = "xgboost_asymmetric"
    UNDER = 3.0

    def _train(self, matrix: NDArray[np.float32], target: FloatArray) -> Any:
        level = self.UNDER / (1 + self.UNDER)
        return self._xgboost(matrix, target, objective="reg:quantileerror", quantile_alpha=level)


class UserBehaviour(_TreesOfPoints):
    """RLSchert's general predictor (section 4.5.4): user, group, queue, time, request and the user's completed jobs."""

    name = "user_behaviour"
    kind = "user behaviour"

    def _train(self, matrix: NDArray[np.float32], target: FloatArray) -> Any:
        return self._xgboost(matrix, target, objective="reg:absoluteerror")


class SklearnTrees(_TreesOfPoints):
    """scikit-learn's histogram gradient boosting on absolute error."""

    name = "sklearn"

    def _train(self, matrix: NDArray[np.float32], target: FloatArray) -> TreeArrays:
        from sklearn.ensemble import HistGradientBoostingRegressor

        model = HistGradientBoostingRegressor(
            loss="absolute_error",
            max_iter=int(self.options["trees"]),
            max_depth=int(self.options["depth"]),
            learning_rate=float(self.options["learning_rate"]),
            max_bins=63,
            early_stopping=False,
            random_state=int(self.options["seed"]),
        )
        unknown = np.isnan(matrix).all(axis=0)  # its binning fails on a column without any value
        model.fit(np.where(unknown, np.float32(0), matrix), target)
        return trees_of_sklearn(model._baseline_prediction, model._predictors)

    def _points(self, matrix: NDArray[np.float32]) -> FloatArray:
        return self.model.predict(matrix)

    def _model_state(self) -> Any:
        return self.model.state()

    def _restored_model(self, state: Any) -> TreeArrays:
        return trees_of_state(state, len(self.features()))


def _seconds(root: FloatArray) -> FloatArray:
    """From the targets' scale."""
    return np.maximum(root, 1.0) ** 2
