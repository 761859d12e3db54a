"""How much faster a sweep is where two steps run side by side: `python -m benchmarks.sweeps [--jobs N] [--runs N] [--places 1,2]`.

The sweep is the asset replay/runs of a generated log. Each place is a process of Dagster's multiprocess executor, on this machine. The
rows of all sweeps must be equal. Wall time, since that is what more processes are for: run it on a quiet machine. It prints how busy the
machine was before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import dagster as dg
import polars as pl

from assets.common.storage import open_warehouse
from pipelines.definitions import defs
from pipelines.executors import WANTED
from pipelines.running import dagster_instance, run_job

SOURCE, AIM = "sweep", 1.6
TABLES = ("replay.runs", "replay.run_jobs", "replay.run_series")
KINDS = [
    {"policy": policy, "backfill": backfill, "estimates": "requested"}
    for policy in ("FCFS", "SJF", "SAF", "WFP3")
    for backfill in ("conservative", "selective")
]


def job_of_sweep() -> dg.JobDefinition:
    """What every process of a sweep loads."""
    return defs.resolve_job_def("replay_runs")


def one_sweep(runs: int, places: int) -> None:
    """Runs the sweep and prints a line of JSON: whether it succeeded, and seconds of wall time."""
    wanted = [KINDS[k % len(KINDS)] | {"name": f"run-{k}"} for k in range(runs)]
    config = {
        "ops": {"replay__runs": {"config": {"runs": wanted}}},
        "execution": {"config": {"max_concurrent": places} if places else {}},
    }
    with dagster_instance() as instance:
        begin = time.perf_counter()
        job = dg.build_reconstructable_job("benchmarks.sweeps", "job_of_sweep")
        done = dg.execute_job(job, instance, run_config=config, tags={"dagster/partition": SOURCE})
        wall = time.perf_counter() - begin
    print(json.dumps({"ok": done.success, "wall": wall}))


def rows_of_sweep() -> list[pl.DataFrame]:
    with open_warehouse().read() as connection:
        return [connection.sql(f"FROM {table} ORDER BY ALL").pl() for table in TABLES]


def measured(runs: int, places: int) -> tuple[float, list[pl.DataFrame]]:
    """Wall seconds of a sweep in a process of its own, and its rows. places: 0 for all steps in one process."""
    executor = "multiprocess" if places else "in_process"
    command = [sys.executable, "-m", "benchmarks.sweeps", "--one", str(places), "--runs", str(runs)]
    done = subprocess.run(
        command, env=os.environ | {WANTED: executor}, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["ok"], "a sweep has failed"
    return result["wall"], rows_of_sweep()


@click.command()
@click.option("--jobs", default=100_000, show_default=True, help="Of the generated log")
@click.option("--runs", default=16, show_default=True, help="Replays of the sweep")
@click.option("--places", default="0,1,2", show_default=True, help="Steps at a time; 0: all in one process")
@click.option("--one", type=int, hidden=True)
def main(jobs: int, runs: int, places: str, one: int | None) -> None:
    """Times sweeps with one and with more steps at a time."""
    if one is not None:
        one_sweep(runs, one)
        return
    with tempfile.TemporaryDirectory() as folder:
        catalogue = Path(folder) / "sources.toml"
        catalogue.write_text(
            f'[sources.{SOURCE}]\nformat = "swf"\nprocs = 256\n'
            f"generator = {{ jobs = {jobs}, seed = 1, offered_load = 0.8, users = 60 }}\n"
        )
        os.environ |= {"TRACEHOUSE_HOME": folder, "TRACEHOUSE_SOURCES": str(catalogue)}
        assert not run_job("ingest", [SOURCE])
        print(f"{jobs:,} jobs, {runs} replays; {os.cpu_count()} cores, {os.getloadavg()[0]:.1f} processes busy before")
        print("steps at a time   wall s   as fast")
        first: tuple[float, list[pl.DataFrame]] | None = None
        for count in map(int, places.split(",")):
            wall, rows = measured(runs, count)
            if count == 1 or first is None:
                base = wall
            if first is not None:
                assert all(one.equals(other) for one, other in zip(first[1], rows, strict=True)), "rows differ"
            first = first or (wall, rows)
            print(f"{count or 'one process':>15} {wall:8.1f} {base / wall:9.2f}", flush=True)
        print(f"rows of all sweeps are equal; the aim for two was {AIM} times as fast as one")


if __name__ == "__main__":
    main()
