"""Tests of models/remaining: evaluation, multimodal, score_tables, predictors."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from models.remaining.evaluation import (
    REMAINING_PREDICTORS,
    REMAINING_RIVALS,
    EndsNow,
    HeldOutTrial,
    MedianWhole,
    OtherVersion,
    SameShare,
    finished,
    remaining_from_bytes,
    remaining_to_bytes,
    try_out,
)
from models.remaining.multimodal import CHANNELS, SERIES, _series
from models.remaining.predictors import ProgressTrees, RemainingPredictor, held_out_groups
from models.remaining.runs import Runs
from models.remaining.score_tables import (
    QUANTILES,
    remaining_time_rows,
    rows_before_the_start,
    systems_of,
    transfer_scores,
    trial_rows,
    trial_scores,
    used_seconds,
)
from models.remaining.snapshots import MEDIAN_LEVEL, PROGRESS_SHARES, REMAINING_LEVELS, Moments, at_shares, snapshots_at
from tests.models.remaining.synthetic import relaxation, runs_in
from traces.vasp.synthetic import write_run

# evaluation: How predictors of remaining time are judged, on systems that they have not seen.


def test_steps_tell_more_than_parameters(many: Runs) -> None:
    """On systems that were not learned from; and more the longer a run goes on."""
    inputs, progress = (try_out(many, name, folds=2, seed=1) for name in ("inputs_only", "progress"))
    error = progress.errors(many).mean(axis=0)
    assert error[4] < 0.5 * inputs.errors_before(many).mean()
    assert error[9] < error[4] < error[0]
    assert 0.6 < progress.covered(many).mean() < 0.95
    assert (np.abs(progress.used_s[:, -1] - many.total_s[progress.which]) < 0.3 * many.total_s[progress.which]).all()
    middle = progress.used_s + progress.quantiles[:, :, MEDIAN_LEVEL]
    np.testing.assert_allclose(
        progress.errors(many), np.abs(middle / many.total_s[progress.which][:, None] - 1), atol=1e-12
    )


def test_runs_of_systems_that_were_learned_from(many: Runs) -> None:
    """Systems in pairs: a run is judged where its mate is in another part, and by a fit without itself."""
    paired = replace(many, group=many.group // 2)
    trial = try_out(paired, "constant_median", folds=2, seed=1, split="seen")
    assert 0 < len(trial.which) < len(finished(paired)) and (np.diff(trial.which) > 0).all() and trial.seen.all()
    assert (np.bincount(paired.group[trial.which]) != 1).all()
    unseen = try_out(paired, "constant_median", folds=2, seed=1)
    assert (unseen.which == finished(paired)).all() and not unseen.seen.any()
    alone = replace(many, group=np.arange(len(many)))
    assert len(try_out(alone, "constant_median", folds=2, seed=1, split="seen").which) == 0


def test_a_run_that_ends_now_has_nothing_left(many: Runs) -> None:
    rival = EndsNow()
    rival.fit(many, finished(many), 1)
    assert (rival.predict(many, Moments(np.array([0, 1]), np.array([0.0, 9.0]))) == 0).all()


def test_the_median_whole_run_time_less_what_was_used(many: Runs) -> None:
    which, rival = finished(many)[:21], MedianWhole()
    rival.fit(many, which, 1)
    middle = np.median(many.total_s[which])
    quantiles = rival.predict(many, Moments(np.array([0, 0, 0]), np.array([0.0, 0.5 * middle, 9 * middle])))
    np.testing.assert_allclose(quantiles[:, MEDIAN_LEVEL], [middle, 0.5 * middle, 0.0])
    assert (np.diff(quantiles, axis=1) >= 0).all()


def test_no_factor_of_the_time_used_has_a_smaller_mean_error(many: Runs) -> None:
    which, rival = finished(many), SameShare()
    rival.fit(many, which, 1)
    moments = at_shares(many, which, PROGRESS_SHARES)
    total = many.total_s[moments.run]

    def error(whole_s: np.ndarray) -> float:
        return float(np.abs(whole_s / total - 1).mean())

    left = rival.predict(many, moments)[:, MEDIAN_LEVEL]
    least = min(error(factor * moments.used_s) for factor in np.linspace(1, 5, 801))
    assert error(moments.used_s + left) <= least + 1e-9
    assert (left > 0).any() and set(REMAINING_RIVALS) == {"ends_now", "constant_median", "constant_share"}


# model_file: Files of predictors of remaining time: the same bytes, the same predictions, and no other version.


@pytest.mark.parametrize("name", REMAINING_PREDICTORS)
def test_a_file_predicts_what_its_predictor_did(name: str, many: Runs, fitted: dict[str, RemainingPredictor]) -> None:
    moments = at_shares(many, finished(many)[:10], np.array([0.1, 0.6]))
    content = remaining_to_bytes(fitted[name])
    again = remaining_from_bytes(content)
    assert again.name == name and remaining_to_bytes(again) == content
    assert (again.predict(many, moments) == fitted[name].predict(many, moments)).all()


def test_another_version_is_refused(fitted: dict[str, RemainingPredictor]) -> None:
    document = json.loads(remaining_to_bytes(fitted["inputs_only"]))
    with pytest.raises(OtherVersion, match="its version is 7, not 1"):
        remaining_from_bytes(json.dumps(document | {"version": 7}).encode())


# multimodal: The recurrent network beside the parameters: what it reads of the steps.


def test_a_series_holds_the_last_steps_last(tmp_path: Path) -> None:
    write_run(tmp_path / "a", relaxation())
    runs = runs_in(tmp_path)
    moments = Moments(np.array([0]), runs.step_end_s[[2]])
    seen = snapshots_at(runs, moments)
    (series,) = _series(runs, moments, seen)
    assert series.shape == (SERIES, CHANNELS) and seen.seen[0] == 3
    assert (series[:-3] == 0).all() and (series[-3:, -1] == 1).all()
    expected = np.log(runs.step_s[:3] / runs.step_s[:3].mean())
    np.testing.assert_allclose(series[-3:, 0], expected, rtol=1e-5)


def test_predictions_differ_from_those_of_the_parameters_alone(
    many: Runs, fitted: dict[str, RemainingPredictor]
) -> None:
    moments = at_shares(many, finished(many), np.array([0.5]))
    said = fitted["multimodal"].predict(many, moments)
    assert (said != fitted["inputs_only"].predict(many, moments)).any(axis=1).all()


# open_runs: Runs without an end: how long they have run, and when they are expected to end.

BEGIN = datetime(2026, 1, 1)


def open_runs(seconds: list[float | None], loops: list[float], last: list[bool]) -> pl.DataFrame:
    """Runs that changed so many seconds after they began; None: nobody knows when they began."""
    return pl.DataFrame({
        "at_time": [BEGIN + timedelta(seconds=value or 0) for value in seconds],
        "started_at": [None if value is None else BEGIN for value in seconds],
        "loops_s": loops,
        "is_last": last,
    }, schema_overrides={"started_at": pl.Datetime("us")})  # fmt: skip


def test_the_clock_counts_where_it_can_be_believed() -> None:
    """Clock; steps where they took longer; an earlier launch; clocks a hundred days apart or backwards; no clock."""
    rows = open_runs(
        [500, 500, 500, 100 * 86_400, -50, None],
        [400.0, 600.0, 30.0, 40.0, 50.0, 60.0],
        [True, True, False, True, True, True],
    )
    assert rows.select(used_seconds()).to_series().to_list() == [500, 600, 30, 40, 50, 60]


def test_rows_of_remaining_times(many: Runs, fitted: dict[str, RemainingPredictor]) -> None:
    which = np.flatnonzero(np.isnan(many.total_s))
    assert len(which)
    times = open_runs([500.0] * len(many), [100.0] * len(many), [True] * len(many))
    rows = remaining_time_rows(times.with_columns(folder=pl.lit("a")), many, fitted["progress"])
    assert rows.columns == ["at_time", "folder", "used_s", "predictor", *QUANTILES, "expected_end"]
    assert set(rows["used_s"]) == {500.0} and set(rows["predictor"]) == {"progress"}
    late = (rows["expected_end"] - rows["at_time"]).dt.total_milliseconds() / 1000
    np.testing.assert_allclose(late.to_numpy(), rows["remaining_p50_s"].to_numpy(), atol=0.002)


# predictors: Predictors of remaining time: what they learn, keep, and say before the first step.


def test_no_system_is_in_two_parts() -> None:
    group = np.random.default_rng(1).integers(20, size=300)
    masks = held_out_groups(group, 1, 5)
    assert (np.sum(masks, axis=0) == 1).all()
    for mask in masks:
        assert not set(group[mask]) & set(group[~mask])
        assert 40 <= mask.sum() <= 80


@pytest.mark.parametrize("name", REMAINING_PREDICTORS)
def test_a_predictor_learns_and_can_be_kept(name: str, many: Runs, fitted: dict[str, RemainingPredictor]) -> None:
    predictor = fitted[name]
    moments = at_shares(many, finished(many), np.array([0.3, 0.7]))
    quantiles = predictor.predict(many, moments)
    assert quantiles.shape == (len(moments), len(REMAINING_LEVELS))
    assert (quantiles >= 0).all() and (np.diff(quantiles, axis=1) >= 0).all()
    again = REMAINING_PREDICTORS[name]()
    again.restore(predictor.state())
    np.testing.assert_allclose(again.predict(many, moments), quantiles, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in REMAINING_PREDICTORS if name != "progress"])
def test_the_same_runs_and_seed_teach_the_same(name: str, many: Runs, fitted: dict[str, RemainingPredictor]) -> None:
    """Progress learns as inputs_only does."""
    moments = at_shares(many, finished(many), np.array([0.3, 0.7]))
    twin = REMAINING_PREDICTORS[name]()
    twin.fit(many, finished(many), seed=1)
    assert (twin.predict(many, moments) == fitted[name].predict(many, moments)).all()


def test_before_the_first_step_the_parameters_speak(many: Runs, fitted: dict[str, RemainingPredictor]) -> None:
    start = Moments(finished(many)[:5], np.zeros(5))
    said = fitted["inputs_only"].predict(many, start)
    assert (fitted["progress"].predict(many, start) == said).all()
    assert (fitted["multimodal"].predict(many, start) == said).all()


def test_too_few_runs_or_systems(many: Runs, tmp_path: Path) -> None:
    which = finished(many)
    with pytest.raises(ValueError, match="at least 20 finished VASP runs, found 5"):
        ProgressTrees().fit(many, which[:5], 1)
    run = relaxation()
    for k in range(24):
        write_run(tmp_path / str(k), run)
    same = runs_in(tmp_path)
    with pytest.raises(ValueError, match="at least 4 systems"):
        ProgressTrees().fit(same, finished(same), 1)
    with pytest.raises(ValueError, match=r"at least 5 systems .*, found 1"):
        try_out(same, "progress", 5, 1)


# score_tables: Trials as tables: rows by run and share, scores by hand.


@pytest.fixture(scope="module")
def trial(many: Runs) -> HeldOutTrial:
    """Of the first five runs; every whole time is predicted twice too long, and by the parameters alone exactly."""
    which = finished(many)[:5]
    total = many.total_s[which]
    used = total[:, None] * PROGRESS_SHARES
    quantiles = np.repeat((2 * total[:, None] - used)[:, :, None], 5, axis=2)
    return HeldOutTrial("made up", which, used, quantiles, total, np.zeros(5, dtype=bool))


def test_rows_and_scores_by_hand(many: Runs, trial: HeldOutTrial) -> None:
    rows = trial_rows(trial, many, seed=3)
    assert rows.height == 50 and rows["progress"][:10].to_list() == PROGRESS_SHARES.tolist()
    np.testing.assert_allclose(rows["used_s"] + rows["remaining_s"], np.repeat(many.total_s[trial.which], 10))
    before = rows_before_the_start(rows, trial, many)
    assert before is not None and before.height == 5 and set(before["error"]) == {0.0}
    scores = trial_scores([rows, before]).filter(pl.col("ionic") == "all")
    assert scores["progress"].to_list() == [0.0, *PROGRESS_SHARES.tolist()]
    np.testing.assert_allclose(scores["mape"].to_numpy(), [0.0] + [100.0] * 10)
    assert scores["coverage"].to_list() == [None] + [0.0] * 10
    assert set(scores["runs"]) == {5} and set(scores["seeds"]) == {1}
    assert set(scores["systems"]) == {len(np.unique(many.group[trial.which]))}


def test_predictors_without_a_word_before_the_start(many: Runs, trial: HeldOutTrial) -> None:
    silent = HeldOutTrial(trial.name, trial.which, trial.used_s, trial.quantiles, np.full(5, np.nan), trial.seen)
    assert rows_before_the_start(trial_rows(silent, many, 1), silent, many) is None


def test_scores_by_kind_of_system(many: Runs) -> None:
    """Systems in pairs: of the last twelve runs, those whose mates were learned from count as seen."""
    paired = replace(many, group=many.group // 2)
    which = finished(paired)
    learned, judged = which[:-12], which[-12:]
    fits: list[None] = []
    scores = transfer_scores(paired, learned, judged, ["inputs_only"], 1, lambda: fits.append(None))
    assert len(fits) == 4
    seen = np.isin(paired.group[judged], paired.group[learned])
    assert 0 < seen.sum() < len(judged)
    runs = {(row["split"], row["runs"]) for row in scores.filter(ionic="all").to_dicts()}
    assert runs == {("all", 12), ("seen", int(seen.sum())), ("unseen", int((~seen).sum()))}
    whole = scores.filter((pl.col("split") == "all") & (pl.col("ionic") == "all") & (pl.col("predictor") == "ends_now"))
    assert whole["progress"].to_list()[:-1] == pytest.approx([k / 10 for k in range(1, 11)])
    assert whole["progress"][-1] is None
    assert whole["mean_error"][-1] == pytest.approx(whole["mean_error"][:-1].mean())
    assert whole["mean_error"][:-1].to_list() == sorted(whole["mean_error"][:-1], reverse=True)
    assert systems_of(paired, judged) == len(np.unique(paired.group[judged]))


def test_too_few_runs_on_either_side(many: Runs) -> None:
    which = finished(many)
    with pytest.raises(ValueError, match="judged on at least 10 finished VASP runs, found 3"):
        transfer_scores(many, which[:-3], which[-3:], [], 1, lambda: None)
    with pytest.raises(ValueError, match="learned from at least 20 finished VASP runs, found 5"):
        transfer_scores(many, which[:5], which[5:], [], 1, lambda: None)
