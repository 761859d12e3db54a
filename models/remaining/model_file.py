"""The file of a predictor of remaining time: one JSON document of names and numbers. Reading it executes no code."""

from __future__ import annotations

import json

from models.remaining.evaluation import REMAINING_PREDICTORS
from models.remaining.predictors import StoredPredictor

FILE_VERSION = 1


class OtherVersion(ValueError):
    """The file is of another version of tracehouse."""


def remaining_to_bytes(predictor: StoredPredictor) -> bytes:
    """The content of its file. The same predictor, fitted on the same runs with the same seed, gives the same bytes."""
    content = {"version": FILE_VERSION, "predictor": predictor.name, "state": predictor.state()}
    return json.dumps(content).encode()


def remaining_from_bytes(content: bytes) -> StoredPredictor:
    """The inverse of `remaining_to_bytes`. Raises OtherVersion for a file of another one."""
    document = json.loads(content)
    if document["version"] != FILE_VERSION:
        raise OtherVersion(f"its version is {document['version']}, not {FILE_VERSION}")
    predictor = REMAINING_PREDICTORS[document["predictor"]]()
    predictor.restore(document["state"])
    return predictor
