"""Predictors of remaining time: what they learn, keep, and say before the first step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.remaining.evaluation import REMAINING_PREDICTORS, finished, try_out
from models.remaining.predictors import ProgressTrees, RemainingPredictor, held_out_groups
from models.remaining.runs import Runs
from models.remaining.snapshots import REMAINING_LEVELS, Moments, at_shares
from tests.models.remaining.synthetic import relaxation, runs_in
from traces.vasp.synthetic import write_run


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
