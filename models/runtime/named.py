"""The predictors by name, and the file of one: a JSON document of names and numbers. Reading it executes no code.

The file is `{"predictor": its name, "levels": LEVELS, "state": ...}`, where the state is what `Predictor.state` returns. xgboost's trees
are xgboost's own JSON, those of scikit-learn are plain arrays. The first builds kept a pickle in their place. It is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from models.runtime.predictor import LEVELS, Predictor
from models.runtime.predictors.columns import ColumnPredictor, SimilarJobs
from models.runtime.predictors.stack import Stack
from models.runtime.predictors.trees import SklearnTrees, UserBehaviour, XgboostAsymmetric, XgboostQuantiles

PREDICTORS: dict[str, Callable[[], Predictor]] = {
    "requested": lambda: ColumnPredictor("requested", "requested_walltime_s"),
    "last_two": lambda: ColumnPredictor("last_two", "last_two_runtime_s"),
    "user_mean": lambda: ColumnPredictor("user_mean", "user_mean_runtime_s"),
    "similar_jobs": SimilarJobs,
    "user_behaviour": UserBehaviour,
    "sklearn": SklearnTrees,
    "xgboost": XgboostQuantiles,
    "xgboost_asymmetric": XgboostAsymmetric,
    "stack": Stack,
}
"""From what users know to what learns most."""

SERVING = "stack"
"""The predictor that serves where nothing else is configured."""


def make_predictor(name: str) -> Predictor:
    """A predictor that has learned nothing yet. Raises ValueError for a name that is none."""
    if name not in PREDICTORS:
        raise ValueError(f"unknown predictor {name!r}; expected one of {', '.join(PREDICTORS)}")
    return PREDICTORS[name]()


def predictor_to_bytes(predictor: Predictor) -> bytes:
    """The content of its file. The same predictor, fitted on the same rows, gives the same bytes."""
    return json.dumps({"predictor": predictor.name, "levels": LEVELS, "state": predictor.state()}).encode()


def predictor_from_bytes(content: bytes) -> Predictor:
    """The inverse of `predictor_to_bytes`. Raises ValueError for anything else, including an older file with a pickle."""
    try:
        document = json.loads(content)
        if tuple(document["levels"]) != LEVELS:
            raise ValueError("its quantiles have other levels")
        if document["predictor"] == SklearnTrees.name and isinstance(document["state"]["model"], str):
            raise ValueError(
                "it holds a pickle, which is not loaded: train it again with `tracehouse run NAME --job train`"
            )
        predictor = make_predictor(document["predictor"])
        predictor.restore(document["state"])
    except Exception as error:  # a damaged document or a damaged booster raises anything
        raise ValueError(f"not a run-time predictor of this tracehouse ({error})") from None
    return predictor
