"""A clock that runs many times as fast, for every process of a cluster: libfaketime, with one beginning that all of them share.

Slurm's daemons sleep and wait by it. This process itself stays in real time, and so does the database.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

BEGIN = "2024-01-01 00:00:00"
"""When the fast clock begins, UTC."""


class FastClock:
    """factor: fast seconds in a real one. environment: of processes that live by this clock. folder: for a file of the clock's own."""

    def __init__(self, factor: float, folder: Path, environment: dict[str, str]) -> None:
        self.factor = factor
        shown = folder / "environment"
        # without DONT_RESET each process would begin at BEGIN
        held = {name: value for name, value in environment.items() if name != "LD_PRELOAD"} | {
            "FAKETIME_DONT_RESET": "1"
        }
        hold = f"env -0 > '{shown}'; exec sleep 100000000"
        words = ["faketime", "-m", "-f", f"@{BEGIN} x{factor:g}", "sh", "-c", hold]
        self._holder = subprocess.Popen(words, env=held, cwd="/tmp", start_new_session=True)
        while not (shown.exists() and shown.stat().st_size > 100):
            time.sleep(0.02)
        time.sleep(0.1)
        entries = (entry.split("=", 1) for entry in shown.read_text().split("\0") if "=" in entry)
        self.environment = dict(entries)
        self._fast, self._real = min((self._pair() for _ in range(7)), key=lambda pair: pair[2])[:2]

    def _pair(self) -> tuple[float, float, float]:
        """A time of the fast clock, the real time in the middle of asking, and how long that took."""
        before = time.time()
        fast = subprocess.run(["date", "+%s.%N"], env=self.environment, capture_output=True, text=True, check=True)
        after = time.time()
        return float(fast.stdout), (before + after) / 2, after - before

    def now(self) -> float:
        """Unix seconds of the fast clock."""
        return self._fast + (time.time() - self._real) * self.factor

    def wait_until(self, moment: float) -> None:
        """Sleeps until this moment of the fast clock."""
        while (rest := (moment - self.now()) / self.factor) > 0:
            time.sleep(min(rest, 0.5))

    def end(self) -> None:
        """Ends the process that holds the clock. Its child is ended first, so that it gives its shared memory back."""
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        with suppress(OSError):
            for child in children.read_text().split():
                os.kill(int(child), signal.SIGTERM)
        try:
            self._holder.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._holder.pid, signal.SIGKILL)
            self._holder.wait()
