"""The file of a run-time predictor: one JSON document of names and numbers. Reading it executes no code.

It is `{"predictor": its name, "levels": LEVELS, "state": ...}`, where the state is what `Predictor.state` returns. xgboost's trees are
xgboost's own JSON, those of scikit-learn are plain arrays. The first builds kept a pickle in their place. It is refused.
"""

from __future__ import annotations

import json

from models.runtime.named import make_predictor
from models.runtime.predictor import LEVELS, Predictor
from models.runtime.predictors.trees import SklearnTrees


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
