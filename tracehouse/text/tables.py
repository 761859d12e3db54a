"""Tables and sentences that fit the terminal. What goes to a file or a pipe is never cut."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

SHORTEST_CELL = 8
ELLIPSIS = "…"


@dataclass(frozen=True)
class TableColumn:
    """title: its heading. width: usual width in characters, 0 for that of the cells. right: whether cells are set to the right. last:
    whether the column is left out first where the terminal is narrow; columns with a larger number go before."""

    title: str
    width: int = 0
    right: bool = True
    last: int = 0


def terminal_width(of_errors: bool = False) -> int | None:
    """Characters in a line of the terminal that results go to, or messages (of_errors). None for a file or a pipe."""
    stream = sys.stderr if of_errors else sys.stdout
    return shutil.get_terminal_size().columns if stream.isatty() else None


def cut(text: str, width: int) -> str:
    """The text, with an ellipsis at its end where it is longer than the width."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + ELLIPSIS


def folded(text: str, width: int | None, indent: int = 2) -> str:
    """The text with lines that are too long broken between words. indent: of their rests, beyond their own. Width None: as it is."""
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _folded_line(line, width, indent))


def _folded_line(line: str, width: int, more: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + more)
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False)


def fitted_table(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int | None, indent: str = "", gap: str = "  "
) -> list[str]:
    """The lines of a table, with one more that names the columns that were left out. The last column may be a text of any length.

    On a narrow terminal, columns have the width of their cells. Then those with a `last` are left out, and at the end texts are cut.
    """
    kept = list(range(len(columns)))
    widths = [max(column.width, _natural(column, rows, k)) for k, column in enumerate(columns)]
    left_out: list[str] = []
    if width is not None:
        if _total(widths, kept, indent, gap) > width:
            widths = [_natural(column, rows, k) for k, column in enumerate(columns)]
        while _total(widths, kept, indent, gap) > width and any(columns[k].last for k in kept):
            gone = max(kept, key=lambda k: (columns[k].last, k))
            kept.remove(gone)
            left_out.insert(0, columns[gone].title)
        for k in sorted(kept, key=lambda k: columns[k].right):
            excess = _total(widths, kept, indent, gap) - width
            if excess > 0:
                widths[k] = max(widths[k] - excess, min(widths[k], SHORTEST_CELL))
    lines = [
        (indent + gap.join(_cell(columns[k], row[k], widths[k]) for k in kept)).rstrip()
        for row in ([column.title for column in columns], *rows)
    ]
    return lines + _note(left_out, width, indent)


def _note(left_out: list[str], width: int | None, indent: str) -> list[str]:
    if not left_out or width is None:
        return []
    text = f"left out for the width of the terminal: {', '.join(left_out)} (a file or a pipe gets all)"
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "  ")


def _natural(column: TableColumn, rows: Sequence[Sequence[str]], number: int) -> int:
    return max(len(column.title), *(len(row[number]) for row in rows), 0)


def _total(widths: list[int], kept: list[int], indent: str, gap: str) -> int:
    return len(indent) + sum(widths[k] for k in kept) + len(gap) * (len(kept) - 1)


def _cell(column: TableColumn, text: str, width: int) -> str:
    text = cut(text, width)
    return text.rjust(width) if column.right else text.ljust(width)


def duration(seconds: float) -> str:
    """A length of time in words, to the largest two units."""
    whole = round(seconds)
    for size, unit, smaller, lesser in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit} {rest} {lesser}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"
