"""2 GB of PBS logs are ingested, as many files and as one file, while a reader opens the warehouse all the time: how long it waits."""

from __future__ import annotations

import json
import shutil
import statistics
import time
from pathlib import Path

from benchmarks.faults.kills import database_of
from benchmarks.faults.results import Result
from benchmarks.faults.workers import Worker
from benchmarks.pbs_logs import write_days
from warehouse import Warehouse, WarehouseError

GIGABYTES = 2.0
RECORD_BYTES = 843
"""Of an end record that `write_days` writes, on average."""
JOBS_A_DAY = 5000
LONGEST_WAIT_S = 5.0
EACH_S = 0.1
"""The reader waits this long between two openings, less what the first of them has taken."""
PART_BYTES = 8 << 20


def watch(database: str, over: str) -> None:
    """In a worker's child: opens the warehouse again and again until the file `over` is there, and once more. Prints as JSON: (second
    since the beginning, seconds waited) of each opening, the different (files, records) that were seen, those that were seen last,
    and the seconds between the first opening and the end."""
    warehouse, began = Warehouse(Path(database)), time.monotonic()
    waits: list[tuple[float, float]] = []
    seen: list[tuple[int, int]] = []
    is_over = False
    while not is_over:
        is_over, start = Path(over).exists(), time.monotonic()
        try:
            with warehouse.read() as connection:
                waits.append((start - began, time.monotonic() - start))
                (files,) = connection.execute("SELECT count(*) FROM raw.log_files").fetchall()
                (records,) = connection.execute("SELECT count(*) FROM raw.pbs_records").fetchall()
                seen.append((files[0], records[0]))
        except WarehouseError as error:
            if "no warehouse yet" not in str(error):
                raise
        time.sleep(max(EACH_S - (time.monotonic() - start), 0))
    lasted = time.monotonic() - began - waits[0][0] if waits else 0.0
    print(json.dumps([waits, sorted(set(seen)), seen[-1:], lasted]))


def one_file(days: Path, target: Path) -> None:
    """All files of a folder, one behind the other."""
    with target.open("wb") as file:
        for path in sorted(days.iterdir()):
            with path.open("rb") as part:
                shutil.copyfileobj(part, file, PART_BYTES)


def ingest_watched(name: str, log: Path, folder: Path, jobs: int, result: Result) -> None:
    """Ingests a log by its command beside a reader, and adds a row to the table."""
    over, home = folder / f"{name}.over", folder / f"home-{name}"
    with Worker(home) as writer, Worker(folder / f"home-{name}-reader") as reader:
        reader.start("benchmarks.faults.large:watch", str(database_of(home)), str(over))
        arguments = ("--name", "large", "--format", "pbs", "--procs", 100_000, "--time-zone", "UTC")
        ended = writer.command("ingest", log, *arguments)
        over.touch()
        watched = reader.end()
    result.look_at(f"{name}: the ingest", ended.printed)
    result.look_at(f"{name}: the reader", watched.printed)
    if ended.code or watched.code:
        result.findings.append(f"{name}: {(ended.printed if ended.code else watched.printed).strip()[-300:]}")
        return
    waits, seen, last, lasted_s = json.loads(watched.printed.strip().splitlines()[-1])
    if not waits:
        result.undone.append(f"{name}: the reader has read nothing")
        return
    seconds = [wait for _, wait in waits]
    longest_at, longest = max(waits, key=lambda each: each[1])
    size = sum(path.stat().st_size for path in ([log] if log.is_file() else log.iterdir())) / 1e9
    result.add(
        name, f"{size:.2f}", jobs, f"{ended.seconds:.0f}", f"{ended.peak_mib:,.0f}", len(waits),
        f"{len(waits) / lasted_s:.1f}", f"{statistics.median(seconds):.3f}", f"{longest:.2f}",
    )  # fmt: skip
    if longest > LONGEST_WAIT_S:
        result.findings.append(
            f"{name}: a reader waited {longest:.1f} s, from second {longest_at:.0f} on:\n{ended.printed}"
        )
    if log.is_file():
        parts = [each for each in seen if each[1] not in (0, jobs)]
        result.difference.wrong += len(parts)
        result.findings += [f"{name}: {records:,} of {jobs:,} records were seen" for _, records in parts[:1]]
    if (records := last[0][1]) != jobs:
        result.difference.lost += max(jobs - records, 0)
        result.difference.wrong += max(records - jobs, 0)
        result.findings.append(f"{name}: {records:,} of {jobs:,} records are there at the end")


def large(folder: Path, seed: int, quick: bool) -> Result:
    """The part of the campaign."""
    result = Result("large")
    gigabytes = GIGABYTES / 20 if quick else GIGABYTES
    jobs = int(gigabytes * 1e9 / RECORD_BYTES)
    write_days(folder / "days", jobs, JOBS_A_DAY, seed=seed)
    one_file(folder / "days", folder / "one.log")
    columns = ("GB", "jobs", "seconds", "peak MiB", "readings", "a second", "median wait, s", "longest wait, s")
    result.head("log", *columns)
    for name, log in (("daily files", folder / "days"), ("one file", folder / "one.log")):
        ingest_watched(name, log, folder / name.split()[0], jobs, result)
    shutil.rmtree(folder / "days")
    (folder / "one.log").unlink()
    return result
