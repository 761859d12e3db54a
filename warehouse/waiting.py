"""Waiting for other processes: how long, what is said meanwhile, and locks that are files."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse.errors import WarehouseBusy, WarehouseError

WAIT_SAYS_AFTER_S = 2.0
SAYS_AGAIN_AFTER_S = 60.0
POLL_S = 0.1
MOST_OF_A_COMMAND = 60
"""Letters of the command of a process that holds the warehouse."""


@contextmanager
def file_lock(
    path: Path, deadline: float | None = None, of: Path | str | None = None, shared: bool = False
) -> Iterator[None]:
    """Holds a lock that is a file. Waits for other processes until the deadline of time.monotonic, or for TRACEHOUSE_TIMEOUT_S.

    shared: whether others may hold it, too, who share it. Raises WarehouseBusy, naming `of` (default: the file itself) and the process
    that holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as lock:
        waiting = Waiting(of or path, deadline or time.monotonic() + timeout_from_environment())
        while True:
            try:
                fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                lock.seek(0)
                waiting.step(f"another writer ({process_words(lock.read().strip())}) holds it")
        waiting.done()
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield  # closing the file releases the lock, and so does the end of the process, however it comes


def timeout_from_environment() -> float:
    """Seconds that TRACEHOUSE_TIMEOUT_S names, 600 without it. Raises WarehouseError for another text."""
    text = os.environ.get("TRACEHOUSE_TIMEOUT_S", "600")
    try:
        return float(text)
    except ValueError:
        raise WarehouseError(f"TRACEHOUSE_TIMEOUT_S must be a number of seconds, found {text!r}") from None


class Waiting:
    """Waits between two tries, says so, and gives up at the deadline. On a terminal it counts, elsewhere it says so once a minute."""

    def __init__(self, path: Path | str, deadline: float) -> None:
        self.path = path
        self.deadline = deadline
        self.began = time.monotonic()
        self.said = 0.0

    def step(self, why: str) -> None:
        """Waits a moment. why: who holds what is waited for. Raises WarehouseBusy at the deadline."""
        now = time.monotonic()
        if now >= self.deadline:
            self.done()
            raise WarehouseBusy(
                f"{self.path}: still busy after {now - self.began:.0f} s: {why}. Close it there or wait, then try again "
                "(TRACEHOUSE_TIMEOUT_S sets how long to wait)"
            )
        counts = sys.stderr.isatty()
        if now - (self.said or self.began) >= (
            WAIT_SAYS_AFTER_S if not self.said else 1.0 if counts else SAYS_AGAIN_AFTER_S
        ):
            times = f"{now - self.began:.0f} s so far, giving up in {self.deadline - now:.0f} s"
            self._say(f"waiting for the warehouse, {times}: {why}", counts)
            self.said = now
        time.sleep(POLL_S)

    def done(self) -> None:
        """Clears the line of the terminal that counts."""
        if self.said and sys.stderr.isatty():
            print(end="\r\x1b[K", file=sys.stderr, flush=True)

    def _say(self, text: str, counts: bool) -> None:
        if counts:
            columns = shutil.get_terminal_size().columns
            text = text if len(text) < columns else f"{text[: columns - 2]}…"
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def process_words(number: str) -> str:
    """A process, as people know it: its number and its command, where it is on this machine."""
    if not number.isdigit():
        return "process unknown"
    try:
        words = (Path("/proc") / number / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return f"process {number}"
    command = " ".join(word.rpartition("/")[2] if k < 2 else word for k, word in enumerate(words) if word)
    shown = "".join(letter if letter.isprintable() else "?" for letter in command)[:MOST_OF_A_COMMAND]
    return f"process {number}, {shown}" if shown else f"process {number}"
