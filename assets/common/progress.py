"""Progress on long work: a bar on a terminal, lines in the log of a run of Dagster, silent elsewhere. And what is said on standard
error beside results."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from tqdm import tqdm

_Item = TypeVar("_Item")

SAID_EVERY_S = 20.0
"""How often a log tells how far the work is. What takes less says nothing."""

SLOW_S = 1.5
"""Steps that take longer say what they are doing."""

_LOG: ContextVar[Callable[[str], object] | None] = ContextVar("log", default=None)


class LoggedBar:
    """A bar whose progress is lines of a log. n: steps done. total: of how many."""

    def __init__(self, label: str, total: int, log: Callable[[str], object]) -> None:
        self.label, self.total, self.n, self._log = label, total, 0, log
        self._begun = self._said = time.monotonic()

    def __enter__(self) -> LoggedBar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, steps: float = 1) -> None:
        """Moves it on."""
        self.n += int(steps)
        now = time.monotonic()
        if now - self._said < SAID_EVERY_S or not self.n:
            return
        self._said = now
        left = (now - self._begun) / self.n * max(self.total - self.n, 0)
        self._log(
            f"{self.label}: {self.n:,} of {self.total:,}, about {time_left_text(left)} left"
            if self.total
            else f"{self.label}: {self.n:,}"
        )


def progress(items: Iterable[_Item], label: str, total: int | None = None) -> Iterator[_Item]:
    """The items, with a bar that moves as they are taken. total: how many, where `items` has no length."""
    with progress_bar(label, len(items) if total is None and isinstance(items, Sized) else total or 0) as bar:
        for item in items:
            yield item
            bar.update()


def progress_bar(label: str, total: int) -> tqdm | LoggedBar:
    """A bar of `total` steps that the caller moves."""
    log = _LOG.get()
    if log is not None and not sys.stderr.isatty():
        return LoggedBar(label, total, log)
    return tqdm(desc=f"  {label}", total=total, disable=None, leave=False)


@contextmanager
def progress_logged_by(log: Callable[[str], object]) -> Iterator[None]:
    """Work inside tells its progress so, where there is no terminal."""
    before = _LOG.set(log)
    try:
        yield
    finally:
        _LOG.reset(before)


def time_left_text(seconds: float) -> str:
    """Such as 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def say_if_slow(what: str) -> Iterator[None]:
    """Says on standard error what is going on, if it takes longer than SLOW_S seconds."""
    timer = threading.Timer(SLOW_S, lambda: print(f"{what} ...", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def warn(text: str) -> None:
    """Says on standard error what a user should know, in yellow on a terminal."""
    print(f"\033[33m{text}\033[0m" if sys.stderr.isatty() else text, file=sys.stderr, flush=True)
