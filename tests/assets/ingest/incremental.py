"""Log files that are delivered bit by bit: what the tests of incremental ingest share.

Times of records are seconds after ZERO.
"""

from __future__ import annotations

import atexit
import gzip
import lzma
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import zstandard

import sql
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import Ingested, update_raw_log
from tests.tiny import assert_same_tables
from traces.catalogue.sources import Source
from traces.common.blocks import LogStream
from warehouse import Warehouse, door
from warehouse.file_door import FileDoor

ZERO = 1_772_323_200
"""Midnight of 2026-03-01, UTC."""
DAY = 86_400
TABLES = (
    "raw.log_files", "raw.line_counts", "raw.rejects", "raw.log_headers", "raw.pbs_records", "raw.slurm_jobs",
    "raw.swf_jobs", "core.jobs", "core.requeues", "core.repeats", "core.suspensions", "core.job_nodes",
    "core.capacity", "core.clusters", "core.sources",
    "core.changed_files",
)  # fmt: skip
PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".xz": lzma.compress,
}
CHECKS = ("checks.counts_add_up", "checks.every_record_is_a_job")


class OpenWarehouse(Warehouse):
    """A warehouse in memory whose connection stays open: a tenth of the time that opening and closing a file takes. A lake whose
    connection stays open, where the tests use lakes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "w.duckdb")
        if self.lake is not None:
            with super().write():
                pass
            self.connection = self._connect(read_only=False, deadline=time.monotonic() + 10)
            return
        self.path.touch()
        with TemporaryDirectory() as temporary:
            empty = Path(temporary) / "empty.duckdb"
            with Warehouse(empty).write():  # which is a copy, too, see tests/conftest.py
                pass
            self.connection = duckdb.connect(config={"threads": 1})
            self.connection.execute(f"ATTACH '{empty}' AS empty (READ_ONLY)")
            self.connection.execute("COPY FROM DATABASE empty TO memory")
            self.connection.execute("DETACH empty")

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        yield self.connection

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        self.connection.execute("BEGIN")
        try:
            yield self.connection
            self.connection.execute("COMMIT")
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise

    def transact(self, partition: str, function: Callable[[duckdb.DuckDBPyConnection], Any]) -> Any:
        with self.write() as connection:
            return function(connection)


class Log:
    """The log of one source: a folder to which files come, and the warehouse that takes them in.

    source: may be exchanged for another entry of the catalogue.
    """

    def __init__(self, warehouse: Warehouse, folder: Path, log_format: str = "pbs", **options: Any) -> None:
        self.warehouse = warehouse
        self.folder = folder / "log"
        self.folder.mkdir(parents=True)
        self.source = Source("mine", log_format, self.folder, **options)

    def write(self, file: str, *content: str | bytes) -> Path:
        """A file with new content."""
        path = self.folder / file
        path.write_bytes(b"".join(part if isinstance(part, bytes) else part.encode() for part in content))
        return path

    def append(self, file: str, *content: str | bytes) -> None:
        path = self.folder / file
        self.write(file, path.read_bytes() if path.exists() else b"", *content)

    def ingest(self) -> Ingested:
        done = update_raw_log(self.warehouse, self.source)
        write_jobs(self.warehouse, self.source.name)
        assert faults(self.warehouse, self.source.name) == []
        return done

    def tables(self) -> dict[str, pl.DataFrame]:
        return tables(self.warehouse, self.source.name)

    def fresh(self) -> dict[str, pl.DataFrame]:
        """The tables of one ingest of the files as they are now, into a file where the tests use lakes."""
        other, warehouse = replace(self.source, name="fresh"), self.warehouse
        if warehouse.lake is not None:
            warehouse = _warehouse_in_memory()
        update_raw_log(warehouse, other)
        write_jobs(warehouse, other.name)
        found = tables(warehouse, other.name)
        _forget(warehouse, other.name)
        return found

    def forget(self, source: str = "mine") -> None:
        """Takes a source out of the warehouse, which other tests use too."""
        _forget(self.warehouse, source)

    def copy(self, source: str, to: str) -> None:
        """Gives a source the rows of another one in place of its own, which costs a tenth of ingesting the same files."""
        self.forget(to)
        with self.warehouse.write() as connection:
            for table in TABLES:
                rows = f"SELECT * REPLACE ($to AS source) FROM {table} WHERE source = $source"
                connection.execute(f"INSERT INTO {table} {rows}", {"source": source, "to": to})

    def assert_like_fresh(self) -> None:
        """All tables are those of one ingest of the files as they are now."""
        assert_same_tables(self.tables(), self.fresh())

    def jobs(self, *columns: str) -> list[tuple[Any, ...]]:
        return self.rows(f"SELECT {', '.join(columns)} FROM core.jobs WHERE source = $source ORDER BY job_index")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.warehouse.read() as connection:
            return connection.execute(query, {"source": self.source.name}).fetchall()


def _forget(warehouse: Warehouse, source: str) -> None:
    with warehouse.write() as connection:
        for table in TABLES:
            connection.execute(f"DELETE FROM {table} WHERE source = ?", [source])


@cache
def _warehouse_in_memory() -> OpenWarehouse:
    """One for all tests of this process, which take their rows out again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "door_of", FileDoor)
        made = OpenWarehouse(Path(mkdtemp(prefix="fresh-")))
    atexit.register(rmtree, made.door.folder, ignore_errors=True)
    return made


