"""Ctrl-C ends a command in one line, with the exit status that shells expect, wherever it comes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any

import click

INTERRUPTED = 128 + signal.SIGINT
_IMPORTING = "<frozen importlib._bootstrap>"
_received = [False]
"""Whether Ctrl-C was pressed in this process."""


class Interrupted(click.ClickException):
    """Ctrl-C, as the one line of its end and its exit status."""

    exit_code = INTERRUPTED

    def __init__(self, interrupt: KeyboardInterrupt) -> None:
        """interrupt: what happened. Its argument, if it has one, says how to go on."""
        super().__init__(": ".join(["interrupted", *map(str, interrupt.args)]))

    def show(self, file: IO[Any] | None = None) -> None:
        """Prints the line, on a line of its own: the terminal shows ^C, or a progress bar."""
        click.echo(f"\n{self.message}", file=file, err=True)


@contextmanager
def one_line_after_ctrl_c() -> Iterator[None]:
    """Turns an interrupt, and the error that a library makes of it, into `Interrupted`."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise Interrupted(interrupt) from None
    except Exception:
        if _received[0]:  # DuckDB raises a RuntimeError, for one
            raise Interrupted(KeyboardInterrupt()) from None
        raise


def watch_for_ctrl_c() -> None:
    """From now on, Ctrl-C raises KeyboardInterrupt. In the middle of an import, and for the second time, it ends the process at once:
    packages may swallow it as they are imported."""
    _received[0] = False
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    imports = False
    while frame is not None and not imports:
        imports, frame = frame.f_code.co_filename == _IMPORTING, frame.f_back
    if imports or _received[0]:
        sys.stderr.write("\ninterrupted\n")
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    _received[0] = True
    raise KeyboardInterrupt
