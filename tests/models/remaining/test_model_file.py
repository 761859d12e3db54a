"""Files of predictors of remaining time: the same bytes, the same predictions, and no other version."""

from __future__ import annotations

import json

import numpy as np
import pytest

from models.remaining.evaluation import REMAINING_PREDICTORS, finished
from models.remaining.model_file import OtherVersion, remaining_from_bytes, remaining_to_bytes
from models.remaining.predictors import RemainingPredictor
from models.remaining.runs import Runs
from models.remaining.snapshots import at_shares


@pytest.mark.parametrize("name", REMAINING_PREDICTORS)
def test_a_file_predicts_what_its_predictor_did(name: str, many: Runs, fitted: dict[str, RemainingPredictor]) -> None:
    moments = at_shares(many, finished(many)[:10], np.array([0.1, 0.6]))
    content = remaining_to_bytes(fitted[name])
    again = remaining_from_bytes(content)
    assert again.name == name and remaining_to_bytes(again) == content
    assert (again.predict(many, moments) == fitted[name].predict(many, moments)).all()


def test_another_version_is_refused(fitted: dict[str, RemainingPredictor]) -> None:
    document = json.loads(remaining_to_bytes(fitted["inputs_only"]))
    with pytest.raises(OtherVersion, match="its version is 7, not 1"):
        remaining_from_bytes(json.dumps(document | {"version": 7}).encode())
