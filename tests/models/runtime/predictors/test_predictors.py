"""What every run-time predictor promises."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from models.runtime.challenge import train_challenger
from models.runtime.named import PREDICTORS, make_predictor, predictor_from_bytes, predictor_to_bytes
from models.runtime.predictor import LEVELS, Prediction
from tests.models.runtime.trials import ONLINE, Trial, assert_same, every_predictor


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
