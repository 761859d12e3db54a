"""Two writers and four readers at the same time: what must hold at every moment does, and the end is that of an undisturbed run."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import duckdb
import numpy as np

import sql
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.removal import remove_source_data
from assets.ingest.update import update_raw_log
from benchmarks.faults.results import Result, compare_tables, read_tables
from benchmarks.faults.workers import Worker
from tests.assets.ingest.incremental import random_days
from traces.catalogue.sources import Source
from warehouse import Warehouse, WarehouseError

SECONDS = 600.0
WRITERS, READERS = 2, 4
LINES = 10
"""A file has a multiple of so many lines whenever it is ingested: a reader that sees another number sees part of a file."""
LONGEST_WAIT_S = 5.0
SHARES = {"own": 60, "shared": 35, "remove": 5}
"""What a writer does, in parts of a hundred."""
SHARED = "shared"
"""A source that both writers ingest."""


@dataclass
class Seen:
    """What one process has done and seen.

    operations: how many of each kind. waits_s: seconds of each operation of a writer, and until each reader could read. violated:
    what did not hold. tracebacks: exceptions that should not have come. lasted_s: seconds that the process has worked.
    """

    operations: Counter[str] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)
    violated: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    lasted_s: float = 0.0

    def note(self, what: str) -> None:
        """An exception that should not have come."""
        self.tracebacks.append(f"{what}: {traceback.format_exc(limit=-2)[-400:]}")


class GrowingLog:
    """A folder into which the lines of daily files come, LINES or a multiple at a time."""

    def __init__(self, folder: Path, seed: int, jobs: int, prefix: str = "") -> None:
        self.folder, self.prefix, self.random = folder, prefix, Random(seed)
        folder.mkdir(parents=True, exist_ok=True)
        days = random_days(np.random.default_rng(seed), 40, jobs)
        self.left = {day: content.splitlines(keepends=True) for day, content in days.items()}
        self.left = {
            day: lines[: len(lines) // LINES * LINES] for day, lines in self.left.items() if len(lines) >= LINES
        }

    def grow(self, files: int = 3) -> bool:
        """More lines come; False where there are no more."""
        for day in sorted(self.left)[:files]:
            count = LINES * self.random.randint(1, 8)
            path = self.folder / f"{self.prefix}{day}"
            hidden = path.with_name(f".{path.name}")
            hidden.write_bytes((path.read_bytes() if path.exists() else b"") + b"".join(self.left[day][:count]))
            hidden.rename(path)  # the other writer may be reading the folder
            self.left[day] = self.left[day][count:]
            if not self.left[day]:
                del self.left[day]
        return bool(self.left)


def write_for(folder: str, number: int, seed: int, seconds: float, shares: dict[str, int]) -> None:
    """A writer: ingests its own log as it grows, now and then the one that both have, and removes one to begin again."""
    here, seen, random = Path(folder), Seen(), Random(f"writer {number} {seed}")
    warehouse, end = Warehouse(here / "w.duckdb"), time.monotonic() + seconds
    name, life = f"own{number}", 0
    log = GrowingLog(here / name, seed * 100 + number, 3000)
    shared = GrowingLog(here / SHARED, seed * 100 + 50 + number, 9000, f"{number}-")
    while time.monotonic() < end:
        what = random.choices(list(shares), list(shares.values()))[0]
        began = time.monotonic()
        try:
            if what == "remove" or (what == "own" and not log.left):
                what = "remove"
                remove_source_data(warehouse, name, with_history=True)
                if not log.left:
                    shutil.rmtree(here / name)
                    life += 1
                    log = GrowingLog(here / name, seed * 100 + number + 1000 * life, 3000)
            (shared if what == "shared" else log).grow()
            _ingest(warehouse, here, SHARED if what == "shared" else name)
        except BaseException:
            seen.note(f"writer {number}, {what}")
        seen.operations[what] += 1
        seen.waits_s.append(time.monotonic() - began)
    seen.lasted_s = time.monotonic() - end + seconds
    print(json.dumps(vars(seen)))


def _ingest(warehouse: Warehouse, here: Path, name: str) -> None:
    update_raw_log(warehouse, Source(name, "pbs", here / name, procs=64))
    write_jobs(warehouse, name)


def read_for(folder: str, number: int, seed: int, seconds: float) -> None:
    """A reader: opens the warehouse, asks what must hold, and pauses for 0.1 to 0.5 s."""
    seen, random = Seen(), Random(f"reader {number} {seed}")
    warehouse, end = Warehouse(Path(folder) / "w.duckdb"), time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            with warehouse.read() as connection:
                seen.waits_s.append(time.monotonic() - began)
                seen.violated += list(violations(connection))[:3]
                seen.operations["read"] += 1
        except WarehouseError as error:
            if "no warehouse yet" not in str(error):
                seen.note(f"reader {number}")
        except BaseException:
            seen.note(f"reader {number}")
        time.sleep(random.uniform(0.1, 0.5))
    seen.lasted_s = time.monotonic() - end + seconds
    print(json.dumps(vars(seen)))


def violations(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """What does not hold at this moment."""
    for (source,) in connection.execute("SELECT DISTINCT source FROM raw.log_files").fetchall():
        for row in connection.execute(sql.load("checks.counts_add_up"), {"source": source}).fetchall():
            yield f"{source}: counts do not add up: {row}"
        for row in connection.execute(
            f"SELECT file, lines FROM raw.log_files WHERE source = ? AND lines % {LINES} <> 0", [source]
        ).fetchall():
            yield f"{source}: part of a file: {row}"
        (changed,) = connection.execute("SELECT count(*) FROM core.changed_files WHERE source = ?", [source]).fetchall()
        if changed == (0,):
            for row in connection.execute(sql.load("checks.every_record_is_a_job"), {"source": source}).fetchall():
                yield f"{source}: records and jobs differ: {row}"
    for row in connection.execute(
        "SELECT source, count(*), count(DISTINCT job_index), min(job_index), max(job_index) FROM core.jobs GROUP BY source "
        "HAVING count(*) <> count(DISTINCT job_index) OR min(job_index) <> 0 "
        "OR count(*) <> max(job_index) + 1"
    ).fetchall():
        yield f"job_index has gaps or repeats: {row}"
    for row in connection.execute("SELECT source, file FROM raw.log_files GROUP BY ALL HAVING count(*) > 1").fetchall():
        yield f"a file stands twice in the ledger: {row}"


def compare_with_fresh(folder: str) -> None:
    """In a worker's child: the logs once more, in a warehouse of their own. Prints the differences as JSON."""
    here = Path(folder)
    warehouse, fresh = Warehouse(here / "w.duckdb"), Warehouse(here / "fresh.duckdb")
    differences = []
    names = {path.parent.name for path in here.glob("*/*")}
    for name in sorted(name for name in names if name.startswith(("own", SHARED))):
        _ingest(fresh, here, name)
        ours, theirs = (read_tables(each.path, ("raw", "core"), name) for each in (warehouse, fresh))
        difference = compare_tables(ours, theirs)
        differences.append(
            [
                name,
                sum(rows.total() for rows in theirs.values()),
                [difference.lost, difference.doubled, difference.wrong],
            ]
        )
    print(json.dumps(differences))


