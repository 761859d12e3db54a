"""Tables of any columns as people read them, on a terminal and in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.pages.words import number_text
from tracehouse.text.tables import cut, folded

if TYPE_CHECKING:
    import polars as pl

TERMINAL_ROWS = 200
"""Rows that a terminal shows."""
CELL_WIDTHS = (200, 60, 40, 30, 20)
"""Longest texts of a cell that are tried until a table fits the terminal."""


def table_text(rows: pl.DataFrame, width: int | None) -> str:
    """A table for people, and how many rows it has. width: of the terminal. None for all of it, whatever its size.

    On a terminal, texts are cut first, and then columns are left out from the right. A line says so.
    """
    if width is None:
        return f"{_drawn(rows, 10**6)}\n({rows.height} row{'' if rows.height == 1 else 's'})\n"
    shown = rows.head(TERMINAL_ROWS)
    has_lines = _has_lines(shown)
    whole = text = _drawn(shown, 10**6 if has_lines else CELL_WIDTHS[0])
    columns = shown.width
    if not has_lines:
        for cell_width in CELL_WIDTHS:
            text = _drawn(shown, cell_width)
            if _width_of(text) <= width:
                break
        while _width_of(text) > width and columns > 1:
            columns -= 1
            text = _drawn(shown[:, :columns], CELL_WIDTHS[-1])
    text = "\n".join(cut(line, width) for line in text.split("\n"))
    remark = "" if shown.height == rows.height else f", the first {shown.height} are shown"
    said = f"({rows.height} row{'' if rows.height == 1 else 's'}{remark})"
    if columns < rows.width:
        said += f"\n{rows.width - columns} columns are left out, from {rows.columns[columns]} on: name those you need, or add --wide"
    elif text != whole:
        said += "\ntexts are cut: --wide has all of them"
    return f"{text}\n{folded(said, width)}\n"


def _has_lines(rows: pl.DataFrame) -> bool:
    """Whether a text has several lines, as a plan of EXPLAIN has, which must not be cut in the middle."""
    import polars as pl

    return any("\n" in text for column in rows.select(pl.selectors.string()) for text in column.drop_nulls())


def _width_of(text: str) -> int:
    return max(map(len, text.split("\n")))


def _drawn(rows: pl.DataFrame, cell_width: int) -> str:
    import polars as pl

    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=65_535,
        fmt_str_lengths=cell_width,
        thousands_separator=True,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
    ):
        return str(rows.with_columns(_numbers_for_reading(rows)))


def _numbers_for_reading(rows: pl.DataFrame) -> list[pl.Series]:
    """Columns of numbers that are no integers, as texts with the digits that a reader needs."""
    import polars as pl

    return [
        pl.Series(column.name, [None if x is None else number_text(float(x)) for x in column], dtype=pl.String)
        for column in rows
        if column.dtype.is_float() or column.dtype.is_decimal()
    ]
