"""Stress of a lake: `python -m benchmarks.lake` kills its writers, restarts PostgreSQL under them, and compares what remains with a run
that nothing disturbed.

Six writers replace partitions: four have a source each, two share one. Eight readers look on. What a writer writes depends on its own seed
alone. Each counts what it has committed in a row of the same transaction, so that a writer that was killed goes on where it was. They end
after the given time, and on a busy machine once there is enough of everything. Prints counts. Ends with an error if one is too small, if a
step is lost that a writer has reported, or if a table differs.

With --replace it prints how a lake grows instead, with upkeep and without.

How a lake grows while partitions are replaced, with upkeep and without: `python -m benchmarks.lake --replace 1000`.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from papers.markdown import markdown
from tests.lake.doors import argument_of, warehouse_of
from tests.lake.server import NotHere, Server, running_server
from warehouse import LakePlace, Warehouse, WarehouseError, first_row
from warehouse.copying import copied_tables
from warehouse.lake_door import LakeDoor
from warehouse.partitions import replace_partition
from warehouse.upkeep import tidy_tables

TABLE = "raw.line_counts"
STEP_SOURCES, STEP_ROWS = 4, 10_000
"""What is replaced: the rows of a source, one source after the other."""
TIDIED_AFTER = 50
"""Replacements between two upkeeps."""
SHOWN = (100, 500, 1_000)
"""Numbers of replacements at which sizes are printed. The last one is always."""


@dataclass(frozen=True)
class Size:
    """files, bytes: in the data folder. catalogue_bytes: of the database of PostgreSQL."""

    files: int
    bytes: int
    catalogue_bytes: int


def rows_of_step(step: int) -> pl.DataFrame:
    """The rows by which a step replaces those of its source."""
    lines = np.random.default_rng(step).integers(0, 1 << 40, STEP_ROWS)
    return pl.DataFrame(
        {
            "file": ["f"] * STEP_ROWS,
            "outcome": ["accepted"] * STEP_ROWS,
            "reason": [f"step {step}"] * STEP_ROWS,
            "lines": lines,
        }
    )


def grow(server: Server, folder: Path, steps: int, name: str, tidied_after: int | None) -> dict[int, Size]:
    """Replaces partitions of a new lake. Returns its size after SHOWN and after all steps.

    tidied_after: replacements between two upkeeps, None without any. Raises RuntimeError where the rows are not those of the last steps.
    """
    server.execute(f"CREATE DATABASE {name}")
    (folder / name).mkdir()
    lake = Warehouse(LakePlace(f"dbname={name} {server.words}", str(folder / name), folder / f"{name}-home"))
    with lake.write():
        pass
    assert isinstance(lake.door, LakeDoor)
    sizes = {}
    with lake.door.connection(time.monotonic() + 60) as connection:
        for step in range(1, steps + 1):
            connection.execute("BEGIN")
            replace_partition(connection, TABLE, f"source-{step % STEP_SOURCES}", rows_of_step(step))
            connection.execute("COMMIT")
            if tidied_after and step % tidied_after == 0:
                tidy_tables(lake, kept_days=0)
            if step in SHOWN or step == steps:
                sizes[step] = _size(server, folder / name, name)
    with lake.read() as connection:
        query = f"SELECT source, reason, count(*) FROM {TABLE} GROUP BY ALL ORDER BY ALL"
        stored = connection.execute(query).fetchall()
    last = range(max(1, steps - STEP_SOURCES + 1), steps + 1)
    if stored != sorted((f"source-{step % STEP_SOURCES}", f"step {step}", STEP_ROWS) for step in last):
        raise RuntimeError(f"{name}: the rows are not those of the last steps: {stored}")
    return sizes


def growth_table(server: Server, folder: Path, steps: int) -> str:
    """The table, in Markdown."""
    with_upkeep = grow(server, folder, steps, "tidied", TIDIED_AFTER)
    without = grow(server, folder, steps, "untidied", None)
    upkeep = f"with upkeep every {TIDIED_AFTER}: files"
    titles = ["replaced", upkeep, "MB", "catalogue, MB", "without: files", "MB", "catalogue, MB"]
    rows = [[f"{step:,}", *_cells(tidied), *_cells(without[step])] for step, tidied in with_upkeep.items()]
    return markdown(titles, rows)


def _cells(size: Size) -> list[str]:
    return [f"{size.files:,}", f"{size.bytes / 1e6:.1f}", f"{size.catalogue_bytes / 1e6:.1f}"]


def _size(server: Server, folder: Path, name: str) -> Size:
    files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return Size(len(files), sum(files), int(server.execute(f"SELECT pg_database_size('{name}')")))


# --- lake


SOURCES = ("one", "two", "three", "four", "shared", "shared")
"""Of each writer."""
READERS, READ_EVERY_S = 8, 5.0
ROWS = 2_000
"""Rows of a replaced partition, about."""
STEPS = "core.changed_files"
"""What is replaced, and where a writer counts: a row for its name as `file`, the number of commits as `from_s`."""
RESTARTS = 3
"""Of PostgreSQL, in any stress. Now and then DuckDB breaks down at one."""
LEAST = {"commits": 200, "conflicts": 50, "kills": 20, "restarts": RESTARTS}
"""In LONG_S seconds; in proportion in less, but for the restarts."""
LONG_S = 600
PATIENCE = 4
"""The stress ends after so many times its seconds, though a count is too small."""


def partition_of(writer: int, step: int) -> pl.DataFrame:
    """The rows that a writer replaces its part of the partition by at a step. They depend on nothing else."""
    rng = np.random.default_rng([writer, step])
    rows = ROWS + int(rng.integers(ROWS))
    return pl.DataFrame(
        {
            "file": [f"writer-{writer}"] * rows,
            "outcome": ["accepted"] * rows,
            "reason": [f"step {step}"] * rows,
            "lines": rng.integers(0, 1 << 40, rows),
        }
    )


def write_step(connection: duckdb.DuckDBPyConnection, writer: int) -> int:
    """One transaction of a writer: its rows of the next step, and the number of it. Returns that."""
    source, name = SOURCES[writer], f"writer-{writer}"
    key = [source, name]
    row = first_row(connection, f"SELECT from_s FROM {STEPS} WHERE source = ? AND file = ?", key)
    step = row[0] + 1 if row else 1
    connection.execute(f"DELETE FROM {TABLE} WHERE source = ? AND file = ?", key)
    connection.register("new_rows", partition_of(writer, step).to_arrow())
    connection.execute(f"INSERT INTO {TABLE} BY NAME SELECT ? AS source, * FROM new_rows", [source])
    connection.execute(f"DELETE FROM {STEPS} WHERE source = ? AND file = ?", key)
    connection.execute(f"INSERT INTO {STEPS} VALUES (?, ?, ?)", [*key, step])
    print("inside", flush=True)  # whoever kills, kills here
    return step


def write_all(argument: str, writer: int, end: Path) -> None:
    """A writer, in a process of its own: a step, and then others until there is a file `end`. Prints each step that it has committed, and
    how often its transaction was run again."""
    warehouse, step = warehouse_of(argument), 0
    while not (step and end.exists()):
        before = warehouse.conflicts
        try:
            step = warehouse.transact(SOURCES[writer], lambda connection: write_step(connection, writer))
        except WarehouseError as error:  # the restart fell on the opening of the first connection
            print(f"again {error}", flush=True)
            time.sleep(1)
            continue
        print(f"committed {step} {warehouse.conflicts - before}", flush=True)
    print("done", flush=True)


def read_all(argument: str, end: Path) -> None:
    """A reader, in a process of its own, until there is a file `end`: each state that it sees is one that some commit has left."""
    warehouse, seen = warehouse_of(argument), 0
    query = f"SELECT source, file, count(DISTINCT reason), any_value(reason) FROM {TABLE} GROUP BY ALL ORDER BY ALL"
    steps = f"SELECT source, file, from_s FROM {STEPS} ORDER BY ALL"
    while not end.exists():
        try:
            with warehouse.read() as connection:
                connection.execute("BEGIN")
                rows = connection.execute(query).fetchall()
                counted = connection.execute(steps).fetchall()
        except (WarehouseError, duckdb.Error):  # PostgreSQL was restarted
            time.sleep(0.2)
            continue
        assert [(source, file, 1, f"step {step}") for source, file, step in counted] == rows, (rows, counted)
        seen += 1
        time.sleep(READ_EVERY_S)
    print(f"seen {seen}", flush=True)


@dataclass
class Writer:
    """A writer's process, begun again after each kill. reported: the last step that it said was committed."""

    argument: str
    number: int
    end: Path
    reported: int = 0
    process: subprocess.Popen[str] | None = None
    is_done: bool = False
    lines: deque[str] = field(default_factory=deque)

    def begin(self) -> None:
        """Starts the process."""
        self.process = _child("writer", self.argument, str(self.end), str(self.number))
        assert self.process.stdout is not None
        threading.Thread(target=self.lines.extend, args=(self.process.stdout,), daemon=True).start()

    def listen(self, counts: Counter[str]) -> bool:
        """Takes what it has said since. Returns whether it is inside a transaction."""
        assert self.process is not None
        is_inside = False
        while self.lines:
            word, _, rest = self.lines.popleft().strip().partition(" ")
            if word == "committed":
                step, again = map(int, rest.split())
                if step <= self.reported:
                    raise RuntimeError(f"writer {self.number}: step {self.reported} was committed, and is lost")
                self.reported = step
                counts.update(commits=1, conflicts=again)
            is_inside = word == "inside"
            self.is_done |= word == "done"
        if self.process.poll() not in (None, 0, -signal.SIGKILL):
            raise RuntimeError(f"writer {self.number} ended with {self.process.returncode}")
        return is_inside

    def kill(self, rng: np.random.Generator) -> None:
        """Ends the process in the middle of what it does, and starts another."""
        assert self.process is not None
        time.sleep(float(rng.choice([0.0, 0.01, 0.05, 0.2])))
        self.process.kill()
        self.process.wait()
        self.begin()


