"""Progress on long work, with the time left: a bar on a terminal, lines in the log of a run of Dagster, lines on standard error elsewhere.
And what is said on standard error beside results."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from multiprocessing import parent_process
from typing import NamedTuple, TypeVar

from tqdm import tqdm

from simulator.replayer import watch_replays_by

_Item = TypeVar("_Item")

SAID_EVERY_S = 20.0
"""How often a log tells how far the work is. What takes less says nothing."""

SLOW_S = 1.5
"""Steps that take longer say what they are doing."""

SHOWN_AFTER_S, LOOKED_EVERY_S = 5.0, 0.5
"""A replay that takes longer has a bar, which moves so often."""

_LOG: ContextVar[Callable[[str], object] | None] = ContextVar("log", default=None)


class WorkDone(NamedTuple):
    """How far some work is. total: of how many steps, 0 where nobody knows. left_s: None where nothing can be said."""

    label: str
    n: float
    total: float
    left_s: float | None

    def __str__(self) -> str:
        if not self.total:
            return f"{self.label}: {int(self.n):,}"
        left = "" if self.left_s is None else f", about {time_left_text(self.left_s)} left"
        return f"{self.label}: {int(self.n):,} of {int(self.total):,}{left}"


class LoggedBar:
    """A bar whose progress is lines of a log. n: steps done. total: of how many."""

    def __init__(self, label: str, total: int, log: Callable[[str], object], begun: float | None = None) -> None:
        """begun: when the work began, by time.monotonic, None for now."""
        self.label, self.total, self.n, self.log = label, total, 0.0, log
        self._said = time.monotonic()
        self._begun = self._said if begun is None else begun
        _open(self)

    def __enter__(self) -> LoggedBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The work is over."""
        _close(self)

    def describe(self, label: str) -> None:
        """Gives it another label."""
        self.label = label

    def done(self) -> WorkDone:
        """How far it is."""
        now = time.monotonic()
        left = (now - self._begun) / self.n * max(self.total - self.n, 0) if self.n else None
        return WorkDone(self.label, self.n, self.total, left)

    def update(self, steps: float = 1) -> None:
        """Moves it on."""
        self.n += steps
        now = time.monotonic()
        if now - self._said >= SAID_EVERY_S and self.n:
            self._said = now
            self.log(str(self.done()))


class DrawnBar(tqdm):
    """A bar on a terminal."""

    log: Callable[[str], object] | None = None

    def __init__(self, label: str, total: int, begun: float | None = None) -> None:
        """Arguments as those of LoggedBar."""
        super().__init__(desc=f"  {label}", total=total, leave=False)
        if begun is not None:
            self.start_t -= time.monotonic() - begun
        _open(self)

    def close(self) -> None:
        """The work is over, and the bar goes."""
        _close(self)
        super().close()

    def describe(self, label: str) -> None:
        """Gives it another label."""
        self.set_description_str(f"  {label}", refresh=False)

    def done(self) -> WorkDone:
        """How far it is."""
        total, spent = self.total or 0, time.time() - self.start_t
        left = spent / self.n * max(total - self.n, 0) if self.n else None
        return WorkDone(self.desc.strip().removesuffix(":"), self.n, total, left)


AnyBar = LoggedBar | DrawnBar
_OPEN: list[weakref.ref[AnyBar]] = []
"""Bars of work that goes on, the newest last."""


def _open(bar: AnyBar) -> None:
    _OPEN.append(weakref.ref(bar))


def _close(bar: AnyBar) -> None:
    # by identity: a tqdm compares itself with others by its place on the terminal
    _OPEN[:] = [each for each in _OPEN if (other := each()) is not None and other is not bar]


def _newest() -> AnyBar | None:
    return next((bar for each in reversed(_OPEN) if (bar := each()) is not None), None)


def newest_work() -> WorkDone | None:
    """How far the work is that this process has begun last and not ended, None where it has no bar."""
    bar = _newest()
    return None if bar is None else bar.done()


def is_drawing() -> bool:
    """Whether a bar is on the terminal."""
    return isinstance(_newest(), DrawnBar)


def progress(items: Iterable[_Item], label: str, total: int | None = None) -> Iterator[_Item]:
    """The items, with a bar that moves as they are taken. total: how many, where `items` has no length."""
    with progress_bar(label, len(items) if total is None and isinstance(items, Sized) else total or 0) as bar:
        for item in items:
            yield item
            bar.update()


def progress_bar(label: str, total: int, begun: float | None = None) -> AnyBar:
    """A bar of `total` steps that the caller moves. begun: when the work began, by time.monotonic, None for now."""
    if sys.stderr.isatty():
        return DrawnBar(label, total, begun)
    around = _newest()  # of the run, where this is one of its threads
    return LoggedBar(label, total, _LOG.get() or (around.log if around is not None else None) or _say, begun)


def _say(text: str) -> None:
    if parent_process() is None:  # else the work is a part of another process's, which says how far it is
        print(text, file=sys.stderr, flush=True)


@contextmanager
def progress_logged_by(log: Callable[[str], object]) -> Iterator[None]:
    """Work inside tells its progress so, where there is no terminal."""
    before = _LOG.set(log)
    try:
        yield
    finally:
        _LOG.reset(before)


_SHOWN_REPLAY = threading.Lock()
"""Held by the replay that is shown: of those that run side by side, one is."""


@contextmanager
def replay_shown(label: str, started: Callable[[], int], jobs: int) -> Iterator[None]:
    """Inside, a thread looks at a replay, which is compiled code and lets it. A replay that takes long has a bar. started: how many of its
    jobs have started."""
    begun, ended = time.monotonic(), threading.Event()

    def look() -> None:
        if ended.wait(SHOWN_AFTER_S) or not _SHOWN_REPLAY.acquire(blocking=False):
            return
        try:
            with progress_bar(label, jobs, begun) as bar:
                while not ended.wait(LOOKED_EVERY_S):
                    bar.update(max(started() - bar.n, 0))
        finally:
            _SHOWN_REPLAY.release()

    watcher = threading.Thread(target=copy_context().run, args=(look,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


watch_replays_by(replay_shown)


def time_left_text(seconds: float) -> str:
    """Such as 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def say_if_slow(what: str) -> Iterator[None]:
    """Says on standard error what is going on, if it takes longer than SLOW_S seconds and no bar is there that says it."""

    def say() -> None:
        if not is_drawing():
            print(f"{what} ...", file=sys.stderr, flush=True)

    timer = threading.Timer(SLOW_S, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def warn(text: str) -> None:
    """Says on standard error what a user should know, in yellow on a terminal."""
    print(f"\033[33m{text}\033[0m" if sys.stderr.isatty() else text, file=sys.stderr, flush=True)
