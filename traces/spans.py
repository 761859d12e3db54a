"""Texts inside a file's bytes, by offset and length: turned into columns without a Python object per line."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from traces.compiled import compiled


@compiled
def line_starts(text):
    """Offset of each line and of the end of the text, int64 (lines + 1,); text: uint8 (bytes,)."""
    size = len(text)
    lines = 0
    for i in range(size):
        lines += text[i] == 10
    if size > 0 and text[size - 1] != 10:
        lines += 1
    starts = np.empty(lines + 1, dtype=np.int64)
    starts[0] = 0
    found = 1
    for i in range(size):
        if text[i] == 10 and found <= lines:
            starts[found] = i + 1
            found += 1
    starts[lines] = size
    return starts


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