def _child(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.lake", "--child", *arguments], stdout=subprocess.PIPE, text=True
    )


def disturb(
    server: Server, warehouse: Warehouse, end: Path, seconds: float, seed: int
) -> tuple[Counter[str], list[int]]:
    """Lets writers and readers run, kills writers and restarts PostgreSQL. Returns counts, and the last step of each writer.

    end: a file that is made when all shall end.
    """
    rng, counts, argument = np.random.default_rng(seed), Counter[str](), argument_of(warehouse)
    writers = [Writer(argument, number, end) for number in range(len(SOURCES))]
    for writer in writers:
        writer.begin()
    readers = [_child("reader", argument, str(end)) for _ in range(READERS)]
    begun = last_kill = time.monotonic()
    pause_s = 0.8 * LONG_S / LEAST["kills"]
    while not all(writer.is_done for writer in writers):
        time.sleep(0.02)
        for writer in writers:
            is_inside = writer.listen(counts)
            now = time.monotonic()
            if is_inside and not end.exists() and now - last_kill > pause_s:
                writer.kill(rng)
                counts.update(kills=1)
                last_kill = now
        passed = time.monotonic() - begun
        if counts["restarts"] < RESTARTS and passed > (counts["restarts"] + 1) * seconds / (RESTARTS + 1):
            server.stop()
            server.start()
            counts.update(restarts=1)
        if passed > seconds and (passed > PATIENCE * seconds or not too_few(counts, seconds)):
            end.touch()
    for reader in readers:
        printed, _ = reader.communicate()
        if reader.returncode < 0:
            raise RuntimeError(f"a reader was ended by the signal {signal.Signals(-reader.returncode).name}")
        if reader.returncode:
            raise RuntimeError("a reader saw a state that no commit had left, or failed: see its last lines above")
        counts.update(reads=int(printed.split()[1]))
    return counts, [writer.reported for writer in writers]


