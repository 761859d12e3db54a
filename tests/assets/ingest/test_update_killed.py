"""An ingest that is killed at any moment leaves whole files only, and the next one ends as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import pytest

from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from tests.assets.ingest.incremental import CHECKS, Log, OpenWarehouse, ended, faults, queued, random_days
from tests.shared import size
from tests.tiny import assert_same_tables
from traces.catalogue.sources import Source
from warehouse import Warehouse, WarehouseError

KILLS = size(9, 12)
"""In each warehouse; every moment comes at least once in each."""
ROUNDS = 3
"""Deliveries in the life of one process, at most."""
LONGEST_S = 60

SERVER = """
import os, sys
from pathlib import Path
from tests.assets.ingest.incremental import ended
from tests.assets.ingest.test_update_killed import ingest_for_ever
from traces.pbs.scan import scan
scan(ended(1, 2, 3, 4).encode())
threads = {Path(f"/proc/self/task/{task}/comm").read_text().strip() for task in os.listdir("/proc/self/task")}
assert threads <= {"python", "jemalloc_bg_thd", "polars-ooc-clea"} | {Path(sys.executable).name}, threads
while order := sys.stdin.readline():
    child = os.fork()
    if not child:
        ingest_for_ever(*order.split())
    print(child, flush=True)
    print("over", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Forks a process that ingests for each line it reads: all is imported and compiled by then, and no pool of threads has begun,
neither polars' nor DuckDB's, which a fork would leave behind. (The threads there are belong to allocators, and are idle.)"""

MOMENTS = {
    "reading": ("assets.ingest.reading", "parse_block", 9),
    "staging": ("assets.ingest.staging", "StagedRows._spill", 9),
    "inserting": ("assets.ingest.staging", "StagedRows.insert", 5),
    "forgetting": ("assets.ingest.rows", "remove_file", 2),
    "opening again": ("assets.ingest.update", "_transact", 5),
    "committing the last": ("assets.ingest.update", "write_source", 2),
    "computing jobs": ("assets.ingest.canonical_jobs", "_Computation._write_jobs", 2),
    "writing jobs": ("assets.ingest.canonical_jobs", "_Replacement.write", 8),
    "committing jobs": ("assets.ingest.canonical_jobs", "_write_cluster", 2),
}
"""A function that is called at each, and at which of its calls, at most, the process is killed."""


def ingest_for_ever(folder: str, seed: str, moment: str, call: str) -> NoReturn:
    """In a process of its own: files grow, are packed and ingested, until it is killed. Says "ready" at one call of a moment."""
    import assets.ingest.rows as raw_rows
    from assets.ingest import staging
    from traces.common import blocks

    raw_rows.COMMIT_BYTES, staging.SPILL_ROWS, blocks.BLOCK_BYTES = 1, 5, 2048  # type: ignore[misc]
    try:
        left = [int(call)]

        def tell() -> None:
            left[0] -= 1
            if not left[0]:
                os.write(1, b"ready\n")

        _call_before(*MOMENTS[moment.replace("-", " ")][:2], tell)
        growing, warehouse = Growing(Path(folder), int(seed)), Warehouse(Path(folder) / "w.duckdb")
        source = Source("mine", "pbs", growing.log)
        for _ in range(ROUNDS):
            growing.grow()
            update_raw_log(warehouse, source)
            write_jobs(warehouse, "mine")
            growing.settle()
        if left[0] > 0:  # it has not come to that
            os.write(1, b"ready\n")
        time.sleep(LONGEST_S)
    except BaseException as error:
        os.write(1, f"failed: {error!r}\n".encode())
    os._exit(1)


def _call_before(module: str, name: str, tell: Any) -> None:
    owner: ModuleType | Any = sys.modules[module]
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    function = getattr(owner, last)

    def told(*arguments: Any, **options: Any) -> Any:
        tell()
        return function(*arguments, **options)

    setattr(owner, last, told)


class Growing:
    """A folder into which the files of another one come: what is there tells what is still to come."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.log, self.whole = folder / "log", folder / "whole"
        self.rng = np.random.default_rng(seed)
        self.settled: set[str] = set()
        self.tidy()

    def tidy(self) -> None:
        """A process that packed a file may have been killed before it removed the plain one."""
        for path in self.log.glob("*.gz"):
            path.with_suffix("").unlink(missing_ok=True)

    def grow(self) -> bool:
        """Pieces of three files come, and a file that was ingested as a whole is packed; whether anything was left to come."""
        import gzip

        names = sorted(path.name for path in self.whole.iterdir())
        open_ = [name for name in names if not (self.log / f"{name}.gz").exists() and self.left(name)]
        for name in self.rng.permutation(open_)[:3].tolist():
            content = self.left(name)
            least = content.find(b"\n", content.find(b"\n") + 1) + 1  # a run with nothing but half a line fails
            end = int(self.rng.integers(least, max(len(content), least) + 1)) if least else len(content)
            with (self.log / name).open("ab", buffering=0) as file:
                file.write(content[:end])
        if self.settled and self.rng.random() < 0.5:
            name = str(self.rng.choice(sorted(self.settled)))
            self.settled.discard(name)
            hidden = self.log / f".{name}"
            hidden.write_bytes(gzip.compress((self.log / name).read_bytes()))
            hidden.rename(self.log / f"{name}.gz")
            self.tidy()
        return bool(open_)

    def left(self, name: str) -> bytes:
        path = self.log / name
        return (self.whole / name).read_bytes()[path.stat().st_size if path.exists() else 0 :]

    def settle(self) -> None:
        """What is there has been ingested."""
        plain = {path.name for path in self.log.iterdir() if path.suffix != ".gz" and path.name[0] != "."}
        self.settled = {name for name in plain if not self.left(name)}


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2", "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def make_folders(folder: Path, days: int, jobs: int, seed: int) -> None:
    """What is to come, and the first file of it."""
    (folder / "whole").mkdir(parents=True)
    (folder / "log").mkdir()
    for day, content in random_days(np.random.default_rng(seed), days, jobs).items():
        (folder / "whole" / day).write_bytes(content)
    for place in ("whole", "log"):  # a source needs a job
        (folder / place / "0").write_text(queued("first", 0) + ended("first", 0, 10, 20))


@pytest.mark.parametrize("moment", ["reading", "committing-the-last"])
def test_killed_before_the_first_commit(tmp_path: Path, server: subprocess.Popen[str], moment: str) -> None:
    """The next run makes the warehouse."""
    make_folders(tmp_path, days=1, jobs=1, seed=0)
    kill_one(server, f"{tmp_path} 0 {moment} 1", 0)
    warehouse, source = Warehouse(tmp_path / "w.duckdb"), Source("mine", "pbs", tmp_path / "log")
    update_raw_log(warehouse, source)
    assert write_jobs(warehouse, "mine") >= 1


@pytest.mark.parametrize("seed", range(size(2, 20)))
def test_killed_and_run_again(tmp_path: Path, server: subprocess.Popen[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    warehouse, source = Warehouse(tmp_path / "w.duckdb"), Source("mine", "pbs", tmp_path / "log")
    make_folders(tmp_path, days=15, jobs=60, seed=seed)
    moments = [*rng.permutation(list(MOMENTS)), *rng.choice(list(MOMENTS), KILLS - len(MOMENTS))]
    for moment in map(str, moments):
        order = f"{tmp_path} {rng.integers(10**6)} {moment.replace(' ', '-')} {rng.integers(1, MOMENTS[moment][2] + 1)}"
        kill_one(server, order, rng.choice([0.0, 0.002, 0.01, 0.05]) * rng.random())
        assert left_behind(warehouse) == [], order
    growing = Growing(tmp_path, seed)
    while growing.grow():
        pass
    update_raw_log(warehouse, source)
    write_jobs(warehouse, "mine")
    undisturbed = Log(OpenWarehouse(tmp_path), tmp_path / "undisturbed")
    undisturbed.source = source
    assert_same_tables(Log(warehouse, tmp_path / "killed").tables(), undisturbed.fresh())


def kill_one(server: subprocess.Popen[str], order: str, after_s: float) -> None:
    """Starts a process that ingests, and kills it so long after it said that it is at its moment."""
    assert server.stdin and server.stdout
    watch = threading.Timer(LONGEST_S, server.kill)  # a test that fails is better than one that waits
    watch.start()
    print(order, file=server.stdin, flush=True)
    child = int(server.stdout.readline())
    said = server.stdout.readline()
    if said == "ready\n":
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    over = server.stdout.readline()
    watch.cancel()
    assert (said, over) == ("ready\n", f"over {-signal.SIGKILL}\n"), f"{order}: {said}"


def left_behind(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    """What is wrong with a warehouse whose writer was killed: files that are there in part, jobs that differ from records."""
    try:
        with warehouse.read() as connection:
            stale = connection.execute("SELECT count(*) FROM core.changed_files").fetchall()[0][0]
    except WarehouseError:  # killed before the first commit
        return []
    return faults(warehouse, "mine", CHECKS[:1] if stale else CHECKS)