def new_time(path: Path, later_s: int = 10) -> None:
    """A later time of change than any before, whatever the clock of the file system tells apart."""
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns + later_s * 10**9))


def tables(warehouse: Warehouse, source: str) -> dict[str, pl.DataFrame]:
    """The rows of one source in every table that ingest writes, in a fixed order."""
    with warehouse.read() as connection:
        return {
            table: connection.sql(
                f"SELECT * EXCLUDE (source) FROM {table} WHERE source = $source ORDER BY ALL", params={"source": source}
            ).pl()
            for table in TABLES
        }


def faults(warehouse: Warehouse, source: str, checks: tuple[str, ...] = CHECKS) -> list[tuple[Any, ...]]:
    """What the warehouse's own checks find wrong with one source."""
    with warehouse.read() as connection:
        return [
            (check, *row)
            for check in checks
            for row in connection.execute(sql.load(check), {"source": source}).fetchall()
        ]


ASKED = (
    "Resource_List.ncpus={procs} Resource_List.select=1:ncpus={procs} Resource_List.walltime=01:00:00 "
    "Resource_List.mem=4gb Resource_List.nodect=1"
)


def record(kind: str, job: int | str, at: int, text: str = "") -> str:
    """Any PBS record, stamped `at`."""
    return f"{time.strftime('%m/%d/%Y %H:%M:%S', time.gmtime(ZERO + at))};{kind};{job}.head;{text}\n"


def queued(job: int | str, submit: int, user: str = "ann", procs: int = 4, at: int | None = None) -> str:
    return record("Q", job, submit if at is None else at, f"{_submitted(submit, user)} {ASKED.format(procs=procs)}")


def started(job: int | str, submit: int, start: int, user: str = "ann", procs: int = 4) -> str:
    return record("S", job, start, f"{_submitted(submit, user)} {_ran(start, procs)}")


def ended(job: int | str, submit: int, start: int, end: int, user: str = "ann", procs: int = 4, status: int = 0) -> str:
    return record("E", job, end, f"{_submitted(submit, user)} {_ran(start, procs)} {_used(end, procs, status)}")


def requeued(job: int | str, submit: int, start: int, end: int, user: str = "ann", procs: int = 4) -> str:
    return record("R", job, end, f"{_submitted(submit, user)} {_ran(start, procs)} {_used(end, procs, -3)}")


def deleted(job: int | str, at: int) -> str:
    return record("D", job, at, "requestor=root@head")


def aborted(job: int | str, at: int) -> str:
    return record("A", job, at, "Job aborted by server")


def _submitted(submit: int, user: str) -> str:
    return f"user={user} group=g queue=q jobname=run ctime={ZERO + submit} qtime={ZERO + submit} etime={ZERO + submit}"


def _ran(start: int, procs: int) -> str:
    return f"start={ZERO + start} exec_host=n1/0*{procs} {ASKED.format(procs=procs)}"


def _used(end: int, procs: int, status: int) -> str:
    return (
        f"end={ZERO + end} Exit_status={status} resources_used.cput=00:01:00 resources_used.ncpus={procs} "
        "resources_used.mem=1000kb"
    )