def traffic_part(
    result: Result, folder: Path, seed: int, seconds: float, plant: str = "", shares: dict[str, int] = SHARES
) -> None:
    """Writers and readers for so long, and the comparison at the end."""
    here = folder / "work"
    here.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(folder / f"home-{number}", plant)) for number in range(WRITERS + READERS)]
        for number, worker in enumerate(workers):
            function = "write_for" if number < WRITERS else "read_for"
            more = [shares] if number < WRITERS else []
            worker.start(f"benchmarks.faults.traffic:{function}", str(here), number, seed, seconds, *more)
        for number, worker in enumerate(workers):
            ended = worker.end()
            kind = "writer" if number < WRITERS else "reader"
            lines = ended.printed.strip().splitlines()
            if ended.code or not lines or not lines[-1].startswith("{"):
                result.tracebacks += 1
                result.findings.append(f"{kind} {number} ended with {ended.code}: {ended.printed[-300:]}")
                continue
            _add_row(f"{kind} {number}", Seen(**json.loads(lines[-1])), result)
        ended = workers[0].call("benchmarks.faults.traffic:compare_with_fresh", str(here))
    if ended.code:
        result.tracebacks += 1
        result.findings.append(f"the ingest at the end: {ended.printed[-400:]}")
        return
    result.lines.append("")
    for name, rows, difference in json.loads(ended.printed.strip().splitlines()[-1]):
        lost, doubled, wrong = difference
        result.lines.append(f"- {name} at the end: {rows:,} rows, {lost} lost, {doubled} doubled, {wrong} wrong")
        if lost or doubled or wrong:
            result.difference.lost += lost
            result.difference.doubled += doubled
            result.difference.wrong += wrong
            result.findings.append(f"{name} at the end: {lost} rows lost, {doubled} doubled, {wrong} wrong")


def _add_row(name: str, seen: Seen, result: Result) -> None:
    waits = sorted(seen.waits_s) or [0.0]
    done = ", ".join(f"{count:,} {what}" for what, count in sorted(seen.operations.items()))
    is_reader = name.startswith("reader")
    total = sum(seen.operations.values())
    rate = f"{total / seen.lasted_s:.2f}" if seen.lasted_s else ""
    times = (f"{waits[len(waits) // 2]:.2f}", f"{waits[-1]:.2f}")
    result.add(name, done, rate, *times, len(seen.violated), len(seen.tracebacks))
    result.require(total > 0, f"{name} has {'read' if is_reader else 'ingested'} nothing")
    result.tracebacks += len(seen.tracebacks)
    result.difference.wrong += len(seen.violated)
    result.findings += [f"{name}: {line}" for line in (*seen.tracebacks[:3], *seen.violated[:3])]
    if is_reader and waits[-1] > LONGEST_WAIT_S:
        result.findings.append(f"{name} waited {waits[-1]:.1f} s")


def traffic(folder: Path, seed: int, quick: bool) -> Result:
    """The part of the campaign."""
    result = Result("traffic")
    seconds = SECONDS / 20 if quick else SECONDS
    result.lines.append(
        f"{seconds:,.0f} seconds. Of a writer: seconds of an ingest. Of a reader: seconds until it may read."
    )
    result.head("process", "operations", "a second", "median, s", "longest, s", "violated", "tracebacks")
    traffic_part(result, folder, seed, seconds)
    return result
