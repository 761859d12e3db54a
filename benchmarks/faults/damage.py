"""Damaged lines, damaged files, and files that change within their size: every line is counted once, and sound ones are kept."""

from __future__ import annotations

import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from benchmarks.faults.results import Difference, Result, compare_tables, read_tables
from benchmarks.faults.workers import Worker
from tests.assets.ingest.incremental import new_time
from tests.assets.ingest.test_update_damaged import (
    FORMATS,
    PACKERS,
    assert_adds_up,
    damaged,
    damaged_files,
    ids_of,
    sound_line,
    sound_log,
)
from tests.traces.slurm.slurm_lines import HEADER, step_line
from traces.catalogue.sources import Source
from traces.common.log import LogError
from warehouse import Warehouse

LINES, FILES, CHANGED = 20_000, 500, 60
"""In the full campaign, over all formats. Beside the files that change, as many others stay what they are."""
LINES_A_FILE = 500
PACKED_SHARE = 5
"""Every fifth damaged file is a packed one."""


@dataclass
class Damage:
    """What became of damaged logs of one format. changed: files whose bytes differ. touched: files that have only a new time."""

    lines: int = 0
    rejected: int = 0
    files: int = 0
    refused: int = 0
    changed: int = 0
    touched: int = 0
    findings: list[str] = field(default_factory=list)
    tracebacks: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0

    def note(self, what: str, error: BaseException) -> None:
        """What should not have come."""
        if isinstance(error, AssertionError):
            self.wrong += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.findings.append(f"{what}: does not hold: {place.line} {str(error)[:200]}")
            return
        self.tracebacks += 1
        self.findings.append(f"{what}: {type(error).__name__}: {str(error)[:200]}")

    def differs(self, what: str, difference: Difference) -> None:
        """Rows that are not those of an undisturbed run."""
        if difference:
            self.lost += difference.lost
            self.doubled += difference.doubled
            self.wrong += difference.wrong
            self.findings.append(f"{what}: {difference}")


def damage_format(log_format: str, folder: str, seed: int, lines: int, files: int, changed: int) -> None:
    """In a worker's child: so much damage to logs of one format. Prints what became of it, as JSON."""
    rng, here, damage = np.random.default_rng((seed, FORMATS.index(log_format))), Path(folder), Damage()
    warehouse = Warehouse(here / "w.duckdb")
    for what, work in (
        ("lines", lambda: _damaged_lines(log_format, here / "lines", rng, lines, warehouse, damage)),
        ("files", lambda: _damaged_files(log_format, here / "files", rng, files, warehouse, damage)),
        ("changed files", lambda: _changed_files(log_format, here / "changed", rng, changed, warehouse, damage)),
    ):
        try:
            work()
        except BaseException as error:
            damage.note(f"{log_format}, {what}", error)
    print(json.dumps(asdict(damage)), file=sys.stdout)


def _damaged_lines(
    log_format: str, folder: Path, rng: np.random.Generator, count: int, warehouse: Warehouse, damage: Damage
) -> None:
    """A sound line stands after every tenth damaged one."""
    folder.mkdir(parents=True)
    contents, sound = {}, set()
    for file, first in enumerate(range(0, count, LINES_A_FILE)):
        lines = [HEADER.encode()] if log_format == "slurm" else []
        for k in range(min(LINES_A_FILE, count - first)):
            number = file * 1000 + k + 1
            is_step = k % 9 == 8 and log_format == "slurm"
            line = step_line(f"{number}.0", MaxRSS="1M") if is_step else sound_line(log_format, number)
            lines.append(damaged(line.encode(), rng))
            if k % 10 == 9:
                lines.append(sound_line(log_format, 900_000 + number).encode())
                sound.add(f"{900_000 + number}")
        contents[f"{file}.log"] = b"\n".join(lines) + b"\n"
        (folder / f"{file}.log").write_bytes(contents[f"{file}.log"])
    done = update_raw_log(warehouse, Source("lines", log_format, folder))
    damage.lines, damage.rejected = count, done.outcome("rejected")
    assert_adds_up(warehouse, "lines", log_format, contents)
    damage.lost += (missing := len(sound - ids_of(warehouse, "lines", log_format)))
    if missing:
        damage.findings.append(f"{log_format}, lines: {missing} sound lines beside damaged ones are lost")


