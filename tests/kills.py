"""Kills work at chosen or random moments, and looks at what it leaves: for tests, and for larger campaigns.

The work is done by a fork of this process, since a process of its own would need a second to begin. It is ended as SIGKILL ends
it: nothing is cleaned up.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from time import monotonic

from assets.common.archive import unpack_archive
from assets.common.backup import back_up
from assets.common.journal import JOURNAL
from assets.common.restore import restore_backup
from assets.common.storage import data_folder, open_warehouse, store_model, write_whole
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from tests.tiny import swf_line
from traces.catalogue.places import home, local_catalogue_path, pseudonym_key_path
from traces.catalogue.sources import Source
from traces.common.pseudonyms import read_key

Work = Callable[[], object]
REGISTRIES = (
    "predictions.model_versions",
    "predictions.remaining_time_models",
    "policies.scheduling_policies",
    "experiments.policies",
)
"""Tables that name model files."""
EACH = 4
"""After every fourth kill the work is done again, and must leave nothing behind."""
FILE_EVENTS = ("open", "os.", "shutil.")
"""Audit events of Python that come before an operation on files begin so."""


@dataclass
class Outcome:
    """What kills have left. writing: kills after which files were not those from before. too_late: tries that were over before the
    kill. old: how often the state before was left. broken: what was neither that nor the state after, in words. seconds: of the
    work when nobody kills it."""

    kills: int = 0
    writing: int = 0
    too_late: int = 0
    old: int = 0
    broken: list[str] = field(default_factory=list)
    seconds: float = 0.0


def file_operations(work: Work) -> int:
    """How many operations on files the work makes, when nobody kills it."""
    read_end, write_end = os.pipe()
    count = 0

    def hook(event: str, _: object) -> None:
        nonlocal count
        count += event.startswith(FILE_EVENTS)

    def counted() -> None:
        sys.addaudithook(hook)
        work()
        os.write(write_end, str(count).encode())

    try:
        assert _in_fork(counted) == 0, "the work fails when nobody kills it"
        return int(os.read(read_end, 100))
    finally:
        os.close(read_end)
        os.close(write_end)


def killed_at(work: Work, operation: int) -> bool:
    """Does the work, and kills it just before its n-th operation on files, from 0. Returns False where it was done before."""
    left = operation

    def hook(event: str, _: object) -> None:
        nonlocal left
        if event.startswith(FILE_EVENTS):
            left -= 1  # before the kill, which is an event, too
            if left == -1:
                os.kill(os.getpid(), signal.SIGKILL)

    def watched() -> None:
        sys.addaudithook(hook)
        work()

    return _was_killed(watched)


def killed_after(work: Work, seconds: float) -> bool:
    """Does the work, and kills it after some time. Returns False where it was done before."""

    def timed() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process on the spot, as SIGKILL does
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        work()
        signal.setitimer(signal.ITIMER_REAL, 0)

    return _was_killed(timed)


def _was_killed(work: Work) -> bool:
    code = _in_fork(work)
    assert code <= 0, "the work failed before it could be killed"
    return code < 0


def _in_fork(work: Work) -> int:
    """The exit code of a fork of this process that does the work. A negative one is that of a signal."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def in_home(folder: Path) -> Iterator[None]:
    """tracehouse uses this home meanwhile, and the catalogue in it."""
    names = ("TRACEHOUSE_HOME", "TRACEHOUSE_SOURCES")
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ["TRACEHOUSE_HOME"] = str(folder)
    try:
        yield
    finally:
        del os.environ["TRACEHOUSE_HOME"]
        os.environ.update(before)


def make_small_home(folder: Path, jobs: int) -> None:
    """A home with one source of so many jobs, a model file in each registry, a key, a catalogue and a report."""
    with in_home(folder):
        folder.mkdir(parents=True)
        log = folder / "mine.swf"
        log.write_text("; MaxProcs: 8\n" + "".join(swf_line(n, n * 10, 5, 10, 4, 100) for n in range(1, jobs + 1)))
        local_catalogue_path().write_text(
            f'[sources.mine]\nformat = "swf"\npath = "{log}"\ndescription = "{jobs} jobs"\n'
        )
        update_raw_log(open_warehouse(), Source("mine", "swf", log))
        write_jobs(open_warehouse(), "mine")
        for number, table in enumerate(REGISTRIES):
            _register(table, *store_model("mine", f"model-{number}", f"{folder.name} {number}".encode()))
        read_key(pseudonym_key_path())
        write_whole(data_folder() / "reports" / "mine.html", b"report")


