"""What every run-time predictor promises."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from models.runtime.challenge import train_challenger
from models.runtime.model_file import predictor_from_bytes, predictor_to_bytes
from models.runtime.named import PREDICTORS, make_predictor
from models.runtime.predictor import LEVELS, Prediction, Predictor
from models.runtime.predictors.columns import ColumnPredictor
from models.runtime.predictors.encoding import MOST_WORDS, encoding_of
from models.runtime.predictors.stack import Stack, _greedy_shares

ONLINE = ("online_regression", "online_squared")
FITTED = 250


class Trial:
    """A fitted predictor and what it says of later rows."""

    def __init__(self, name: str, rows: pl.DataFrame) -> None:
        self.fitted, self.later = rows[:FITTED], rows[FITTED:]
        self.predictor = make_predictor(name)
        self.predictor.fit(self.fitted)
        self.content = predictor_to_bytes(self.predictor)
        self.found = self.predictor.predict(self.later)


@pytest.fixture(scope="module")
def trials(rows: pl.DataFrame) -> dict[str, Trial]:
    return {name: Trial(name, rows) for name in PREDICTORS}


every_predictor = pytest.mark.parametrize("name", PREDICTORS)


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
def test_a_file_predicts_what_its_predictor_did(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]
    again = predictor_from_bytes(trial.content)
    assert type(again) is type(trial.predictor) and again.name == name
    assert_same(again.predict(trial.later), trial.found)
    assert again.features() == trial.predictor.features()
    assert again.card() == trial.predictor.card()
    assert again.importance() == trial.predictor.importance()


@every_predictor
def test_predicting_changes_no_predictor(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]
    assert_same(trial.predictor.predict(trial.later), trial.found)
    assert predictor_to_bytes(trial.predictor) == trial.content


@every_predictor
def test_the_same_rows_give_the_same_bytes(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]
    again = make_predictor(name)
    again.fit(trial.later)  # something else first: a fit forgets it
    again.fit(trial.fitted)
    assert predictor_to_bytes(again) == trial.content
    other = make_predictor(name)
    other.fit(trial.fitted[:-40])
    assert (predictor_to_bytes(other) == trial.content) == (name == "similar_jobs")


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


@pytest.mark.parametrize("name", [name for name in PREDICTORS if name not in ONLINE])
def test_a_row_alone_is_predicted_as_among_others(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]  # online regressions learn from the rows between
    for k in range(0, trial.later.height, 17):
        alone = trial.predictor.predict(trial.later[k : k + 1])
        assert_same(alone, Prediction(trial.found.point[k : k + 1], trial.found.quantiles[k : k + 1]))
    backwards = trial.predictor.predict(trial.later.reverse())
    assert_same(Prediction(backwards.point[::-1], backwards.quantiles[::-1]), trial.found)


@every_predictor
def test_it_reads_no_more_than_it_says(trials: dict[str, Trial], name: str) -> None:
    """Columns outside of `features` may be anything; online regressions read outcomes, of rows that have ended."""
    trial = trials[name]
    read = {*trial.predictor.features(), "submit_time", "requested_walltime_s"}
    if name in ONLINE:
        read |= {"end_time", "runtime_s"}
    nothing = [
        pl.lit(None, dtype=dtype).alias(column) for column, dtype in trial.later.schema.items() if column not in read
    ]
    assert len(nothing) > 5
    assert_same(trial.predictor.predict(trial.later.with_columns(nothing)), trial.found)


@pytest.mark.parametrize(
    "name", ["sklearn", "xgboost", "xgboost_asymmetric", "user_behaviour", "stack", "last_two", "user_mean"]
)
def test_learning_pays(rows: pl.DataFrame, trials: dict[str, Trial], name: str) -> None:
    """Users of this log have habits: whoever learns beats their requests."""
    true = trials[name].later["runtime_s"].to_numpy()
    error = np.abs(trials[name].found.point - true).mean()
    assert error < np.abs(trials["requested"].found.point - true).mean()


# --------------------------------------------------------------------------------------------------- names and bytes


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'oracle'") as raised:
        make_predictor("oracle")
    assert all(name in str(raised.value) for name in PREDICTORS)


@every_predictor
def test_damaged_bytes_are_an_error(trials: dict[str, Trial], name: str) -> None:
    content = trials[name].content
    document = json.loads(content)
    damaged = [b"", b"\xff\xfe", content[: len(content) // 2], content[:-1], content[1:], b"[]", b"3", b"{}"]
    damaged += [json.dumps(document | change).encode() for change in (
        {"levels": [0.5]}, {"levels": None}, {"predictor": "oracle"}, {"predictor": None},
    )]  # fmt: skip
    if document["state"]:  # what is never read cannot be damaged
        damaged += [json.dumps(document | {"state": state}).encode() for state in (None, [1], {})]
    damaged += [json.dumps(document | {"state": state}).encode() for state in without_a_part(document["state"])]
    for content in damaged:
        with pytest.raises(ValueError, match="not a run-time predictor of this tracehouse"):
            predictor_from_bytes(content)


@pytest.mark.parametrize("name", ["sklearn", "xgboost"])
def test_a_damaged_model_is_an_error(trials: dict[str, Trial], name: str) -> None:
    document = json.loads(trials[name].content)
    model = document["state"]["model"]
    broken: list[Any] = [None, 1, "", "bm8=", {}]
    broken += (
        [model[: len(model) // 8 * 4], "AAAA" + model]
        if name == "sklearn"
        else [{"version": [1, 0, 0]}, {"learner": {}}]
    )
    for part in broken:
        damaged = document | {"state": document["state"] | {"model": part}}
        with pytest.raises(ValueError, match="not a run-time predictor of this tracehouse"):
            predictor_from_bytes(json.dumps(damaged).encode())


def without_a_part(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in state.items() if key != left_out} for left_out in state]


# ------------------------------------------------------------------------------------------------------ some by hand


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


def test_the_asymmetric_loss_overestimates(trials: dict[str, Trial]) -> None:
    """An underestimate costs three times an overestimate: three jobs in four should stay below their estimate."""
    true = trials["sklearn"].later["runtime_s"].to_numpy()
    under = {name: (true > trials[name].found.point).mean() for name in ("xgboost_asymmetric", "sklearn")}
    assert under["xgboost_asymmetric"] < under["sklearn"] - 0.05


def assert_same(found: Prediction, expected: Prediction) -> None:
    np.testing.assert_array_equal(found.point, expected.point)
    np.testing.assert_array_equal(found.quantiles, expected.quantiles)


def test_every_predictor_has_its_name() -> None:
    for name in PREDICTORS:
        predictor: Predictor = make_predictor(name)
        assert predictor.name == name
