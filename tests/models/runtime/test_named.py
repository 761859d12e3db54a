"""The list of predictors."""

from __future__ import annotations

import base64
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from models.runtime.named import PREDICTORS, SERVING, make_predictor, predictor_from_bytes, predictor_to_bytes
from models.runtime.predictor import Predictor
from tests.models.runtime.trials import Trial, assert_same, every_predictor


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'oracle'") as raised:
        make_predictor("oracle")
    assert all(name in str(raised.value) for name in PREDICTORS)


def test_every_predictor_has_its_name() -> None:
    for name in PREDICTORS:
        predictor: Predictor = make_predictor(name)
        assert predictor.name == name


def test_who_serves_is_one_of_them() -> None:
    assert make_predictor(SERVING).name == SERVING


@every_predictor
def test_a_file_predicts_what_its_predictor_did(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]
    again = predictor_from_bytes(trial.content)
    assert type(again) is type(trial.predictor) and again.name == name
    assert_same(again.predict(trial.later), trial.found)
    assert again.features() == trial.predictor.features()
    assert again.card() == trial.predictor.card()
    assert again.importance() == trial.predictor.importance()


@every_predictor
def test_the_same_rows_give_the_same_bytes(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]
    again = make_predictor(name)
    again.fit(trial.later)  # something else first: a fit forgets it
    again.fit(trial.fitted)
    assert predictor_to_bytes(again) == trial.content
    other = make_predictor(name)
    other.fit(trial.fitted[:-40])
    assert (predictor_to_bytes(other) == trial.content) == (name == "similar_jobs")


@every_predictor
def test_damaged_bytes_are_an_error(trials: dict[str, Trial], name: str) -> None:
    content = trials[name].content
    document = json.loads(content)
    damaged = [b"", b"\xff\xfe", content[: len(content) // 2], content[:-1], content[1:], b"[]", b"3", b"{}"]
    damaged += [json.dumps(document | change).encode() for change in (
        {"levels": [0.5]}, {"levels": None}, {"predictor": "oracle"}, {"predictor": None},
    )]  # fmt: skip
    if document["state"]:  # what is never read cannot be damaged
        damaged += [json.dumps(document | {"state": state}).encode() for state in (None, [1], {})]
    damaged += [json.dumps(document | {"state": state}).encode() for state in without_a_part(document["state"])]
    for content in damaged:
        with pytest.raises(ValueError, match="not a run-time predictor of this tracehouse"):
            predictor_from_bytes(content)


@pytest.mark.parametrize("name", ["sklearn", "xgboost"])
def test_a_damaged_model_is_an_error(trials: dict[str, Trial], name: str) -> None:
    document = json.loads(trials[name].content)
    model = document["state"]["model"]
    broken: list[Any] = [None, 1, "", "bm8=", {}]
    if name == "sklearn":
        broken += [model | {key: values[:-1]} for key, values in model.items() if key != "base"]
        broken += without_a_part(model)
        broken += [model | {"left": [0] * len(model["left"])}]  # a walk without an end
        broken += [model | {"feature": [999] * len(model["feature"])}]
    else:
        broken += [{"version": [1, 0, 0]}, {"learner": {}}]
    for part in broken:
        damaged = document | {"state": document["state"] | {"model": part}}
        with pytest.raises(ValueError, match="not a run-time predictor of this tracehouse"):
            predictor_from_bytes(json.dumps(damaged).encode())


def without_a_part(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in state.items() if key != left_out} for left_out in state]


def test_a_pickle_is_never_loaded_with_a_file(trials: dict[str, Trial], tmp_path: Path) -> None:
    """Old builds kept models as pickles. Such a file is refused, and the message says to train again."""
    document = json.loads(trials["sklearn"].content)
    document["state"]["model"] = base64.b64encode(pickle.dumps(Harmful(tmp_path / "harm"))).decode()
    with pytest.raises(ValueError, match="holds a pickle, which is not loaded: train it again with `tracehouse run"):
        predictor_from_bytes(json.dumps(document).encode())
    assert not (tmp_path / "harm").exists()


class Harmful:
    """Makes a folder when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)
