"""The rows of a query that come in slices, as one frame: each numeric column is one array, and a constant one takes no memory.

Arrays of a long log lie in a file that has no name any more. The system writes their pages there when it wants the memory back.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, Any

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
        self._arrays: dict[str, _InMemory | _InFile] = {}
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
            else _series(name, self._arrays[name].values())
            for name in self.schema
            if name not in self._constants
        ]
        frame = pl.DataFrame(columns) if columns else pl.DataFrame({"": np.zeros(self.height)})
        literals = [pl.lit(value, self.schema[name]).alias(name) for name, value in self._constants.items()]
        return frame.with_columns(literals).select(list(self.schema))

    def _add(self, column: pl.Series) -> None:
        name = column.name
        is_constant, value = _constant(column)
        if is_constant and self._constants.get(name, value) == value and (not self.height or name in self._constants):
            self._constants[name] = value
            return
        if name in self._constants:  # it was the same in all rows so far
            before = pl.repeat(self._constants.pop(name), self.height, dtype=column.dtype, eager=True)
            self._append(before.alias(name))
        self._append(column)

    def _append(self, column: pl.Series) -> None:
        name = column.name
        if not column.null_count() and column.dtype.is_numeric() and name not in self._pieces:
            if name not in self._arrays:
                self._arrays[name] = self._array(column.to_numpy().dtype)
            self._arrays[name].append(column.to_numpy())
            return
        if name in self._arrays:  # no row so far was null
            self._pieces[name] = [pl.Series(name, self._arrays.pop(name).values())]
        self._pieces.setdefault(name, []).append(column.rechunk())

    def _array(self, dtype: np.dtype[Any]) -> _InMemory | _InFile:
        return _InMemory(self.num_rows, dtype) if self.num_rows < MAPPED_ROWS else _InFile(self.folder, dtype)


class _InMemory:
    """An array that grows up to a length."""

    def __init__(self, most: int, dtype: np.dtype[Any]) -> None:
        self._all, self._height = np.empty(most, dtype), 0

    def append(self, values: NDArray[Any]) -> None:
        self._all[self._height : self._height + len(values)] = values
        self._height += len(values)

    def values(self) -> NDArray[Any]:
        return self._all[: self._height]


class _InFile:
    """An array that grows in a file without a name. It is written as a file, since that costs a fraction of writing a map."""

    def __init__(self, folder: Path, dtype: np.dtype[Any]) -> None:
        self._file, self._dtype = _file_without_name(folder), dtype

    def append(self, values: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(values).data)

    def values(self) -> NDArray[Any]:
        self._file.flush()
        return np.memmap(self._file, self._dtype, mode="r")


def _file_without_name(folder: Path) -> IO[bytes]:
    """In the folder, or in that of the system for temporary files where this account may only read."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=folder)
    except PermissionError:
        return tempfile.TemporaryFile()


def _series(name: str, values: NDArray[Any]) -> pl.Series:
    """The array as a series, not copied."""
    array = pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
    return pl.Series(name, array)


def _constant(column: pl.Series) -> tuple[bool, Any]:
    """Whether all values are null, or the same number, and which."""
    if column.null_count() == len(column):
        return True, None
    if not column.dtype.is_numeric() or column.null_count() or column.min() != column.max():
        return False, None
    return True, column.min()
