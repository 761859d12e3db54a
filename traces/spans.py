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
    """Strings from their offsets and lengths, spans int64 (rows, 2); null where the length is below 0. The text is not copied:
    the strings keep the content alive. It must be UTF-8, and less than 2 GiB."""
    views = np.empty((len(spans), 4), dtype=np.int32)
    _views(np.frombuffer(content, dtype=np.uint8), spans, views)
    known = pa.py_buffer(np.packbits(spans[:, 1] >= 0, bitorder="little"))
    array = pa.Array.from_buffers(pa.string_view(), len(spans), [known, pa.py_buffer(views), pa.py_buffer(content)])
    return pl.Series(pl.from_arrow(array))


@compiled
def _views(text, spans, views):
    """Arrow's string views: the length; then the text itself if it has up to 12 bytes, else its first 4, and where it is."""
    as_bytes = views.view(np.uint8)
    for row in range(len(spans)):
        begin, length = spans[row, 0], max(spans[row, 1], 0)
        views[row, 0] = length
        if length <= 12:
            for k in range(1, 4):
                views[row, k] = 0
            for k in range(length):
                as_bytes[row, 4 + k] = text[begin + k]
        else:
            for k in range(4):
                as_bytes[row, 4 + k] = text[begin + k]
            views[row, 2] = 0
            views[row, 3] = begin
