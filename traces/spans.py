"""Texts inside a file's bytes, by offset and length: turned into columns without a Python object per line."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from traces.compiled import compiled


def line_starts(text: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Offset of each line and of the end of the text, int64 (lines + 1,); text: uint8 (bytes,)."""
    ends = np.flatnonzero(text == 10) + 1
    if len(text) and (not len(ends) or ends[-1] < len(text)):
        ends = np.append(ends, len(text))
    return np.concatenate([np.zeros(1, dtype=np.int64), ends])


def lines_of(content: bytes) -> pl.Series:
    """The lines of a file of UTF-8 text, without their ends."""
    starts = line_starts(np.frombuffer(content, dtype=np.uint8))
    return texts_of(content, np.stack([starts[:-1], np.diff(starts)], axis=1)).str.strip_chars_end("\r\n")


def texts_of(content: bytes, spans: NDArray[np.int64]) -> pl.Series:
    """Strings from their offsets and lengths, spans int64 (rows, 2); null where the length is below 0."""
    length = spans[:, 1]
    offsets, data = np.empty(len(spans) + 1, dtype=np.int64), np.empty(int(length.clip(0).sum()), dtype=np.uint8)
    _gather(np.frombuffer(content, dtype=np.uint8), np.ascontiguousarray(spans), offsets, data)
    known = pa.py_buffer(np.packbits(length >= 0, bitorder="little"))
    array = pa.Array.from_buffers(pa.large_string(), len(spans), [known, pa.py_buffer(offsets), pa.py_buffer(data)])
    return pl.Series(pl.from_arrow(array))


@compiled
def _gather(text, spans, offsets, data):
    position = 0
    for row in range(len(spans)):
        offsets[row] = position
        begin = spans[row, 0]
        for k in range(spans[row, 1]):
            data[position + k] = text[begin + k]
        position += max(spans[row, 1], 0)
    offsets[len(spans)] = position