def _some_files(log_format: str, rng: np.random.Generator, count: int) -> Iterator[tuple[str, bytes]]:
    """Damaged files; every fifth is packed and damaged then."""
    plain: Iterator[tuple[str, bytes]] = iter(())
    suffixes = list(PACKERS)
    for number in range(count):
        if number % PACKED_SHARE == 0:
            suffix = suffixes[number // PACKED_SHARE % len(suffixes)]
            whole = bytearray(PACKERS[suffix](sound_log(log_format)))
            place = int(rng.integers(len(whole)))
            if number % 2:
                del whole[max(place, 1) :]
            else:
                whole[place] ^= 1 << int(rng.integers(8))
            yield f"{number}.log{suffix}", bytes(whole)
            continue
        name, content = next(plain, ("", b""))
        if not name:
            plain = damaged_files(log_format, sound_log(log_format), rng)
            name, content = next(plain)
        yield f"{number} {name}", content


def _damaged_files(
    log_format: str, folder: Path, rng: np.random.Generator, count: int, warehouse: Warehouse, damage: Damage
) -> None:
    """All in one folder, beside a sound one. A file that is refused must be named, and is taken out."""
    folder.mkdir(parents=True)
    contents = {"sound.log": sound_log(log_format, 900_000)} | dict(_some_files(log_format, rng, count))
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    damage.files = count
    while True:
        try:
            update_raw_log(warehouse, Source("files", log_format, folder))
            break
        except LogError as error:
            name = next(
                (name for name in sorted(contents, key=len, reverse=True) if f"{folder / name}:" in f"{error}"), ""
            )
            if name in ("", "sound.log"):
                damage.wrong += 1
                damage.findings.append(f"{log_format}, files: the error names no damaged file: {str(error)[:200]}")
                return
            damage.refused += 1
            del contents[name]
            (folder / name).unlink()
    kept = {name: content for name, content in contents.items() if not name.endswith(tuple(PACKERS))}
    for name in contents.keys() - kept.keys():  # damaged, and still what it was
        kept[name] = sound_log(log_format)
    assert_adds_up(warehouse, "files", log_format, kept)
    sound = {f"{number}" for number in range(900_000, 900_008)}
    damage.lost += (missing := len(sound - ids_of(warehouse, "files", log_format)))
    if missing:
        damage.findings.append(f"{log_format}, files: {missing} lines of the sound file are lost")


def _changed_files(
    log_format: str, folder: Path, rng: np.random.Generator, count: int, warehouse: Warehouse, damage: Damage
) -> None:
    """A line of so many files that were ingested becomes another one of the same length. As many files keep their bytes, and every
    second one of these has a new time. The tables are those of the files as they are."""
    folder.mkdir(parents=True)
    for number in range(2 * count):
        (folder / f"{number}.log").write_bytes(sound_log(log_format, 100 * number + 11))
    source = Source("changed", log_format, folder, procs=1024)
    update_raw_log(warehouse, source)
    write_jobs(warehouse, "changed")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    for number in range(0, 2 * count, 2):
        path = folder / f"{number}.log"
        new, old = (sound_line(log_format, 100 * number + 11 + shift).encode() for shift in (50, 3))
        path.write_bytes(before[path][0].replace(old, new, 1))
        new_time(path, int(rng.integers(1, 99)))
    for number in range(1, 2 * count, 4):
        new_time(folder / f"{number}.log")
    for path, (content, modified_ns) in before.items():
        assert path.stat().st_size == len(content)
        differs = path.read_bytes() != content
        damage.changed += differs
        damage.touched += not differs and path.stat().st_mtime_ns != modified_ns
    fresh = Warehouse(warehouse.path.with_name("fresh.duckdb"))
    for each in (warehouse, fresh):
        update_raw_log(each, source)
        write_jobs(each, "changed")
    ours, theirs = (read_tables(each.path, ("raw", "core"), "changed") for each in (warehouse, fresh))
    damage.differs(f"{log_format}, files changed within their size", compare_tables(ours, theirs))


def _parts(count: int) -> list[int]:
    """A number, divided among the formats."""
    return [count // len(FORMATS) + (place < count % len(FORMATS)) for place in range(len(FORMATS))]


def damage_part(
    result: Result, folder: Path, seed: int, share: float, plant: str = "", formats: tuple[str, ...] = FORMATS
) -> list[int]:
    """One format after another; returns the cells of the last row. share: of the full number of lines and files. Folders of VASP
    runs have no lines to count, and are not part of it."""
    shares = [_parts(max(int(count * share), 2 * len(FORMATS))) for count in (LINES, FILES, CHANGED)]
    totals: Counter[int] = Counter()
    with Worker(folder / "home", plant) as worker:
        for log_format, *numbers in zip(FORMATS, *shares, strict=True):
            if log_format not in formats:
                continue
            (folder / log_format).mkdir(parents=True)
            function = "benchmarks.faults.damage:damage_format"
            ended = worker.call(function, log_format, str(folder / log_format), seed, *numbers)
            lines = ended.printed.strip().splitlines()
            if ended.code or not lines:
                result.tracebacks += 1
                result.findings.append(f"{log_format}: ended with {ended.code}: {ended.printed[-300:]}")
                continue
            damage = Damage(**json.loads(lines[-1]))
            result.tracebacks += damage.tracebacks
            result.difference.add(Difference(damage.lost, damage.doubled, damage.wrong))
            result.findings += damage.findings
            counted = (damage.lines, damage.rejected, damage.files, damage.refused, damage.changed, damage.touched)
            row = (*counted, len(damage.findings))
            totals.update(dict(enumerate(row)))
            result.add(log_format, *row)
    result.add("all", *totals.values())
    return list(totals.values())


def damage(folder: Path, seed: int, quick: bool) -> Result:
    """The part of the campaign."""
    result = Result("damage")
    columns = ("damaged lines", "rejected", "damaged files", "refused", "changed files", "touched only", "findings")
    result.head("format", *columns)
    counts = damage_part(result, folder, seed, 0.05 if quick else 1.0)
    for column, count in zip(columns[:-1], counts or [0] * len(columns), strict=False):
        result.require(count > 0, f"{column}: none at all")
    return result
