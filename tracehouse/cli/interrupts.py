"""Ctrl-C ends a command in one line, with the exit status that shells expect, wherever it comes."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any

import click

INTERRUPTED = 128 + signal.SIGINT
_IMPORTING = "<frozen importlib._bootstrap>"
STUCK_S = 5.0
"""How long after Ctrl-C the main thread may stay at one instruction. A library that then still computes has missed it."""
_received = [False]
"""Whether Ctrl-C was pressed in this process."""
_presses = [0]
"""How often, as the watching thread has seen it."""
_watcher: list[threading.Thread] = []


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
    packages may swallow it as they are imported. So it does after STUCK_S in compiled code: a query of DuckDB may miss it, and every
    later one."""
    _received[0], _presses[0] = False, 0
    signal.signal(signal.SIGINT, _interrupt)
    if not _watcher:
        receiving, sending = os.pipe()
        os.set_blocking(sending, False)
        signal.set_wakeup_fd(sending, warn_on_full_buffer=False)
        _watcher.append(threading.Thread(target=_watch, args=[receiving], daemon=True, name="Ctrl-C"))
        _watcher[0].start()
        os.register_at_fork(after_in_child=_forget_watcher)


def _forget_watcher() -> None:
    """A forked process has no watching thread, and its signals are its own: written to the same pipe, they would end its parent."""
    signal.set_wakeup_fd(-1)
    _watcher.clear()


def _watch(receiving: int) -> None:
    """Ends the process where its main thread cannot. Numbers of signals are written as they come, which no compiled code can delay."""
    while True:
        _presses[0] += _presses_within(receiving, None)
        at, stuck_at = _place(), time.monotonic() + STUCK_S
        while _presses[0] == 1 and _place() == at:
            if time.monotonic() > stuck_at:
                _end()
            _presses[0] += _presses_within(receiving, 0.1)
        if _presses[0] > 1:
            time.sleep(0.2)  # the main thread is first, where it can be
            _end()


def _presses_within(receiving: int, seconds: float | None) -> int:
    ready, _, _ = select.select([receiving], [], [], seconds)
    return os.read(receiving, 64).count(signal.SIGINT) if ready else 0


def _place() -> tuple[int, int] | None:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return None if frame is None else (id(frame), frame.f_lasti)


def _end() -> None:
    sys.stderr.write("\ninterrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    imports = False
    while frame is not None and not imports:
        imports, frame = frame.f_code.co_filename == _IMPORTING, frame.f_back
    if imports or _received[0]:
        _end()
    _received[0] = True
    raise KeyboardInterrupt
