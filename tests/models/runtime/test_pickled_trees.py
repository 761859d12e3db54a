"""Pickles of older versions: our trees are read out of them, and nothing that they name is executed."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.runtime.pickled_trees import trees_of_pickle


@pytest.fixture(scope="module")
def regressor() -> tuple[Any, np.ndarray]:
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(400, 3)).astype(np.float32)
    matrix[::7, 1] = np.nan
    model = HistGradientBoostingRegressor(
        loss="absolute_error", max_iter=10, max_bins=63, early_stopping=False, random_state=1
    )
    return model.fit(matrix, np.abs(matrix[:, 0])), matrix


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_trees_of_a_pickle_predict_what_they_did(regressor: tuple[Any, np.ndarray], protocol: int) -> None:
    model, matrix = regressor
    if protocol < 4:
        with pytest.raises(ValueError, match="cannot be read"):  # tracehouse never wrote such a one
            trees_of_pickle(pickle.dumps(model, protocol=protocol))
        return
    trees = trees_of_pickle(pickle.dumps(model, protocol=protocol))
    assert (trees.predict(matrix) == model.predict(matrix)).all()


class Harmful:
    """Writes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_a_harmful_pickle_is_not_executed(regressor: tuple[Any, np.ndarray], tmp_path: Path) -> None:
    path = tmp_path / "harm"
    with pytest.raises(ValueError, match=r"names (posix|os)\.mkdir, which no model of tracehouse needs"):
        trees_of_pickle(pickle.dumps(Harmful(path)))
    model, _ = regressor
    model.note = Harmful(path)
    try:
        with pytest.raises(ValueError, match="which no model of tracehouse needs"):
            trees_of_pickle(pickle.dumps(model, protocol=5))
    finally:
        del model.note
    assert not path.exists()
    pickle.loads(pickle.dumps(Harmful(path)))  # the pickle was harmful indeed
    assert path.exists()


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps(3), pickle.dumps({"_predictors": []})])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="its pickled trees cannot be read"):
        trees_of_pickle(content)


def test_a_model_of_another_class_is_refused() -> None:
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit(np.arange(4.0)[:, None], np.arange(4.0))
    with pytest.raises(ValueError, match="LinearRegression, which no model of tracehouse needs"):
        trees_of_pickle(pickle.dumps(model))
