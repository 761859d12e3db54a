"""The file of a run-time predictor: one JSON document of names and numbers. Reading it executes no code.

It is `{"predictor": its name, "levels": LEVELS, "state": ...}`, where the state is what `Predictor.state` returns. xgboost's trees are
xgboost's own JSON, those of scikit-learn are plain arrays. Older versions of tracehouse kept the latter as a pickle. `without_pickle`
converts such a file.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from models.runtime.named import make_predictor
from models.runtime.pickled_trees import trees_of_pickle
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
        if _pickled_model(document) is not None:
            raise ValueError(
                "it holds a pickle, which is not loaded: train it again with `tracehouse run NAME --job train`"
            )
        predictor = make_predictor(document["predictor"])
        predictor.restore(document["state"])
    except Exception as error:  # a damaged document or a damaged booster raises anything
        raise ValueError(f"not a run-time predictor of this tracehouse ({error})") from None
    return predictor


def holds_pickle(content: bytes) -> bool:
    """Whether this is the file of an older tracehouse with pickled trees in it."""
    try:
        return _pickled_model(json.loads(content)) is not None
    except (ValueError, TypeError):
        return False


def without_pickle(content: bytes) -> bytes:
    """The same predictor as a file of today. It has exactly the bytes that training today would give.

    content: an older file whose hash is in the warehouse. Use it for no other. Raises ValueError where the pickle is not that
    of a predictor of ours, with the command that trains it again.
    """
    document = json.loads(content)
    model = _pickled_model(document)
    if model is None:
        return content
    try:
        document["state"]["model"] = trees_of_pickle(base64.b64decode(model, validate=True)).state()
        converted = json.dumps(document).encode()
        predictor_from_bytes(converted)
    except (ValueError, binascii.Error) as error:
        raise ValueError(
            f"a model file of an older tracehouse that cannot be converted ({error}): train it again with `tracehouse run "
            "NAME --job train`"
        ) from None
    return converted


def _pickled_model(document: Any) -> str | None:
    """The pickle in a document, in base 64. None where there is none."""
    if not isinstance(document, dict) or document.get("predictor") != SklearnTrees.name:
        return None
    state = document.get("state")
    model = state.get("model") if isinstance(state, dict) else None
    return model if isinstance(model, str) else None
