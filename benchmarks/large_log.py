"""From a generated log of millions of jobs to features and training: `python -m benchmarks.large_log [--jobs N] [--model falcon]`.

Every step runs in a process of its own: CPU time of all its threads, and the most resident memory of the process. Compiled code
and imports are loaded before the clock starts, by the same step on a log of 2,000 jobs. With --folder, files are kept there and
need about 400 bytes a job; otherwise they go with the run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

import sql
from assets.common.trace import load_trace
from assets.features.tables import write_job_features, write_similar_jobs
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.generated import generated_log
from assets.ingest.staging import replace_rows_of_query
from assets.ingest.update import update_raw_log
from assets.marts.operations import shown_rows
from assets.policies.training import PolicyTask, TrainingSetup
from models.scheduling.options import PPOOptions, WorkerOptions
from models.scheduling.workers.decentralised_ppo import Session, WorkerTask
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.task_folder import map_jobs, read_task, write_task
from papers.ddppo.ddppo import setup_of
from papers.markdown import markdown
from simulator.engine.replay import replay
from traces.catalogue.sources import Source
from traces.common.log import log_files
from traces.synthetic.centre import CENTRES
from warehouse import Warehouse

SEED = 2014
WARM_JOBS = 2_000
WINDOW_JOBS = 256
TITLES = ["step", "rows", "CPU-s", "wall s", "peak MiB"]


def source_of(model: str, jobs: int, seed: int = SEED) -> Source:
    """The source that a catalogue would declare. jobs: 0 for all."""
    centre = CENTRES[model]
    options = {"model": model, "jobs": jobs, "seed": seed}
    return Source(model, "swf", None, centre.procs, centre.time_zone, nodes=centre.nodes, generator=options)


def generate(source: Source, warehouse: Warehouse) -> int:
    """Jobs, their schedule and the files."""
    generated_log(source)
    return source.generator["jobs"] or CENTRES[source.generator["model"]].jobs


def ingest(source: Source, warehouse: Warehouse) -> int:
    """Files into the raw tables."""
    return update_raw_log(warehouse, source).outcome("accepted")


def canonical(source: Source, warehouse: Warehouse) -> int:
    """Raw tables into core.jobs."""
    return write_jobs(warehouse, source.name)


def health(source: Source, warehouse: Warehouse) -> int:
    """What looks wrong in the log; rows are findings."""
    return replace_rows_of_query(warehouse, "marts.trace_health", source.name, sql.load("marts.trace_health_of_source"))


def operations(source: Source, warehouse: Warehouse) -> int:
    """What the page of the asset marts/operations shows; rows are those of its figures."""
    return sum(rows.height for rows in shown_rows(warehouse, source.name).values())


def job_features(source: Source, warehouse: Warehouse) -> int:
    """What was known of each job at its submission."""
    return write_job_features(warehouse, source.name)


def similar_jobs(source: Source, warehouse: Warehouse) -> int:
    """Run times of the jobs most like each."""
    return write_similar_jobs(warehouse, source.name)


def load(source: Source, warehouse: Warehouse) -> int:
    """The jobs out of the warehouse, as every replay and every training takes them."""
    return len(load_trace(warehouse, source.name).jobs())


def load_and_replay(source: Source, warehouse: Warehouse) -> int:
    """The same, and a replay of the whole log under FCFS with EASY backfilling, which must give the log's own starts."""
    trace = load_trace(warehouse, source.name)
    schedule = replay(trace.jobs(), trace.cluster_procs, "FCFS", "easy")
    assert (schedule.start == trace.rows["start_s"].to_numpy()).all()
    return len(schedule.start)


def training_setup(source: Source, warehouse: Warehouse) -> int:
    """The windows that are learned from, each with the backlog that one replay under FCFS has there."""
    setup = _training(source, warehouse)
    windows, after = setup.lessons.windows, setup.lessons.after
    assert after is not None
    backlogs = setup.arena.with_backlogs("FCFS", windows, after).backlogs
    assert backlogs is not None
    return len(backlogs.states)


