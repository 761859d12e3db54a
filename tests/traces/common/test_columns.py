"""Slices of rows become one frame: arrays, constants, and columns with nulls, mapped from files where they are long."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from traces.common.columns import Columns

ROWS = pl.DataFrame(
    {
        "all": [5, 3, 8, 1, 9, 2],
        "constant": [7] * 6,
        "late": [1, 1, 1, 1, 4, 5],
        "later_null": [1, 2, 3, 4, None, 6],
        "first_null": [None, None, 3, 4, 5, 6],
        "never": pl.Series([None] * 6, dtype=pl.Float64),
        "share": [0.5, 0.25, 0.5, 1.0, 1.0, 1.0],
        "word": ["a", None, "b", "a word that is longer than twelve", "c", "d"],
        "no_word": pl.Series([None] * 6, dtype=pl.String),
    }
)


@pytest.mark.parametrize("height", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("mapped", [True, False])
def test_slices_of_any_height_give_the_rows(
    height: int, mapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traces.common.columns.MAPPED_ROWS", 2 if mapped else 100)
    columns = Columns(ROWS.height, tmp_path / "staging")
    for begin in range(0, ROWS.height, height):
        columns.add(ROWS.slice(begin, height))
    frame = columns.frame()
    assert_frame_equal(frame, ROWS)
    assert (tmp_path / "staging").exists() == mapped and not list(tmp_path.glob("staging/*"))
    if not mapped:
        assert np.shares_memory(frame["all"].to_numpy(), columns._arrays["all"].values())


def test_fewer_rows_than_there_was_room_for_and_constants_alone(tmp_path: Path) -> None:
    columns = Columns(100, tmp_path)
    columns.add(ROWS)
    assert_frame_equal(columns.frame(), ROWS)
    alone = Columns(100, tmp_path)
    alone.add(ROWS.select("constant", "never"))
    alone.add(ROWS.select("constant", "never"))
    assert_frame_equal(alone.frame(), pl.concat([ROWS.select("constant", "never")] * 2))


def test_who_may_only_read_has_files_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("traces.common.columns.MAPPED_ROWS", 2)
    monkeypatch.setattr(Path, "mkdir", refused)
    columns = Columns(ROWS.height, tmp_path / "staging")
    columns.add(ROWS)
    assert_frame_equal(columns.frame(), ROWS)