def _register(table: str, file: str, sha256: str) -> None:
    """A row of a registry that names a model file. Columns that must not be empty get a value of their type."""
    values = {"BIGINT": 1, "DOUBLE": 1.0, "BOOLEAN": True, "TIMESTAMP": datetime(2026, 3, 1), "VARCHAR": "x"}
    with open_warehouse().write() as connection:
        columns = {name: values[kind] for name, kind, *_ in connection.execute(f"DESCRIBE {table}").fetchall()}
        columns |= {"source": "mine", "file": file, "sha256": sha256}
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(columns.values()))
        if table == "predictions.model_versions":
            connection.execute(
                "INSERT INTO predictions.model_events (source, event, data_until, kind, version, champion, reason) "
                "VALUES ('mine', 1, '2026-03-01', 'first', 1, 1, 'x')"
            )


def state_of_home() -> dict[str, str]:
    """What counts of the home in use: the hash of each file, by its place. Locks and what is hidden do not count."""
    data = data_folder()
    files = [pseudonym_key_path(), local_catalogue_path(), data / JOURNAL, *data.rglob("*")]
    return {
        os.path.relpath(path, home()): sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_file()
        and path.suffix != ".lock"
        and not any(p.startswith(".") for p in path.relative_to(home()).parts)
    }


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """(size in bytes, time of change in ns) of each file, by its place."""
    stats = {os.path.relpath(path, folder): path.stat() for path in folder.rglob("*") if path.is_file()}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def random_kills(work: Work, kills: int, seed: int) -> Iterator[Callable[[], bool]]:
    """That many ways to kill the work: half of them at a random operation on files, half after a random time. Each is called once,
    and returns whether the work was killed. The work is done twice before, to be counted and timed."""
    draw = random.Random(seed)
    operations = file_operations(work)
    began = monotonic()
    assert _in_fork(work) == 0
    seconds = monotonic() - began
    for number in range(kills):
        if number % 2:
            yield lambda: killed_after(work, draw.uniform(0, seconds))
        else:
            yield lambda: killed_at(work, draw.randrange(operations))


def kill_restores(folder: Path, kills: int, seed: int = 1) -> Outcome:
    """Kills `restore --replace` that many times; each must leave the old home or the new one, which the next command has finished."""
    make_small_home(folder / "old", 50)
    make_small_home(folder / "new", 70)
    archive, victim = folder / "new.tar.zst", folder / "victim"
    with in_home(folder / "new"):
        assert back_up(archive).lost == []
    outcome = Outcome()

    def fresh() -> None:
        shutil.rmtree(victim, ignore_errors=True)
        shutil.copytree(folder / "old", victim)

    fresh()
    with in_home(victim):
        before = state_of_home()
        began = monotonic()
        restore_backup(archive, replace=True)
        outcome.seconds = monotonic() - began
        after = state_of_home()
        assert before != after
        for kill in random_kills(lambda: restore_backup(archive, replace=True), kills, seed):
            fresh()
            untouched = files_of(victim)
            killed = kill()
            outcome.writing += killed and files_of(victim) != untouched
            open_warehouse().settle()
            state = state_of_home()
            outcome.kills += killed
            outcome.too_late += not killed
            outcome.old += state == before
            if state not in (before, after) or (not killed and state != after):
                outcome.broken.append(f"kill {outcome.kills} of a restore: {sorted(state.items() ^ before.items())}")
            if outcome.kills % EACH:
                continue
            restore_backup(archive, replace=True)
            if state_of_home() != after or list(data_folder().glob(".restore*")):
                outcome.broken.append(f"the restore after kill {outcome.kills} is not whole")
    return outcome


def kill_backups(folder: Path, kills: int, seed: int = 1) -> Outcome:
    """Kills `backup --replace` that many times; each must leave the archive that was there or a new one, and the home as it was."""
    make_small_home(folder / "home", 50)
    archive, kept = folder / "archive.tar.zst", folder / "kept.tar.zst"
    outcome = Outcome()
    with in_home(folder / "home"):
        before = state_of_home()
        began = monotonic()
        assert back_up(kept).lost == []
        outcome.seconds = monotonic() - began
        for kill in random_kills(lambda: back_up(archive, replace=True), kills, seed):
            shutil.copy(kept, archive)
            copied = archive.stat().st_ino
            untouched = files_of(folder)
            killed = kill()
            outcome.writing += killed and files_of(folder) != untouched
            outcome.kills += killed
            outcome.too_late += not killed
            is_old = archive.stat().st_ino == copied  # a new one may have the same bytes
            outcome.old += is_old
            unpacked = folder / "unpacked"
            unpack_archive(archive, unpacked, lambda _: None, lambda _: None)
            shutil.rmtree(unpacked)
            if state_of_home() != before or (not killed and is_old):
                outcome.broken.append(
                    f"kill {outcome.kills} of a backup: {sorted(state_of_home().items() ^ before.items())}"
                )
            if outcome.kills % EACH:
                continue
            back_up(archive, replace=True)
            if list(data_folder().glob(".backup")) or list(folder.glob("*.part")):
                outcome.broken.append(f"the backup after kill {outcome.kills} has left files")
    return outcome
