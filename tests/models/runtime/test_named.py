"""The list of predictors."""

from __future__ import annotations

import pytest

from models.runtime.named import PREDICTORS, SERVING, make_predictor
from models.runtime.predictor import Predictor


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
