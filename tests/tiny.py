"""A tiny source under the name of a bundled one, and quick settings, for tests that run the whole pipeline."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl

TRACEHOUSE = Path(sys.executable).with_name("tracehouse")

SOURCE = "lublin-256"
"""The second catalogue wins over the bundled one, so that the documents' examples run on small data."""

CATALOGUE = """
[sources.lublin-256]
format = "swf"
procs = 64
generator = { jobs = 1500, seed = 7, offered_load = 0.9, users = 12 }
"""

CONFIG = """
ops:
  predictions__runtime_model: {config: {max_trees: 20}}
  policies__trajectory_filter: {config: {window_jobs: 64, sampled_windows: 100}}
  policies__scheduling_policy: {config: {seeds: [1, 2], epochs: 3, filtered_epochs: 1, trajectories: 8, validation_windows: 4}}
  replay__evaluation: {config: {window_jobs: 64}}
"""


class Home:
    """A TRACEHOUSE_HOME of its own, with the tiny source in its catalogue."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sources.toml").write_text(CATALOGUE)
        (folder / "config.yaml").write_text(CONFIG)
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
            timeout=300,
            check=False,
        )

    def run_tiny(self) -> subprocess.CompletedProcess[str]:
        return self.call("run", "-s", SOURCE, "--config", str(self.folder / "config.yaml"))

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
        assert rows.equals(second[name]), f"{name} differs: {rows.height} and {second[name].height} rows"
