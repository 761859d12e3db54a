"""Processes that do the work: a worker imports everything once, then forks a child for every call.

A child is a process of its own, as a command that a user starts. What is saved is the time to begin. `python -m
benchmarks.faults.workers HOME` is a worker; it reads one call a line, as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

PROJECT = Path(__file__).resolve().parents[2]
COMMAND = "benchmarks.faults.workers:command"
LONGEST_S = 900


@dataclass
class Ended:
    """How a child ended. printed: what it wrote to both streams. code: negative for a signal. peak_mib: its memory."""

    code: int
    printed: str
    seconds: float
    peak_mib: float

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Worker:
    """A worker for one home. plant: a fault that all its children have, see benchmarks/faults/plants.py. number: of the workers that
    share the home."""

    def __init__(self, home: Path, plant: str = "", number: int = 0) -> None:
        self.home, self.plant = home, plant
        self.output = home.with_name(f".{home.name}-{number}.printed")
        home.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            "TRACEHOUSE_HOME": str(home),
            "POLARS_MAX_THREADS": "2",
            "PYTHONPATH": str(PROJECT),
        }
        for name in ("DAGSTER_HOME", "TRACEHOUSE_SOURCES"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.faults.workers", str(home)],
            env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT,
        )  # fmt: skip
        self.child = 0
        self.began = 0.0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        if self.child:
            self.kill()
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()

    def start(self, function: str, *arguments: object) -> None:
        """Starts a child that calls a function, given as module:name."""
        call = {"function": function, "arguments": arguments, "plant": self.plant, "output": str(self.output)}
        assert self.process.stdin and self.process.stdout
        print(json.dumps(call), file=self.process.stdin, flush=True)
        self.child = int(self.process.stdout.readline())
        self.began = time.monotonic()

    def kill(self) -> None:
        """Ends the child as the system does it, without a warning. One that has just ended stays as it ended."""
        with suppress(ProcessLookupError):
            os.kill(self.child, signal.SIGKILL)

    def end(self, kill_after: float | None = None) -> Ended:
        """Waits for the child; kills it after so many seconds since it began."""
        stdout = self.process.stdout
        assert stdout
        left = (LONGEST_S if kill_after is None else kill_after) - (time.monotonic() - self.began)
        if not select.select([stdout], [], [], max(left, 0))[0]:
            self.kill()
        code, peak_kib = map(int, stdout.readline().split())
        self.child = 0
        printed = self.output.read_text(errors="replace")
        return Ended(code, printed, time.monotonic() - self.began, peak_kib / 1024)

    def call(self, function: str, *arguments: object, kill_after: float | None = None) -> Ended:
        """Calls a function in a child, and waits."""
        self.start(function, *arguments)
        return self.end(kill_after)

    def command(self, *arguments: object, kill_after: float | None = None) -> Ended:
        """A `tracehouse` command."""
        return self.call(COMMAND, *map(str, arguments), kill_after=kill_after)


def command(*arguments: str) -> NoReturn:
    """`tracehouse` with these arguments; ends the process as the command does."""
    from tracehouse.cli.main import main

    main(list(arguments), prog_name="tracehouse")
    sys.exit(0)


def _serve() -> None:
    import pipelines.running  # noqa: F401
    from tests.assets.ingest.incremental import ended
    from traces.pbs.scan import scan

    scan(ended(1, 2, 3, 4).encode())
    while line := sys.stdin.readline():
        call = json.loads(line)
        child = os.fork()
        if not child:
            _be_child(call)
        print(child, flush=True)
        _, status, usage = os.wait4(child, 0)
        print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, flush=True)


def _be_child(call: dict[str, Any]) -> NoReturn:
    output = os.open(call["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for there, here in ((null, 0), (output, 1), (output, 2)):
        os.dup2(there, here)
    code = 1
    try:
        if call["plant"]:
            from benchmarks.faults.plants import PLANTS

            PLANTS[call["plant"]].change()
        module, _, name = call["function"].partition(":")
        getattr(importlib.import_module(module), name)(*call["arguments"])
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
