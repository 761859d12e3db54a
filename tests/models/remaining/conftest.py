"""Runs and fitted predictors, made once."""

from __future__ import annotations

import pytest

from models.remaining.evaluation import REMAINING_PREDICTORS, finished
from models.remaining.predictors import RemainingPredictor
from models.remaining.runs import Runs
from tests.models.remaining.synthetic import runs_in
from traces.vasp.synthetic import SyntheticOptions, write_runs


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Do not change."""
    folder = tmp_path_factory.mktemp("runs")
    write_runs(folder, SyntheticOptions(runs=50, seed=3, single_share=0.6, unfinished=3))
    return runs_in(folder)


@pytest.fixture(scope="session")
def fitted(many: Runs) -> dict[str, RemainingPredictor]:
    """Every predictor, fitted on all finished runs of `many`. Do not change."""
    predictors = {name: make() for name, make in REMAINING_PREDICTORS.items()}
    for predictor in predictors.values():
        predictor.fit(many, finished(many), seed=1)
    return predictors
