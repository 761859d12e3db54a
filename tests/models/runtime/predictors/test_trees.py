"""Boosted trees: they learn, and the asymmetric loss overestimates."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.models.runtime.trials import Trial


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
