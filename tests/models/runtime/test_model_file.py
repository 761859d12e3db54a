"""Files of run-time predictors: the same bytes, the same predictions, and nothing else is taken for one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from models.runtime.model_file import holds_pickle, predictor_from_bytes, predictor_to_bytes, without_pickle
from models.runtime.named import make_predictor
from tests.models.runtime.older import older_sklearn_file, with_pickle
from tests.models.runtime.trials import FITTED, Trial, assert_same, every_predictor


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


def test_an_older_file_becomes_the_file_that_training_gives_today(rows: pl.DataFrame, trials: dict[str, Trial]) -> None:
    older, predictor = older_sklearn_file(rows[:FITTED])
    assert holds_pickle(older)
    converted = without_pickle(older)
    assert converted == predictor_to_bytes(predictor) == trials["sklearn"].content
    assert_same(predictor_from_bytes(converted).predict(trials["sklearn"].later), trials["sklearn"].found)
    assert not holds_pickle(converted) and without_pickle(converted) == converted


@every_predictor
def test_a_file_of_today_holds_no_pickle(trials: dict[str, Trial], name: str) -> None:
    assert not holds_pickle(trials[name].content)


def test_a_pickle_is_never_loaded_with_a_file(rows: pl.DataFrame, tmp_path: Path) -> None:
    """Neither ours, nor one that would do harm; the remedy is told."""
    older, predictor = older_sklearn_file(rows[:FITTED])
    harmful = with_pickle(predictor, Harmful(tmp_path / "harm"))
    for content in (older, harmful):
        with pytest.raises(
            ValueError, match="holds a pickle, which is not loaded: train it again with `tracehouse run"
        ):
            predictor_from_bytes(content)
    with pytest.raises(
        ValueError, match=r"cannot be converted .*: train it again with `tracehouse run NAME --job train`"
    ):
        without_pickle(harmful)
    assert not (tmp_path / "harm").exists()


class Harmful:
    """Makes a folder when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"{}", b'{"predictor": "sklearn"}', b"\xff"])
def test_what_is_no_model_holds_no_pickle(content: bytes) -> None:
    assert not holds_pickle(content)