def random_days(rng: np.random.Generator, days: int, jobs: int) -> dict[str, bytes]:
    """Daily files of a PBS server in which all there is happens: jobs that run over midnight, are requeued, deleted while they
    wait or run, told twice, or have an id that was in use before."""
    lines: list[tuple[int, str]] = []
    for job in range(jobs):
        if job and rng.random() < 0.1:
            job -= 1  # the id of another job
        submit, wait, run, pause = (int(s) for s in rng.integers(1, [days * DAY, DAY, DAY, DAY // 2]))
        start, user, procs = submit + wait, f"u{rng.integers(5)}", int(rng.integers(1, 9))
        end, who = start + run, (user, procs)
        lines.append((submit, queued(job, submit, *who)))
        fate = rng.choice(["ran", "ran", "deleted", "aborted", "requeued", "deleted as it ran", "told twice"])
        if fate == "deleted":
            lines.append((start, deleted(job, start)))
            continue
        if fate == "aborted":
            lines.append((start, aborted(job, start)))
            continue
        lines.append((start, started(job, submit, start, *who)))
        if fate == "requeued":
            kind = requeued if rng.random() < 0.5 else ended
            lines.append((end, kind(job, submit, start, end, *who)))
            start, end = end + pause, end + pause + run
            lines.append((start, started(job, submit, start, *who)))
        if fate == "deleted as it ran":
            lines.append((end - 1, deleted(job, end - 1)))
        lines.append((end, ended(job, submit, start, end, *who)))
        if fate == "told twice":
            lines.append((end + 50_000, ended(job, submit, start, end, *who)))
    files: dict[str, list[str]] = {}
    for at, line in sorted(lines):
        files.setdefault(time.strftime("%Y%m%d", time.gmtime(ZERO + at)), []).append(line)
    return {file: "".join(found).encode() for file, found in sorted(files.items())}


class Delivery:
    """Changes a log's folder at random, one file at a time, until all that is to come has come."""

    def __init__(self, log: Log, seed: int) -> None:
        self.log, self.rng = log, np.random.default_rng(seed)
        self.days = random_days(self.rng, days=4, jobs=9)
        self.come = dict.fromkeys(self.days, 0)
        self.name = {day: day for day in self.days}
        self.copies: list[tuple[str, str]] = []

    def store(self, day: str) -> None:
        path = Path(self.name[day])
        self.log.write(path.name, PACK.get(path.suffix, bytes)(self.days[day][: self.come[day]]))

    def change(self) -> str:
        """One delivery; says what came."""
        begun = [day for day in self.days if self.come[day]]
        what = self.rng.choice(["append", "append", "append", "pack", "rename", "again", "remove", "touch"])
        if what == "remove" and not self.copies:
            what = "again"
        if what == "append" or not begun:
            day = self.rng.choice([day for day in self.days if self.come[day] < len(self.days[day])] or list(self.days))
            self.come[day] = self.cut(self.days[day], self.come[day])
            self.store(day)
            return f"{day} to byte {self.come[day]}"
        day = self.rng.choice(begun)
        path = self.log.folder / self.name[day]
        if what == "touch":
            new_time(path, int(self.rng.integers(1, 99)))
        elif what == "again":
            name = f"{self.rng.choice(['a', 'z'])}{len(self.copies)}.{path.name}"
            self.log.write(name, path.read_bytes())
            self.copies.append((name, day))
        elif what == "remove":
            name, day = self.copies.pop()
            if self.unpacked(self.log.folder / name) == self.days[day][: self.come[day]]:  # else its rows would stay
                (self.log.folder / name).unlink()
        else:
            suffix = str(self.rng.choice(list(PACK))) if what == "pack" else f".{self.rng.integers(9)}"
            self.name[day] = day + suffix
            path.unlink()
            self.store(day)
        return f"{what} {day}"

    def cut(self, content: bytes, begin: int) -> int:
        """Where the next piece ends: at any byte, but after a line at least (a run with nothing but half a line: see above)."""
        least = content.find(b"\n", content.find(b"\n", begin) + 1)
        return int(self.rng.integers(least, len(content))) if 0 <= least < len(content) - 1 else len(content)

    def finish(self) -> None:
        for day in self.days:
            self.come[day] = len(self.days[day])
            self.store(day)

    @staticmethod
    def unpacked(path: Path) -> bytes:
        return b"".join(block.content for block in LogStream(path))
