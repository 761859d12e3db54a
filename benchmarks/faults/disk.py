"""Disk full: one line that says so, and once there is room a later run ends as if nothing had happened."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from benchmarks.faults.kills import Victim, database_of, empty_folder, ingest_victim, put_back, replay_victim
from benchmarks.faults.results import Result, read_tables
from benchmarks.faults.workers import Ended, Worker, command

SIZES = 20
ROOM = "2g"
COMMAND = "benchmarks.faults.disk:command_with_little_room"


class MountError(RuntimeError):
    """A file system in memory could not be made, or not be given another size."""


def can_mount(folder: Path) -> bool:
    """Whether a file system in memory may be made here."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _mount(folder, "1m")
    except MountError:
        return False
    subprocess.run(["umount", str(folder)], check=True)
    return True


def _mount(folder: Path, size: str, again: bool = False) -> None:
    options = f"{'remount,' if again else ''}size={size}"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    made = subprocess.run(command, check=False, capture_output=True, text=True)
    if made.returncode:
        raise MountError(f"{folder}: no file system with {options}: {made.stderr.strip()}")


@contextmanager
def file_system(folder: Path) -> Iterator[None]:
    """A file system in memory at this folder, with room enough at first."""
    _mount(folder, ROOM)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def command_with_little_room(most_bytes: int, *arguments: str) -> None:
    """A `tracehouse` command that may make no file longer than this."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    command(*arguments)


def used_bytes(folder: Path) -> int:
    """What is in use in a file system."""
    status = os.statvfs(folder)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


class _Peak:
    """Looks all the time how much is in use."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bytes, self.over = folder, 0, False
        self.thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self.over:
            self.bytes = max(self.bytes, used_bytes(self.folder))
            time.sleep(0.002)

    def __enter__(self) -> _Peak:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over = True
        self.thread.join()


def _look_at_failure(what: str, ended: Ended, result: Result) -> None:
    result.look_at(what, ended.printed)
    errors = [line for line in ended.printed.splitlines() if line.startswith("Error: ")]
    last = (ended.printed.strip().splitlines() or [""])[-1]
    if ended.code not in (1, 2) or len(errors) != 1 or last != errors[0]:
        result.findings.append(f"{what}: exit code {ended.code}, not one line of error: {ended.printed.strip()[-400:]}")


def fill(victim: Victim, sizes: int, random: Random, result: Result) -> None:
    """Runs a command on disks of random sizes between what its home has and what the command needs."""
    home, worker = victim.worker.home, victim.worker
    put_back(victim.base, home)
    before = used_bytes(home)
    with _Peak(home) as peak:
        worker.command(*victim.arguments)
    failed, before_findings = 0, len(result.findings)
    for number in range(sizes):
        _mount(home, ROOM, again=True)
        put_back(victim.base, home)
        size = random.randrange(before + 4096, max(peak.bytes, before + 8192))
        what = f"{victim.name}, disk {number + 1} of {size:,} bytes"
        _mount(home, f"{-(-size // 4096) * 4}k", again=True)
        ended = worker.command(*victim.arguments)
        if ended.code:
            failed += 1
            _look_at_failure(what, ended, result)
        _mount(home, ROOM, again=True)
        _go_on(what, victim, result)
    row = (
        f"{before / 1e6:.1f} to {peak.bytes / 1e6:.1f}",
        failed,
        sizes - failed,
        len(result.findings) - before_findings,
    )
    result.add(victim.name, sizes, *row)
    result.require(failed > 0, f"{victim.name}: no command ended for lack of room")


def fill_files(victim: Victim, sizes: int, random: Random, result: Result) -> None:
    """The same where nothing may be mounted: no file may become longer than a limit."""
    worker, failed, before = victim.worker, 0, len(result.findings)
    needed = database_of(worker.home).stat().st_size
    for number in range(sizes):
        put_back(victim.base, worker.home)
        size = random.randrange(4096, needed)
        what = f"{victim.name}, files of {size:,} bytes at most"
        ended = worker.call(COMMAND, size, *map(str, victim.arguments))
        if ended.code:
            failed += 1
            _look_at_failure(f"{what} ({number})", ended, result)
        _go_on(what, victim, result)
    result.add(
        victim.name, sizes, f"files up to {needed / 1e6:.1f}", failed, sizes - failed, len(result.findings) - before
    )
    result.require(failed > 0, f"{victim.name}: no command ended for lack of room")


def _go_on(what: str, victim: Victim, result: Result) -> None:
    """There is room again."""
    ended = victim.worker.command(*victim.arguments)
    result.look_at(f"{what}, with room again", ended.printed)
    if ended.code:
        result.findings.append(f"{what}, with room again: exit code {ended.code}: {ended.printed.strip()[-300:]}")
    result.compare(what, read_tables(database_of(victim.worker.home)), victim.undisturbed)


def disk(folder: Path, seed: int, quick: bool) -> Result:
    """The part of the campaign."""
    result, random = Result("disk"), Random(f"disk {seed}")
    mounts = can_mount(folder / "try")
    result.lines.append(
        "A file system in memory (tmpfs) of each size." if mounts else "No mounting here: files have a longest size."
    )
    result.head("command", "sizes", "MB", "failed", "had room enough", "findings")
    sizes = 1 if quick else SIZES // 2
    for name, make in (("ingest", ingest_victim), ("replay", replay_victim)):
        here = folder / name
        home = here / "home"
        home.mkdir(parents=True)
        if mounts:
            try:
                with file_system(home), Worker(home) as worker:
                    fill(make(worker, here, seed), sizes, random, result)
                    empty_folder(home)
            except MountError as error:
                result.undone.append(f"{name}: {error}")
        else:
            with Worker(home) as worker:
                fill_files(make(worker, here, seed), sizes, random, result)
        shutil.rmtree(here / "log", ignore_errors=True)
    return result
