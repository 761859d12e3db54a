"""Tests of models/runtime/predictors: columns, encoding, predictors, stack, trees."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from models.runtime.challenge import train_challenger
from models.runtime.named import make_predictor, predictor_from_bytes, predictor_to_bytes
from models.runtime.predictor import LEVELS, Prediction
from models.runtime.predictors.columns import ColumnPredictor
from models.runtime.predictors.encoding import MOST_WORDS, encoding_of
from models.runtime.predictors.stack import Stack, _greedy_shares
from models.runtime.predictors.trees import LEAF, TreeArrays, trees_of_sklearn, trees_of_state
from tests.models.runtime.rows import Trial, assert_same, every_predictor

# columns: Predictors that read their point from a column, by hand.


def test_a_column_by_hand(rows: pl.DataFrame) -> None:
    """Ratios of true to point are 0.5, 1, 1.5, 2 and 4: the last one because the point is capped at its request."""
    base = rows[:5].with_columns(
        pl.Series("last_two_runtime_s", [100.0, 100.0, 100.0, None, 900.0]),
        pl.Series("requested_walltime_s", [1000, None, 1000, 300, 50]),
        pl.Series("runtime_s", [50, 100, 150, 600, 200]),
    )
    predictor = ColumnPredictor("last_two", "last_two_runtime_s")
    predictor.fit(base)
    asked = base[:4].with_columns(
        pl.Series("last_two_runtime_s", [10.0, None, None, 80.0]),
        pl.Series("requested_walltime_s", [1000, None, 20, 40]),
    )
    found = predictor.predict(asked)
    assert found.point.tolist() == [10, 150, 20, 40]  # 150 s: the median of what it learned from
    assert found.quantiles[0, LEVELS.index(0.5)] == 15 and found.quantiles[0, LEVELS.index(0.25)] == 10
    assert found.quantiles[0, LEVELS.index(0.75)] == 20 and found.quantiles[1, LEVELS.index(0.75)] == 300


# encoding: Features as numbers.


def test_words_are_numbered_by_how_often_they_come(rows: pl.DataFrame) -> None:
    words = ["b", "b", "a", "c", "c", None, "c"]
    taught = rows[:7].with_columns(pl.Series("queue", words))
    encoding = encoding_of(taught)
    assert encoding.words == {"queue": ["c", "b", "a"]}
    matrix = encoding.matrix(rows[:4].with_columns(pl.Series("queue", ["a", "c", "new", None])))
    column = matrix[:, encoding.features.index("queue")]
    assert column[:2].tolist() == [2, 0] and np.isnan(column[2:]).all()
    many = pl.concat([rows] * 2)[:300].with_columns(pl.Series("queue", [f"q{k:03}" for k in range(300)]))
    assert len(encoding_of(many).words["queue"]) == MOST_WORDS
    procs = matrix[:, encoding.features.index("requested_procs")]
    np.testing.assert_allclose(procs, np.log1p(rows["requested_procs"].to_numpy()[:4]), rtol=1e-6)


# predictors: What every run-time predictor promises.


@every_predictor
def test_points_and_quantiles_are_sane(trials: dict[str, Trial], name: str) -> None:
    found, later = trials[name].found, trials[name].later
    assert found.point.shape == (later.height,) and found.quantiles.shape == (later.height, len(LEVELS))
    assert np.isfinite(found.point).all() and np.isfinite(found.quantiles).all()
    request = later["requested_walltime_s"].fill_null(10**12).to_numpy()
    assert later["requested_walltime_s"].null_count() > 0
    assert (found.point >= 1).all() and (found.point <= request).all()
    assert (np.diff(found.quantiles, axis=1) >= 0).all() and (found.quantiles >= 1).all()
    assert len(np.unique(found.point)) > 3


@every_predictor
def test_points_stay_within_one_second_and_the_request(trials: dict[str, Trial], name: str) -> None:
    """Of jobs that ask for next to nothing, with the features of jobs that ask for hours."""
    short = trials[name].later.with_columns(pl.lit(7).cast(pl.Int64).alias("requested_walltime_s"))
    similar = [column for column in short.columns if column.startswith("similar_p")]
    short = short.with_columns(pl.col(similar).clip(upper_bound=7))  # as the look-up would have told them
    found = trials[name].predictor.predict(short)
    assert (found.point >= 1).all() and (found.point <= 7).all()
    assert (np.diff(found.quantiles, axis=1) >= 0).all() and (found.quantiles >= 1).all()


@every_predictor
def test_predicting_changes_no_predictor(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]
    assert_same(trial.predictor.predict(trial.later), trial.found)
    assert predictor_to_bytes(trial.predictor) == trial.content


@every_predictor
def test_no_row_to_predict(trials: dict[str, Trial], name: str) -> None:
    found = trials[name].predictor.predict(trials[name].later[:0])
    assert found.point.shape == (0,) and found.quantiles.shape == (0, len(LEVELS))


@every_predictor
def test_no_row_to_learn_from(rows: pl.DataFrame, name: str) -> None:
    predictor = make_predictor(name)
    if name == "similar_jobs":  # it looks jobs up
        predictor.fit(rows[:0])
        assert len(predictor.predict(rows[:3])) == 3
        return
    with pytest.raises(ValueError, match="nothing to learn from"):
        predictor.fit(rows[:0])
    with pytest.raises(ValueError, match="nothing to learn from"):
        train_challenger(rows, name, datetime(2000, 1, 1))


@every_predictor
@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_rows_to_learn_from(rows: pl.DataFrame, name: str, count: int) -> None:
    predictor = make_predictor(name)
    predictor.fit(rows[:count])
    found = predictor.predict(rows[10:30])
    assert (found.point >= 1).all() and np.isfinite(found.quantiles).all()
    assert_same(predictor_from_bytes(predictor_to_bytes(predictor)).predict(rows[10:30]), found)


@every_predictor
def test_a_row_alone_is_predicted_as_among_others(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]
    for k in range(0, trial.later.height, 17):
        alone = trial.predictor.predict(trial.later[k : k + 1])
        assert_same(alone, Prediction(trial.found.point[k : k + 1], trial.found.quantiles[k : k + 1]))
    backwards = trial.predictor.predict(trial.later.reverse())
    assert_same(Prediction(backwards.point[::-1], backwards.quantiles[::-1]), trial.found)


@every_predictor
def test_it_reads_no_more_than_it_says(trials: dict[str, Trial], name: str) -> None:
    """Columns outside of `features` may be anything."""
    trial = trials[name]
    read = {*trial.predictor.features(), "submit_time", "requested_walltime_s"}
    nothing = [
        pl.lit(None, dtype=dtype).alias(column) for column, dtype in trial.later.schema.items() if column not in read
    ]
    assert len(nothing) > 5
    assert_same(trial.predictor.predict(trial.later.with_columns(nothing)), trial.found)


# stack: The stack of predictors: who is chosen, and what it predicts.


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


# tree_arrays: Trees as plain arrays against scikit-learn's own predictions, and arrays that are no trees.

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


# trees: Boosted trees: they learn, and the asymmetric loss overestimates.


def test_the_asymmetric_loss_overestimates(trials: dict[str, Trial]) -> None:
    """An underestimate costs three times an overestimate: three jobs in four should stay below their estimate."""
    true = trials["sklearn"].later["runtime_s"].to_numpy()
    under = {name: (true > trials[name].found.point).mean() for name in ("xgboost_asymmetric", "sklearn")}
    assert under["xgboost_asymmetric"] < under["sklearn"] - 0.05


@pytest.mark.parametrize(
    "name", ["sklearn", "xgboost", "xgboost_asymmetric", "user_behaviour", "stack", "last_two", "user_mean"]
)
def test_learning_pays(rows: pl.DataFrame, trials: dict[str, Trial], name: str) -> None:
    """Users of this log have habits: whoever learns beats their requests."""
    true = trials[name].later["runtime_s"].to_numpy()
    error = np.abs(trials[name].found.point - true).mean()
    assert error < np.abs(trials["requested"].found.point - true).mean()
