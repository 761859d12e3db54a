"""Every predictor, fitted once on the rows of the random log: what the tests of predictors share."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from models.runtime.named import PREDICTORS, make_predictor, predictor_to_bytes
from models.runtime.predictor import Prediction

ONLINE = ("online_regression", "online_squared")
FITTED = 250

every_predictor = pytest.mark.parametrize("name", PREDICTORS)


class Trial:
    """A fitted predictor and what it says of later rows."""

    def __init__(self, name: str, rows: pl.DataFrame) -> None:
        self.fitted, self.later = rows[:FITTED], rows[FITTED:]
        self.predictor = make_predictor(name)
        self.predictor.fit(self.fitted)
        self.content = predictor_to_bytes(self.predictor)
        self.found = self.predictor.predict(self.later)


def assert_same(found: Prediction, expected: Prediction) -> None:
    np.testing.assert_array_equal(found.point, expected.point)
    np.testing.assert_array_equal(found.quantiles, expected.quantiles)
