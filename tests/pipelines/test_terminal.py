"""What a log says reaches a terminal as text, whatever it holds."""

from __future__ import annotations

import sys

import pytest

from pipelines.terminal import printable, printable_output


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tab\tand\nline", "tab\tand\nline"),
        ("Zürich 東京", "Zürich 東京"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("said\rdone", "said\\x0ddone"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb\u2066", "a\\u202eb\\u2066"),
    ],
)
def test_what_steers_a_terminal_is_shown_as_its_number(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_all_output_is_printable_for_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    with printable_output():
        print("\x1b[31mred")
        sys.stdout.flush()
    print("\x1b[31mred")
    assert capsys.readouterr().out == "\\x1b[31mred\n\x1b[31mred\n"
