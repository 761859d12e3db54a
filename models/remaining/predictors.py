"""Predictors of remaining time by boosted trees: from the parameters alone, which is RLSchert's baseline, and from progress."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import NothingToLearn
from models.remaining.runs import FloatArray, IntArray, Runs
from models.remaining.snapshots import (
    MEDIAN_LEVEL,
    REMAINING_LEVELS,
    SNAPSHOT_FEATURES,
    Moments,
    Snapshots,
    drawn,
    snapshots_at,
)

TREE_SNAPSHOTS = 12
FOLDS = 4
"""Parts of the systems. Each is held out once to see how far the others' quantiles hold."""
LEAST_WEIGHT = 0.02
"""Least weight of a moment, so that every moment has some."""
FEWEST_RUNS = 20
"""With fewer finished runs nothing is learned, and an error says so."""


class RemainingPredictor(ABC):
    """Learns from finished runs. Predicts the remaining time of any run at any moment."""

    name: str

    def fit(self, runs: Runs, which: IntArray, seed: int) -> None:
        """Learns from the runs `which`, whose total_s is known. Raises NothingToLearn for too few of them."""
        if len(which) < FEWEST_RUNS:
            raise NothingToLearn(
                f"remaining times are learned from at least {FEWEST_RUNS} finished VASP runs, found {len(which)}: add more run "
                "folders"
            )
        if len(np.unique(runs.group[which])) < FOLDS:
            raise NothingToLearn(
                f"remaining times are learned from runs of at least {FOLDS} systems (elements, ions and electrons), found "
                f"{len(np.unique(runs.group[which]))}: add runs of other systems"
            )
        self._fit(runs, which, seed)

    @abstractmethod
    def _fit(self, runs: Runs, which: IntArray, seed: int) -> None: ...

    @abstractmethod
    def predict(self, runs: Runs, moments: Moments) -> FloatArray:
        """Quantiles of the remaining time, seconds, float64 (moments, len(REMAINING_LEVELS)), at least 0, no row descending."""


