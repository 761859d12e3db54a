"""A tiny source under the name of a bundled one, and quick settings, for tests that run the whole pipeline."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from traces.catalogue.sources import Source
from warehouse import Warehouse
from warehouse.file_door import FileDoor

TRACEHOUSE = Path(sys.executable).with_name("tracehouse")

SOURCE = "birch"
"""The second catalogue wins over the bundled one, so that the documents' examples run on small data."""

CATALOGUE = """
[sources.birch]
format = "swf"
procs = 64
generator = { jobs = 1500, seed = 7, offered_load = 0.9, users = 12 }
"""

CONFIG = """
ops:
  predictions__runtime_evaluation: {config: {predictors: [requested, similar_jobs, xgboost], days: 60}}
  predictions__wait_times: {config: {jobs: 100}}
  policies__trajectory_filter: {config: {window_jobs: 64, sampled_windows: 100}}
  policies__priority_key: {config: {search: {random_keys: 10, steps: 10}}}
  policies__scheduling_policy:
    config:
      seeds: [1, 2]
      ppo: {epochs: 3, filtered_epochs: 1, trajectories: 8}
      key: {random_keys: 10, steps: 0}
"""


_loaded: dict[tuple[bytes, str], tuple[bytes, int]] = {}
"""Of `load_once`, by the text of a log and its source: the file of the warehouse, and when the log was written."""


class Home:
    """A TRACEHOUSE_HOME of its own, with the tiny source in its catalogue."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("sources.toml", CATALOGUE), ("config.yaml", CONFIG)):
            if not (folder / name).exists():  # others may be reading it
                (folder / name).write_text(text)
        self.printed = ""  # what the run that made it has printed
        self.database = folder / "warehouse" / "data" / "tracehouse.duckdb"

    def environment(self, **extra: str) -> dict[str, str]:
        own = {"TRACEHOUSE_HOME": str(self.folder), "TRACEHOUSE_SOURCES": str(self.folder / "sources.toml")}
        kept = {key: value for key, value in os.environ.items() if key != "DAGSTER_HOME"}
        return kept | own | extra

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(TRACEHOUSE), *arguments],
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(TRACEHOUSE), *arguments],
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )

    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table of the warehouse, rows in a fixed order."""
        with duckdb.connect(str(self.database), read_only=True) as connection:
            names = connection.execute(
                "SELECT schema_name || '.' || table_name FROM duckdb_tables() ORDER BY 1"
            ).fetchall()
            return {name: connection.sql(f"FROM {name} ORDER BY ALL").pl() for (name,) in names}


def assert_same_tables(first: dict[str, pl.DataFrame], second: dict[str, pl.DataFrame]) -> None:
    assert first.keys() == second.keys()
    for name, rows in first.items():
        # when and where a log was written is the home's own
        ours, theirs = (table.drop("modified_ns", "settings", strict=False) for table in (rows, second[name]))
        assert ours.equals(theirs), f"{name} differs: {rows.height} and {second[name].height} rows"


def swf_line(job: int, submit: int, wait: int, runtime: int, procs: int, requested: int = -1, **fields: int) -> str:
    """One line of an SWF log; fields: requested_procs, status, user (default: unknown, completed, user 1)."""
    asked, status, user = fields.get("requested_procs", -1), fields.get("status", 1), fields.get("user", 1)
    return f"{job} {submit} {wait} {runtime} {procs} -1 -1 {asked} {requested} -1 {status} {user} 1 1 1 1 -1 -1\n"


def warehouse_of(folder: Path, text: str, name: str = "mine") -> Warehouse:
    """A warehouse of its own with one source, from the text of an SWF log."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.swf"
    log.write_text(text)
    warehouse = Warehouse(folder / "w.duckdb")
    load_once(warehouse, Source(name, "swf", log))
    return warehouse


def load_once(warehouse: Warehouse, source: Source) -> None:
    """Fills a new warehouse with the jobs of one log. A log of the same text is read once in a process and copied afterwards: reading it
    takes 0.3 s, and hundreds of tests begin with a few dozen logs."""
    assert source.path is not None
    log = source.path
    what = (log.read_bytes(), repr(replace(source, path=None, declared_at="")))
    if what in _loaded and isinstance(warehouse.door, FileDoor) and not warehouse.path.exists():
        warehouse.path.parent.mkdir(parents=True, exist_ok=True)
        warehouse.path.write_bytes(_loaded[what][0])
        os.utime(log, ns=(_loaded[what][1],) * 2)
        return
    update_raw_log(warehouse, source)
    write_jobs(warehouse, source.name)
    if isinstance(warehouse.door, FileDoor):
        _loaded[what] = warehouse.path.read_bytes(), log.stat().st_mtime_ns


def busy_log(jobs: int = 400, procs: int = 16, seed: int = 0, days: int = 30) -> str:
    """An SWF log in which jobs queue: random submissions, run times, sizes, requests and users, started as FCFS would; a
    calendar from 2026 on."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, days * 86_400, jobs))
    width = rng.choice([1, 2, 4, 8, 16], jobs, p=[0.4, 0.2, 0.2, 0.15, 0.05])
    runtime = np.ceil(rng.lognormal(9.3, 1.2, jobs) * days / 30 * 400 / jobs).astype(np.int64)
    requested = np.ceil(runtime * rng.uniform(1, 4, jobs)).astype(np.int64)
    start = replay(Jobs(submit, runtime, width, requested, requested), procs, "FCFS", "none").start
    columns = (np.arange(1, jobs + 1), submit, start - submit, runtime, width, requested)
    lines = [swf_line(*map(int, row), user=int(rng.integers(1, 9))) for row in zip(*columns, strict=True)]
    return f"; UnixStartTime: 1767225600\n; TimeZoneString: Europe/Berlin\n; MaxProcs: {procs}\n" + "".join(lines)


def in_queues(log: str) -> str:
    """The same SWF log with its jobs in queues: by turns 1 and 2, and every tenth in 7."""
    lines = []
    for line in log.splitlines():
        fields = line.split()
        if not line.startswith(";"):
            number = int(fields[0])
            fields[14] = "7" if number % 10 == 0 else str(1 + number % 2)
        lines.append(" ".join(fields) if not line.startswith(";") else line)
    return "\n".join(lines) + "\n"
