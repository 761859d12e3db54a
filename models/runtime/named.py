"""The predictors by name."""

from __future__ import annotations

from collections.abc import Callable

from models.runtime.predictor import Predictor
from models.runtime.predictors.columns import ColumnPredictor, SimilarJobs
from models.runtime.predictors.online import OnlineRegression
from models.runtime.predictors.stack import Stack
from models.runtime.predictors.trees import SklearnTrees, UserBehaviour, XgboostAsymmetric, XgboostQuantiles

PREDICTORS: dict[str, Callable[[], Predictor]] = {
    "requested": lambda: ColumnPredictor("requested", "requested_walltime_s"),
    "last_two": lambda: ColumnPredictor("last_two", "last_two_runtime_s"),
    "user_mean": lambda: ColumnPredictor("user_mean", "user_mean_runtime_s"),
    "online_regression": lambda: OnlineRegression("online_regression", asymmetric=True),
    "online_squared": lambda: OnlineRegression("online_squared", asymmetric=False),
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