def wide_replay(source: Source, warehouse: Warehouse) -> int:
    """A replay on a cluster of half as many processors more, whose queue stays short: for comparing logs of other lengths."""
    trace = load_trace(warehouse, source.name)
    return len(replay(trace.jobs(), trace.cluster_procs * 3 // 2, "FCFS", "easy").start)


def _training(source: Source, warehouse: Warehouse) -> TrainingSetup:
    """Windows over the whole log, in which a policy is trained for bounded slowdown. As in experiments/ddppo, jobs are mapped from
    files, and the table of the log is let go of."""
    trace = load_trace(warehouse, source.name)
    window_jobs = min(WINDOW_JOBS, trace.rows.height // 16)
    setup = setup_of(trace, PolicyTask("bsld", "easy", window_jobs=window_jobs), 0)
    mapped = map_jobs(warehouse.path.with_name("jobs"), setup.arena.jobs)
    return replace(setup, trace=replace(trace, rows=trace.rows.clear()), arena=replace(setup.arena, jobs=mapped))


def write_training(source: Source, warehouse: Warehouse) -> int:
    """The folder that the workers of a training read. Returns the windows that are learned from."""
    setup = _training(source, warehouse)
    options, workers = PPOOptions(trajectories=128), WorkerOptions(workers=1, backlog_policy="FCFS")
    write_task(training_folder(warehouse), WorkerTask(setup.arena, setup.lessons, options, SEED, workers=workers))
    return len(setup.lessons.windows)


def training_folder(warehouse: Warehouse) -> Path:
    """Where `write_training` writes."""
    return warehouse.path.with_name("training")


def train(source: Source, warehouse: Warehouse, epochs: int) -> int:
    """What one worker does: it reads its folder and trains in epochs of 128 windows, without those that choose. Returns the decisions."""
    session = Session(LoneWorker(), read_task(training_folder(warehouse)))
    return sum(session.run_epoch(epoch, judged=False).decisions for epoch in range(1, epochs + 1))


STEPS: dict[str, tuple[str, Callable[[Source, Warehouse], int]]] = {
    "generate": ("generate, schedule, write", generate),
    "ingest": ("read into the raw tables", ingest),
    "canonical": ("canonical jobs", canonical),
    "health": ("health of the log (rows: findings)", health),
    "operations": ("waits, use and losses (rows: of figures)", operations),
    "job_features": ("job features", job_features),
    "similar_jobs": ("similar jobs", similar_jobs),
    "load": ("load the trace", load),
    "replay": ("load, replay FCFS with EASY", load_and_replay),
    "wide_replay": ("load, replay FCFS with EASY on 1.5 times the processors", wide_replay),
    "training_setup": ("load, windows of 256 jobs with backlogs (rows: windows)", training_setup),
    "write_training": ("load, write what workers read (rows: windows)", write_training),
    "epoch": ("a worker, an epoch of 128 windows (rows: decisions)", partial(train, epochs=1)),
    "epochs": ("a worker, 8 epochs of 128 windows (rows: decisions)", partial(train, epochs=8)),
}


class _OwnMemory(threading.Thread):
    """The most anonymous memory of this process, in MiB, looked at ten times a second. It leaves out pages of mapped files."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most_mib = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.1):
            self.most_mib = max(self.most_mib, _status_mib("RssAnon"))


def _status_mib(name: str) -> float:
    """A line of what Linux says of this process."""
    line = re.search(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(line.group(1)) / 1024 if line else 0.0


def measure(step: str, model: str, jobs: int, folder: Path) -> dict[str, float]:
    """One step in this process: rows, CPU and wall time in seconds, and the most memory of the process so far in MiB: resident
    (peak_mib), and without the pages of mapped files (own_mib)."""
    function = STEPS[step][1]

    def run(name: str, count: int) -> int:
        os.environ["TRACEHOUSE_HOME"] = str(folder / name)
        return function(source_of(model, count), Warehouse(folder / name / "bench.duckdb"))

    own = _OwnMemory()
    own.start()
    run("warm", WARM_JOBS)
    wall, cpu = time.perf_counter(), time.process_time()
    rows = run("log", jobs)
    taken = {"rows": rows, "cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    own.ended.set()
    own.join()
    return taken | {"peak_mib": _status_mib("VmHWM"), "own_mib": max(own.most_mib, _status_mib("RssAnon"))}


def measure_apart(
    step: str, model: str, jobs: int, folder: Path, program: str = "benchmarks.large_log"
) -> dict[str, float]:
    """`measure` in a process of its own. program: a module that has `measure` and knows the model."""
    code = (
        f"import json, sys, pathlib; import {program}; from benchmarks.large_log import measure; "
        "print(json.dumps(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4]))))"
    )
    command = [sys.executable, "-c", code, step, model, str(jobs), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True)  # libraries complain of each other where they end
    if ended.returncode:
        raise click.ClickException(f"step {step} failed:\n{ended.stderr}")
    return json.loads(ended.stdout.splitlines()[-1])


def row_of(step: str, taken: dict[str, float]) -> list[str]:
    """A line of the table."""
    seconds = [f"{taken[name]:,.1f}" for name in ("cpu_s", "wall_s")]
    return [STEPS[step][0], f"{taken['rows']:,}", *seconds, f"{taken['peak_mib']:,.0f}"]


def disk_bytes(folder: Path) -> tuple[int, int]:
    """Bytes of the log, and of the warehouse."""
    (log,) = (folder / "log" / "warehouse" / "data" / "logs").iterdir()
    return sum(file.stat().st_size for file in log_files(log)), (folder / "log" / "bench.duckdb").stat().st_size


def run_steps(model: str, jobs: int, folder: Path, steps: Iterable[str] = STEPS) -> None:
    """Measures the steps one after the other, and prints the table as it grows."""
    for name in ("warm", "log"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    print(markdown(TITLES, []), flush=True)
    for step in steps:
        print(f"| {' | '.join(row_of(step, measure_apart(step, model, jobs, folder)))} |", flush=True)
    log, database = disk_bytes(folder)
    print(f"\nlog {log / 1e9:.2f} GB, warehouse {database / 1e9:.2f} GB")


@click.command()
@click.option("--model", type=click.Choice(list(CENTRES)), default="falcon", show_default=True)
@click.option("--jobs", type=int, default=1_000_000, show_default=True, help="0: all of the model.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keeps the files there.")
@click.option("--step", "steps", type=click.Choice(list(STEPS)), multiple=True, help="Only these, in a kept folder.")
def main(model: str, jobs: int, folder: Path | None, steps: tuple[str, ...]) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory(prefix="tracehouse-bench-") as temporary:
        run_steps(model, jobs, folder or Path(temporary), steps or STEPS)


if __name__ == "__main__":
    main()
