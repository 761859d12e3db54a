"""Times the replay engine: whole traces, deep queues, memory, sweeps over all cores, stepping for learners, and compilation.

`python -m benchmarks.engine` times whole traces and deep queues alone, in about a CPU-minute, for docs/results/benchmarks.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np
import torch

from benchmarks.logs import timed_logs
from models.scheduling.learning.networks import new_policy_network, to_weights
from papers.markdown import print_cells, print_heading
from papers.rlscheduler.rules import replay_rlscheduler
from simulator.agents.batch import Batch, WindowRules, replay_windows
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.observation import LAYOUTS

PROJECT = Path(__file__).resolve().parents[1]
REPEATS = 7
SCANNED_LOADS = (0.66, 1.0, 1.1)

COLUMNS = [
    ("FCFS", "FCFS", "easy"),
    ("SJF", "SJF", "easy"),
    ("SAF", "SAF", "easy"),
    ("FCFS sjbf", "FCFS", "easy-sjbf"),
    ("WFP3", "WFP3", "easy"),
    ("multifactor", "multifactor", "easy"),
    ("formula", "formula:wait/walltime + ncpus", "easy"),
    ("learned", "learned", "easy"),
    ("conservative", "FCFS", "conservative"),
    ("selective", "FCFS", "selective"),
]
MEMORY = """
import gc, sys
from pathlib import Path
from benchmarks.engine import loaded
from simulator.engine.replay import replay
def kib(name):
    return int(Path("/proc/self/status").read_text().split(name + ":")[1].split()[0])
policy, backfill = sys.argv[1:]
replay(loaded(1000, 0.9), 256, policy, backfill)
jobs = loaded(2_000_000, 0.9)
gc.collect()
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
before = kib("VmRSS")
replay(jobs, 256, policy, backfill)
print((kib("VmHWM") - before) * 1024 / len(jobs))
"""
COMPILE = """
import time
from tests.compiled import CALLS
for name in ("the engine of fixed orders", "the general engine", "windows", "live estimates"):
    began = time.process_time()
    CALLS[name]()
    print(f"  {name:<28}{time.process_time() - began:>6.2f} CPU-s")
"""


def median_cpu_s(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median CPU seconds of a call; the first call, which may compile or load, is not counted."""
    work()
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return median(seconds)


def loaded(num_jobs: int, load: float, cluster_procs: int = 256) -> Jobs:
    """Synthetic jobs that offer `load` of the cluster, with bad estimates: 3/4 powers of two, 1/4 any width up to 200."""
    draw = np.random.default_rng(1)
    procs = 2 ** draw.integers(0, 8, num_jobs)
    odd = draw.random(num_jobs) < 0.25
    procs[odd] = draw.integers(1, 200, int(odd.sum()))
    runtime = np.exp(draw.normal(7, 2, num_jobs)).astype(np.int64).clip(1, 200_000)
    estimate = np.maximum(runtime, (runtime * np.exp(draw.exponential(1, num_jobs))).astype(np.int64))
    gap = (runtime * procs).mean() / cluster_procs / load
    submit = np.cumsum(draw.exponential(gap, num_jobs)).astype(np.int64)
    return Jobs(submit, runtime, procs, estimate, estimate)


def whole_traces(traces: dict[str, tuple[Jobs, int]]) -> None:
    """Jobs per CPU-second, with requested times."""
    layout = LAYOUTS["plain"]
    torch.manual_seed(0)
    weights = to_weights(new_policy_network("kernel", len(layout.inputs)), layout)
    print("\nwhole traces\n")
    print_heading("log", "jobs", *(name for name, *_ in COLUMNS), "RLScheduler's rules")
    for name, (jobs, procs) in traces.items():
        rates = []
        for _, policy, backfill in COLUMNS:
            repeats = 1 if policy == "learned" else REPEATS if backfill == "easy" else 3
            seconds = median_cpu_s(
                lambda jobs=jobs, procs=procs, policy=policy, backfill=backfill: replay(  # type: ignore[misc]
                    jobs, procs, policy, backfill, weights
                ),
                repeats,
            )
            rates.append(len(jobs) / seconds)
        seconds = median_cpu_s(lambda jobs=jobs, procs=procs: replay_rlscheduler(jobs, procs, "FCFS", True), 3)  # type: ignore[misc]
        rates.append(len(jobs) / seconds)
        print_cells(name.removesuffix(".swf.gz"), f"{len(jobs):,}", *(f"{rate:,.0f}" for rate in rates))