def too_few(counts: Counter[str], seconds: float) -> list[str]:
    """Which counts are smaller than LEAST, in words. seconds: how long the stress was to take."""
    wanted = {what: max(1, int(least * min(seconds / LONG_S, 1))) for what, least in LEAST.items()}
    return [f"{counts[what]} {what} of {least}" for what, least in wanted.items() if counts[what] < least]


def undisturbed(warehouse: Warehouse, steps: list[int]) -> None:
    """What all writers have written after so many steps each, one after the other."""
    with warehouse.write() as connection:
        for writer, source in enumerate(SOURCES):
            rows = partition_of(writer, steps[writer]).with_columns(source=pl.lit(source))
            connection.register("new_rows", rows.to_arrow())
            connection.execute(f"INSERT INTO {TABLE} BY NAME SELECT * FROM new_rows")
            connection.execute(f"INSERT INTO {STEPS} VALUES (?, ?, ?)", [source, f"writer-{writer}", steps[writer]])


def tables(warehouse: Warehouse) -> dict[str, pl.DataFrame]:
    """All tables, rows in a fixed order."""
    with warehouse.read() as connection:
        return {name: connection.sql(f"FROM {name} ORDER BY ALL").pl() for name in copied_tables()}


def stress(server: Server, folder: Path, seconds: float, seed: int) -> Counter[str]:
    """The whole of it. Raises RuntimeError where a table differs from that of the undisturbed run."""
    places = []
    for name in ("disturbed", "undisturbed"):
        server.execute(f"CREATE DATABASE {name}")
        (folder / name).mkdir()
        places.append(LakePlace(f"dbname={name} {server.words}", str(folder / name), folder / f"{name}-home"))
    lake, other = (Warehouse(place, timeout_s=300) for place in places)
    with lake.write():
        pass
    counts, steps = disturb(server, lake, folder / "end", seconds, seed)
    undisturbed(other, steps)
    expected = tables(other)
    for name, rows in tables(lake).items():
        if not rows.equals(expected[name]):
            raise RuntimeError(f"{name}: {rows.height:,} rows, and {expected[name].height:,} without disturbance")
    print(f"upkeep: {tidy_tables(lake, 0)}")
    if not all(rows.equals(expected[name]) for name, rows in tables(lake).items()):
        raise RuntimeError("a table differs after the upkeep")
    return counts


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=LONG_S, help="how long at least (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replace", type=int, help="instead: how large a lake is after so many replaced partitions")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        role, argument, end, *number = options.child
        if role == "writer":
            write_all(argument, int(number[0]), Path(end))
        else:
            read_all(argument, Path(end))
        return
    began = time.monotonic()
    try:
        with running_server() as server, tempfile.TemporaryDirectory(prefix="tracehouse-lake-") as folder:
            if options.replace:
                print(growth_table(server, Path(folder), options.replace))
                return
            counts = stress(server, Path(folder), options.seconds, options.seed)
    except NotHere as error:
        print(f"not run: {error}")
        return
    print(
        ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items())), f"in {time.monotonic() - began:.0f} s"
    )
    if few := too_few(counts, options.seconds):
        raise SystemExit(f"too few to say anything: {', '.join(few)}")
    print("all tables equal those of an undisturbed run")


if __name__ == "__main__":
    main()
