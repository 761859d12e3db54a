"""Texts by offset and length, as columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.common.spans import integers_of, line_starts, lines_of, renamed_texts, texts_of


def spans_of(texts: list[str | None]) -> tuple[bytes, np.ndarray]:
    """All texts one after another, and where each is; a missing one has the length -1."""
    content, spans = b"", []
    for text in texts:
        encoded = (text or "").encode()
        spans.append((len(content), -1 if text is None else len(encoded)))
        content += encoded
    return content, np.array(spans, dtype=np.int64).reshape(-1, 2)


TEXTS = st.lists(st.none() | st.text(max_size=30) | st.sampled_from(["twelve bytes", "thirteen byte", ""]), max_size=20)


@settings(deadline=None)
@given(TEXTS)
def test_texts_are_those_at_their_places(texts: list[str | None]) -> None:
    content, spans = spans_of(texts)
    assert texts_of(content, spans).to_pylist() == texts


@settings(deadline=None)
@given(TEXTS)
def test_renamed_texts_are_renamed_and_missing_ones_stay(texts: list[str | None]) -> None:
    content, spans = spans_of(texts)
    new_of = {(text or "").encode(): f"new {text}".encode() for text in texts if text is not None}
    expected = [None if text is None else f"new {text}" for text in texts]
    assert renamed_texts(content, spans, new_of).to_pylist() == expected


def test_very_many_different_texts_are_told_apart() -> None:
    texts: list[str | None] = [f"{number}" for number in range(3000)] * 2
    content, spans = spans_of(texts)
    new_of = {(text or "").encode(): (text or "")[::-1].encode() for text in texts}
    assert renamed_texts(content, spans, new_of).to_pylist() == [(text or "")[::-1] for text in texts]


@pytest.mark.parametrize(
    ("content", "starts"), [(b"", [0]), (b"a", [0, 1]), (b"a\n", [0, 2]), (b"a\n\nb", [0, 2, 3, 4])]
)
def test_where_lines_begin(content: bytes, starts: list[int]) -> None:
    assert line_starts(np.frombuffer(content, dtype=np.uint8)).tolist() == starts


def test_lines_come_without_their_ends() -> None:
    assert lines_of("a\r\n\nä b\nlast".encode()).to_list() == ["a", "", "ä b", "last"]


def test_numbers_are_null_where_they_are_missing() -> None:
    found = integers_of(np.array([1, -5, 3]), -5)
    assert pl.Series(pl.from_arrow(found)).to_list() == [1, None, 3]
