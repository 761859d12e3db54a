"""The file of a run-time model as older versions of tracehouse wrote it: scikit-learn's model in a pickle."""

from __future__ import annotations

import base64
import json
import pickle
from typing import Any

import polars as pl
import pytest

from models.runtime.model_file import predictor_to_bytes
from models.runtime.named import make_predictor
from models.runtime.predictor import Predictor


def older_sklearn_file(rows: pl.DataFrame) -> tuple[bytes, Predictor]:
    """(the file, the predictor of today) of the predictor sklearn, fitted on rows."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    models: list[Any] = []
    fit = HistGradientBoostingRegressor.fit

    def fit_and_keep(model: Any, *arguments: Any) -> Any:
        models.append(model)
        return fit(model, *arguments)

    predictor = make_predictor("sklearn")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HistGradientBoostingRegressor, "fit", fit_and_keep)
        predictor.fit(rows)
    return with_pickle(predictor, models[-1]), predictor


def with_pickle(predictor: Predictor, model: Any) -> bytes:
    """The file of a predictor with any object pickled in the place of its trees."""
    document = json.loads(predictor_to_bytes(predictor))
    document["state"]["model"] = base64.b64encode(pickle.dumps(model, protocol=5)).decode()
    return json.dumps(document).encode()
