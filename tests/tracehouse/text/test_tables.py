"""What fits the terminal, what is left out of it, and that nothing is left out elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.command_line import on_terminal, succeed
from tracehouse.text.tables import TableColumn, cut, fitted_table, folded, terminal_width

COLUMNS = (
    TableColumn("name", 12, right=False),
    TableColumn("mean", 10),
    TableColumn("median", 10, last=1),
    TableColumn("p99", 10, last=2),
)
ROWS = [["first come first served", "1.0", "2.0", "3.0"], ["SJF", "10.5", "20.5", "30.5"]]


def test_usual_widths_where_there_is_room() -> None:
    lines = fitted_table(COLUMNS, ROWS[1:], None)
    assert lines == [
        "name                mean      median         p99",
        "SJF                 10.5        20.5        30.5",
    ]
    assert fitted_table(COLUMNS, ROWS[1:], 48) == lines


def test_narrow_columns_come_first() -> None:
    assert fitted_table(COLUMNS, ROWS[1:], 30) == ["name  mean  median   p99", "SJF   10.5    20.5  30.5"]


def test_what_is_left_out_is_said() -> None:
    lines = fitted_table(COLUMNS, ROWS, 32)
    assert lines[:3] == [
        "name                     mean",
        "first come first served   1.0",
        "SJF                      10.5",
    ]
    assert " ".join(lines[3:]).replace("   ", " ") == (
        "left out for the width of the terminal: median, p99 (a file or a pipe gets all)"
    )
    assert max(map(len, lines)) <= 32


def test_texts_are_cut_at_the_end() -> None:
    assert fitted_table(COLUMNS, ROWS, 20)[1] == "first come fi…   1.0"
    assert cut("abcdef", 4) == "abc…" and cut("abcd", 4) == "abcd"


def test_lines_are_folded() -> None:
    assert folded("  one two three\nfour", 10) == "  one two\n    three\nfour"
    assert folded("  one two three", None) == "  one two three"


def test_the_width_is_of_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert terminal_width() is None
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "77")
    assert terminal_width() == 77


@pytest.mark.parametrize("command", ["sources", "vasp sources", "health mine", "replay mine --cancelled"])
def test_no_line_wraps_at_80_columns(loaded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    whole = succeed(*command.split())
    on_terminal(monkeypatch, 80)
    text = succeed(*command.split())
    assert max(map(len, text.splitlines())) <= 80 < max(map(len, whole.splitlines()))