class StoredPredictor(RemainingPredictor):
    """One that can be kept as a file."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """What `fit` has learned, as values that JSON can hold."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """The inverse of `state`."""


class InputsOnly(StoredPredictor):
    """The whole run time from the parameters, before the run. The remaining time is what of it has not been used.

    It does not learn from the run itself. A run that takes longer than predicted has a remaining time of 0.
    """

    name = "inputs_only"

    def __init__(self) -> None:
        self._trees = CalibratedTrees(trees=400, rate=0.03)

    def _fit(self, runs: Runs, which: IntArray, seed: int) -> None:
        log_total = np.log(np.maximum(runs.total_s[which], 0.1))
        self._trees.fit(runs.inputs[which], log_total, runs.group[which], seed)

    def totals(self, runs: Runs, which: IntArray) -> FloatArray:
        """Quantiles of the whole run time, seconds, (runs, len(REMAINING_LEVELS))."""
        return np.exp(self._trees.predict(runs.inputs[which]))

    def predict(self, runs: Runs, moments: Moments) -> FloatArray:
        """See `RemainingPredictor.predict`."""
        return np.maximum(self.totals(runs, moments.run) - moments.used_s[:, None], 0.0)

    def state(self) -> dict[str, Any]:
        """See `StoredPredictor.state`."""
        return {"trees": self._trees.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """See `StoredPredictor.restore`."""
        self._trees.restore(state["trees"])


class ProgressTrees(StoredPredictor):
    """Boosted trees over the parameters and the steps seen. Before the first step, its prediction comes from the parameters alone.

    The trees learn the error of the extrapolated convergence (`guess` in snapshots.SNAPSHOT_FEATURES), on a logarithmic scale
    of steps of the run's own duration. On that scale small and large systems are alike, also those that were never seen. The error is
    relative to the whole run time, so a moment weighs as much as the share of the run that was over then.
    """

    name = "progress"

    def __init__(self) -> None:
        self._trees = CalibratedTrees(trees=150, rate=0.06)
        self._before = InputsOnly()

    def _fit(self, runs: Runs, which: IntArray, seed: int) -> None:
        self._before.fit(runs, which, seed)
        moments = drawn(runs, which, TREE_SNAPSHOTS, np.random.default_rng(seed))
        seen = snapshots_at(runs, moments)
        begun = seen.seen > 0
        missing = steps_left(runs, moments, seen) - guess_of(seen)
        weight = np.maximum(moments.used_s / runs.total_s[moments.run], LEAST_WEIGHT)[begun]
        matrix, group = _matrix(runs, moments, seen)[begun], runs.group[moments.run][begun]
        self._trees.fit(matrix, missing[begun], group, seed, weight / weight.mean())

    def predict(self, runs: Runs, moments: Moments) -> FloatArray:
        """See `RemainingPredictor.predict`."""
        seen = snapshots_at(runs, moments)
        quantiles = self._before.predict(runs, moments)
        begun = seen.seen > 0
        if begun.any():
            steps = self._trees.predict(_matrix(runs, moments, seen)[begun]) + guess_of(seen)[begun, None]
            quantiles[begun] = seconds_left(steps, seen.step_s[begun])
        return quantiles

    def state(self) -> dict[str, Any]:
        """See `StoredPredictor.state`."""
        return {"trees": self._trees.state(), "before": self._before.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """See `StoredPredictor.restore`."""
        self._trees.restore(state["trees"])
        self._before.restore(state["before"])


class CalibratedTrees:
    """Quantile regression trees whose levels hold for groups that were not learned from.

    Each level is shifted by what it misses on held-out groups (conformalised quantile regression, Romano et al. 2019, with
    groups held out), and the trees then learn from all. Where rows have weights, the trees learn with them, and so does the shift
    of the median. The other levels are shifted by what all rows miss without weights, because they should hold at any moment.
    """

    def __init__(self, trees: int, rate: float) -> None:
        self._trees, self._rate = trees, rate
        self._model: Any = None
        self._shift = np.zeros(len(REMAINING_LEVELS))

    def fit(
        self,
        matrix: NDArray[np.float32],
        target: FloatArray,
        group: IntArray,
        seed: int,
        weight: FloatArray | None = None,
    ) -> None:
        """matrix: (rows, features). target, group: (rows,). weight: (rows,), by default one for each row."""
        missed = np.empty((len(target), len(REMAINING_LEVELS)))
        for held in held_out_groups(group, seed):
            model = self._learn(matrix[~held], target[~held], seed, None if weight is None else weight[~held])
            missed[held] = target[held, None] - _sorted(model.predict(matrix[held]))
        self._shift = np.array([np.quantile(missed[:, k], level) for k, level in enumerate(REMAINING_LEVELS)])
        if weight is not None:
            self._shift[MEDIAN_LEVEL] = weighted_levels(missed[:, MEDIAN_LEVEL], weight)[MEDIAN_LEVEL]
        self._model = self._learn(matrix, target, seed, weight)

    def predict(self, matrix: NDArray[np.float32]) -> FloatArray:
        """Quantiles, (rows, len(REMAINING_LEVELS))."""
        return np.sort(_sorted(self._model.predict(matrix)) + self._shift, axis=1)

    def state(self) -> dict[str, Any]:
        """xgboost's own JSON and the shifts."""
        model = json.loads(self._model.get_booster().save_raw("json").decode())
        return {"model": model, "shift": self._shift.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """The inverse of `state`."""
        import xgboost

        self._model = xgboost.XGBRegressor(n_jobs=1)
        self._model.load_model(bytearray(json.dumps(state["model"]).encode()))
        self._shift = np.array(state["shift"])

    def _learn(self, matrix: NDArray[np.float32], target: FloatArray, seed: int, weight: FloatArray | None) -> Any:
        import xgboost

        model = xgboost.XGBRegressor(
            objective="reg:quantileerror",
            quantile_alpha=np.array(REMAINING_LEVELS),
            n_estimators=self._trees,
            max_depth=5,
            learning_rate=self._rate,
            subsample=0.8,
            colsample_bytree=0.6,
            min_child_weight=5,
            random_state=seed,
            n_jobs=1,
            tree_method="hist",
        )
        return model.fit(matrix, target, sample_weight=weight)


def held_out_groups(group: IntArray, seed: int, folds: int = FOLDS) -> list[NDArray[np.bool_]]:
    """Masks of `folds` parts of the rows, no group in two of them, about equally large."""
    names, rows = np.unique(group, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    # large groups first, each into the part that is smallest so far
    order = order[np.argsort(-rows[order], kind="stable")]
    part, size = np.empty(len(names), dtype=np.int64), np.zeros(folds, dtype=np.int64)
    for k in order:
        part[k] = int(size.argmin())
        size[part[k]] += rows[k]
    of_row = part[np.searchsorted(names, group)]
    return [of_row == fold for fold in range(folds)]


def weighted_levels(values: FloatArray, weight: FloatArray) -> FloatArray:
    """For each of REMAINING_LEVELS the least value up to which at least this share of the weight lies."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    places = np.searchsorted(share, np.array(REMAINING_LEVELS) - 1e-9)
    return values[order][np.minimum(places, len(values) - 1)]


def steps_left(runs: Runs, moments: Moments, seen: Snapshots) -> FloatArray:
    """Log of one plus the remaining time in mean steps, (moments,)."""
    left = np.maximum(runs.total_s[moments.run] - moments.used_s, 0.0)
    return np.log1p(left / seen.step_s)


def guess_of(seen: Snapshots) -> FloatArray:
    """Log of one plus the remaining time in mean steps, guessed from the convergence so far, (moments,)."""
    return seen.features[:, SNAPSHOT_FEATURES.index("guess")].astype(np.float64)


def seconds_left(steps: FloatArray, step_s: FloatArray) -> FloatArray:
    """The inverse of `steps_left`, (moments, len(REMAINING_LEVELS))."""
    return np.maximum(np.expm1(steps), 0.0) * step_s[:, None]


def _matrix(runs: Runs, moments: Moments, seen: Snapshots) -> NDArray[np.float32]:
    return np.column_stack([runs.inputs[moments.run], seen.features]).astype(np.float32)


def _sorted(quantiles: NDArray[np.float32]) -> FloatArray:
    return np.sort(np.asarray(quantiles, dtype=np.float64).reshape(-1, len(REMAINING_LEVELS)), axis=1)