def deep_queues(num_jobs: int = 400_000) -> None:
    """Synthetic jobs on 256 processors with EASY."""
    print("\ndeep queues\n")
    print_heading(
        "offered load", "mean queue, FCFS", "ns a job", "mean queue, SAF", "ns a job", "FCFS by scanning, ns a job"
    )
    for load in (0.66, 0.85, 1.0, 1.1, 1.3):
        jobs = loaded(num_jobs, load)
        cells = []
        for policy in ("FCFS", "SAF"):
            wait = replay(jobs, 256, policy).start - jobs.submit
            queue = wait.sum() / (jobs.submit[-1] - jobs.submit[0])
            seconds = median_cpu_s(lambda jobs=jobs, policy=policy: replay(jobs, 256, policy), 3)  # type: ignore[misc]
            cells += [f"{queue:,.0f}", f"{seconds / num_jobs * 1e9:,.0f}"]
        if load in SCANNED_LOADS:
            with patch(
                "simulator.engine.replay.MOST_PROCS", 0
            ):  # the general engine, which scans its queue as simulators usually do
                seconds = median_cpu_s(lambda jobs=jobs: replay(jobs, 256, "FCFS"), 1)  # type: ignore[misc]
            cells.append(f"{seconds / num_jobs * 1e9:,.0f}")
        else:
            cells.append("")
        print_cells(str(load), *cells)


def memory() -> None:
    print("\nmemory beyond the trace, bytes per job (peak of the process, 2,000,000 jobs)")
    for policy, backfill in (("FCFS", "easy"), ("FCFS", "easy-sjbf"), ("WFP3", "easy"), ("FCFS", "conservative")):
        code = [sys.executable, "-c", MEMORY, policy, backfill]
        used = float(subprocess.check_output(code, cwd=PROJECT).split()[-1])
        print(f"  {policy + ', ' + backfill:<24}{used:>6,.0f}")


def sweeps(jobs: Jobs, procs: int) -> None:
    cores = len(os.sched_getaffinity(0))
    first = np.linspace(0, len(jobs) - 1024, 4000).astype(np.int64)
    print(f"\n4,000 windows of 1,024 jobs, EASY; windows per second{'1 thread':>10}{f'{cores} threads':>12}")
    for policy in ("SAF", "WFP3"):
        seconds = []
        for threads in (1, cores):
            replay_windows(jobs, procs, first[:8], 1024, policy, WindowRules(threads=threads))
            took = []
            for _ in range(3):
                began = time.perf_counter()
                replay_windows(jobs, procs, first, 1024, policy, WindowRules(threads=threads))
                took.append(time.perf_counter() - began)
            seconds.append(median(took))
        rates = "".join(f"{len(first) / s:>12,.0f}" for s in seconds)
        print(f"  {policy:<50}{rates}   {seconds[0] / seconds[1]:.2f}x")


def stepping(jobs: Jobs, procs: int, episodes: int = 4000, window_jobs: int = 256) -> None:
    first = np.linspace(0, len(jobs) - window_jobs, episodes).astype(np.int64)
    alone = 0.0
    for threads in (1, len(os.sched_getaffinity(0))):
        batch = Batch(jobs, procs, window_jobs, episodes, threads=threads)
        batch.reset(first)
        steps, wall, cpu = 0, time.perf_counter(), time.process_time()
        seen = batch.reset(first)
        while seen.choosing.any():
            steps += int(seen.choosing.sum())
            seen = batch.step(np.zeros(episodes, dtype=np.int64))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(
            f"stepping {episodes:,} episodes of {window_jobs} jobs, {threads} thread(s): {steps / wall:,.0f} decisions/s, "
            f"{steps / cpu:,.0f} per CPU-second, observations included" + (f", {alone / wall:.2f}x" if alone else "")
        )
        alone = wall


def compilation() -> None:
    with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        for what in ("compiling", "loading from the cache"):
            command = [sys.executable, "-c", COMPILE]
            printed = subprocess.check_output(command, cwd=PROJECT, env=environment, text=True)
            print(f"{what}\n{printed}", end="")


def engine(traces: dict[str, tuple[Jobs, int]]) -> None:
    print()
    compilation()
    whole_traces(traces)
    deep_queues()
    memory()
    jobs, procs = max(traces.values(), key=lambda trace: len(trace[0]))
    sweeps(jobs, procs)
    print()
    stepping(jobs, procs)


if __name__ == "__main__":
    whole_traces(timed_logs())
    deep_queues()
