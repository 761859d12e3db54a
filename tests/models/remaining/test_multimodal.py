"""The recurrent network beside the parameters: what it reads of the steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from models.remaining.evaluation import finished
from models.remaining.multimodal import CHANNELS, SERIES, _series
from models.remaining.predictors import RemainingPredictor
from models.remaining.runs import Runs
from models.remaining.snapshots import Moments, at_shares, snapshots_at
from tests.models.remaining.synthetic import relaxation, runs_in
from traces.vasp.synthetic import write_run


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
