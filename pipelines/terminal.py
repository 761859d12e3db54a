"""What may be written to a terminal: text from logs, without the sequences that would steer the terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters but for the tab and the end of a line, and those that turn the direction of writing."""


def printable(text: str) -> str:
    """The text with every character that steers a terminal written as \\xNN or \\uNNNN."""
    return _STEERING.sub(_as_code, text)


def _as_code(match: re.Match[str]) -> str:
    number = ord(match.group())
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


@contextmanager
def printable_output() -> Iterator[None]:
    """Inside, all text that goes to standard output is printable, without styles of our own. Bytes that go to its buffer are data,
    and stay as they are."""
    plain = sys.stdout
    sys.stdout = _Printable(plain)
    try:
        yield
    finally:
        sys.stdout = plain


class _Printable:
    """A text stream in front of another one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
