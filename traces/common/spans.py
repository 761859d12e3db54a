"""Texts inside a file's bytes, by offset and length. They are turned into columns without a Python object per line."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from traces.common.compiled import compiled


def line_starts(text: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Offset of each line and of the end of the text, int64 (lines + 1,). text: uint8 (bytes,)."""
    ends = np.flatnonzero(text == 10) + 1
    if len(text) and (not len(ends) or ends[-1] < len(text)):
        ends = np.append(ends, len(text))
    return np.concatenate([np.zeros(1, dtype=np.int64), ends])


def lines_of(content: bytes) -> pl.Series:
    """The lines of a file of UTF-8 text, without their ends."""
    starts = line_starts(np.frombuffer(content, dtype=np.uint8))
    return pl.Series(
        pl.from_arrow(texts_of(content, np.stack([starts[:-1], np.diff(starts)], axis=1)))
    ).str.strip_chars_end("\r\n")


def texts_of(content: bytes, spans: NDArray[np.int64]) -> pa.Array:
    """Strings from their offsets and lengths, spans int64 (rows, 2), null where the length is below 0. The text is not copied:
    the strings keep the content alive. It must be UTF-8, and less than 2 GiB."""
    views = np.empty((len(spans), 4), dtype=np.int32)
    _views(np.frombuffer(content, dtype=np.uint8), spans, views)
    return _of_views(content, views, spans[:, 1] >= 0)


def renamed_texts(content: bytes, spans: NDArray[np.int64], new_of: Mapping[bytes, bytes]) -> pa.Array:
    """Like `texts_of`, each text replaced by another."""
    codes, firsts = _codes(np.frombuffer(content, dtype=np.uint8), np.ascontiguousarray(spans))
    new = [new_of[content[begin : begin + length]] for begin, length in firsts.tolist()]
    ends = np.cumsum([0, *map(len, new)], dtype=np.int64)
    data, of_names = b"".join(new), np.empty((len(new), 4), dtype=np.int32)
    _views(np.frombuffer(data, dtype=np.uint8), np.stack([ends[:-1], np.diff(ends)], axis=1), of_names)
    is_text = codes >= 0
    views = of_names[np.where(is_text, codes, 0)] if len(new) else np.zeros((len(spans), 4), dtype=np.int32)
    return _of_views(data, views, is_text)


def _of_views(data: bytes, views: NDArray[np.int32], is_text: NDArray[np.bool_]) -> pa.Array:
    validity = None if is_text.all() else pa.py_buffer(np.packbits(is_text, bitorder="little"))
    return pa.Array.from_buffers(pa.string_view(), len(views), [validity, pa.py_buffer(views), pa.py_buffer(data)])


def integers_of(values: NDArray[np.int64], missing: int) -> pa.Array:
    """Whole numbers, null where they are `missing`."""
    values = np.ascontiguousarray(values)
    is_number = values != missing
    validity = None if is_number.all() else pa.py_buffer(np.packbits(is_number, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), len(values), [validity, pa.py_buffer(values)])


@compiled
def _views(text, spans, views):
    """Arrow's string views. Each has the length, then the text itself if it has up to 12 bytes, else its first 4 and its place."""
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


@compiled
def _codes(text, spans):
    """For each row the number of its text among the different ones, -1 for none, and their spans, in the order of their first use."""
    size = 1024
    slots = np.full(size, -1, dtype=np.int64)
    firsts = np.empty((len(spans), 2), dtype=np.int64)
    codes = np.empty(len(spans), dtype=np.int32)
    count = 0
    for row in range(len(spans)):
        begin, length = spans[row, 0], spans[row, 1]
        if length < 0:
            codes[row] = -1
            continue
        if 2 * count >= size:  # twice the room
            size *= 2
            slots = np.full(size, -1, dtype=np.int64)
            for k in range(count):
                slot = _hash(text, firsts[k, 0], firsts[k, 1]) & (size - 1)
                while slots[slot] >= 0:
                    slot = (slot + 1) & (size - 1)
                slots[slot] = k
        slot = _hash(text, begin, length) & (size - 1)
        while True:
            k = slots[slot]
            if k < 0:
                slots[slot] = count
                firsts[count, 0], firsts[count, 1] = begin, length
                codes[row] = count
                count += 1
                break
            if firsts[k, 1] == length:
                same = True
                for j in range(length):
                    if text[firsts[k, 0] + j] != text[begin + j]:
                        same = False
                        break
                if same:
                    codes[row] = k
                    break
            slot = (slot + 1) & (size - 1)
    return codes, firsts[:count]


@compiled
def _hash(text, begin, length):
    value = np.uint32(2166136261)
    for k in range(length):
        value = np.uint32((value ^ text[begin + k]) * np.uint32(16777619))
    return np.int64(value ^ (value >> np.uint32(15)))
