"""The rows of a query that come in slices, as one frame: each numeric column is one array, and a constant one takes no memory.

Arrays of a long log lie in a file that has no name any more. The system writes their pages there when it wants the memory back.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

MAPPED_ROWS = 5_000_000
"""From so many rows on, arrays are mapped from files."""


class Columns:
    """Gathers slices of rows. num_rows: most rows of all slices. folder: on a disk, for the files."""

    def __init__(self, num_rows: int, folder: Path) -> None:
        self.num_rows, self.folder, self.height = num_rows, folder, 0
        self.schema = pl.Schema()
        self._constants: dict[str, Any] = {}
        self._arrays: dict[str, NDArray[Any]] = {}
        self._pieces: dict[str, list[pl.Series]] = {}

    def add(self, rows: pl.DataFrame) -> None:
        """Takes the rows in. They should come in more than one batch: all columns of a batch share its memory, and are copied then."""
        if not self.height:
            self.schema = rows.schema
        for column in rows:
            self._add(column)
        self.height += rows.height

    def frame(self) -> pl.DataFrame:
        """All rows so far."""
        columns = [
            pl.concat(self._pieces[name], rechunk=True)
            if name in self._pieces
            else self._series(name, self._arrays[name])
            for name in self.schema
            if name not in self._constants
        ]
        frame = pl.DataFrame(columns) if columns else pl.DataFrame({"": np.zeros(self.height)})
        literals = [pl.lit(value, self.schema[name]).alias(name) for name, value in self._constants.items()]
        return frame.with_columns(literals).select(list(self.schema))

    def _add(self, column: pl.Series) -> None:
        name, end = column.name, self.height + len(column)
        is_constant, value = _constant(column)
        if is_constant and self._constants.get(name, value) == value and (not self.height or name in self._constants):
            self._constants[name] = value
            return
        if name in self._constants:  # it was the same in all rows so far
            before = pl.repeat(self._constants.pop(name), self.height, dtype=column.dtype, eager=True).alias(name)
            self._put(before, 0, self.height)
        self._put(column, self.height, end)

    def _put(self, column: pl.Series, begin: int, end: int) -> None:
        name = column.name
        has_array = not column.null_count() and column.dtype.is_numeric() and name not in self._pieces
        if has_array:
            if name not in self._arrays:
                self._arrays[name] = self._empty(column.to_numpy().dtype)
            self._arrays[name][begin:end] = column.to_numpy()
            return
        if name in self._arrays:  # no row so far was null
            self._pieces[name] = [pl.Series(name, self._arrays.pop(name)[:begin].copy())]
        self._pieces.setdefault(name, []).append(column.rechunk())

    def _empty(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        if self.num_rows < MAPPED_ROWS:
            return np.empty(self.num_rows, dtype)
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            return np.memmap(file, dtype, mode="w+", shape=(self.num_rows,))

    def _series(self, name: str, values: NDArray[Any]) -> pl.Series:
        """The array as a series, not copied."""
        values = values[: self.height]
        array = pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), self.height, [None, pa.py_buffer(values)])
        return pl.Series(name, array)


def _constant(column: pl.Series) -> tuple[bool, Any]:
    """Whether all values are null, or the same number, and which."""
    if column.null_count() == len(column):
        return True, None
    if not column.dtype.is_numeric() or column.null_count() or column.min() != column.max():
        return False, None
    return True, column.min()
