"""Trees that older versions of tracehouse kept as a pickle, read without executing any of its code.

Only numpy's arrays are really built. Every other class that such a pickle names becomes an inert record of its fields, and a
pickle that names anything else is refused. Use this only for bytes whose hash is in the warehouse.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from models.runtime.predictors.tree_arrays import TreeArrays, trees_of_sklearn

_ARRAYS = frozenset(
    {
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "scalar"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.numeric", "_frombuffer"),
    }
)
"""What numpy needs to build an array again."""

_BOOSTING = "sklearn.ensemble._hist_gradient_boosting"
_RECORDED = frozenset(
    {
        (f"{_BOOSTING}.gradient_boosting", "HistGradientBoostingRegressor"),
        (f"{_BOOSTING}.binning", "_BinMapper"),
        (f"{_BOOSTING}.predictor", "TreePredictor"),
        ("sklearn._loss.loss", "AbsoluteError"),
        ("sklearn._loss._loss", "CyAbsoluteError"),
        ("sklearn._loss.link", "IdentityLink"),
        ("sklearn._loss.link", "Interval"),
        ("numpy.random._pickle", "__generator_ctor"),
        ("numpy.random._pickle", "__bit_generator_ctor"),
        ("numpy.random._pcg64", "PCG64"),
        ("numpy.random.bit_generator", "SeedSequence"),
        ("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"),
    }
)
"""What a fitted HistGradientBoostingRegressor names in addition to arrays."""


class _Record:
    """Replaces an object of any class. It keeps the object's fields and does nothing."""

    def __new__(cls, *arguments: Any, **options: Any) -> _Record:
        return super().__new__(cls)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)


class _Reader(pickle.Unpickler):
    """Builds arrays and records, nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ARRAYS:
            return super().find_class(module, name)
        if (module, name) in _RECORDED:
            return _Record
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no model of tracehouse needs")


def trees_of_pickle(content: bytes) -> TreeArrays:
    """The trees of a pickled HistGradientBoostingRegressor. Raises ValueError for anything else."""
    try:
        model = _Reader(io.BytesIO(content)).load()
        return trees_of_sklearn(model._baseline_prediction, model._predictors)
    except Exception as error:  # a damaged pickle raises anything
        raise ValueError(f"its pickled trees cannot be read: {error}") from None
