"""The same replay gives the same rows in another process, leaves its inputs alone, and needs little memory beyond them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from papers.rlscheduler.rules import replay_rlscheduler
from simulator.agents.batch import Batch, WindowRules, replay_windows
from simulator.agents.trajectories import sample_windows
from simulator.engine.replay import BACKFILLING, replay
from simulator.jobs.cluster import Cluster, Outages, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.metrics.bound import hindsight_bound
from simulator.metrics.metrics import metrics
from simulator.policies.registry import POLICY_NAMES
from tests.simulator.busy import PROCS, busy_jobs, random_weights

PROJECT = Path(__file__).resolve().parents[2]
POLICIES = (*POLICY_NAMES, "learned", "formula:estimate * procs", "formula:wait / estimate - user_share")


def eventful_cluster(jobs: Jobs) -> Cluster:
    """Jobs that run already, a failure and a maintenance that is announced."""
    begin = int(jobs.submit[0])
    running = RunningJobs(
        *(np.array(x) for x in ([begin - 50, begin], [900, 70], [3, 5], [60, 80], [1000, 80], [0, 9]))
    )
    start = begin + np.array([4000, 20_000])
    return Cluster(PROCS, running, Outages(start, start + 5000, np.array([7, 32]), start - [0, 9000]))


def rows_of_everything() -> str:
    """A hash over the schedules of every policy under every backfilling, and over what else is computed from jobs."""
    jobs, weights = busy_jobs(300, users=20), random_weights()
    found = hashlib.sha256()
    for policy in POLICIES:
        for backfill in BACKFILLING:
            schedule = replay(jobs, eventful_cluster(jobs), policy, backfill, weights, "increments")
            found.update(schedule.start.tobytes() + schedule.backfilled.tobytes())
            found.update(repr(metrics(jobs, schedule, PROCS)).encode())
    sampled = sample_windows(jobs, PROCS, np.array([0, 150]), 100, weights, seed=3)
    for column in (sampled.features, sampled.choice, sampled.log_prob, sampled.start):
        found.update(np.ascontiguousarray(column).tobytes())
    found.update(repr(hindsight_bound(jobs, PROCS)).encode())
    return found.hexdigest()


def test_two_processes_give_the_same_rows() -> None:
    """With other seeds for Python's hashes, so that no order of a set or dictionary leaks into a schedule."""
    code = "from tests.simulator.test_simulator_determinism import rows_of_everything; print(rows_of_everything())"
    hashes = [rows_of_everything()]
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        hashes.append(subprocess.check_output(command, cwd=PROJECT, env=environment, text=True).strip())
    assert len(set(hashes)) == 1 and len(hashes[0]) == 64


def test_draws_of_the_caller_change_nothing() -> None:
    jobs, weights = busy_jobs(200), random_weights()
    first = np.array([0, 60])
    once = sample_windows(jobs, PROCS, first, 80, weights, seed=3)
    np.random.default_rng().random(7)
    replay(jobs, PROCS, "random:seed=4")
    sample_windows(jobs, PROCS, first, 80, weights, seed=4)
    again = sample_windows(jobs, PROCS, first, 80, weights, seed=3, rules=WindowRules(threads=1))
    assert np.array_equal(once.choice, again.choice) and np.array_equal(once.log_prob, again.log_prob)
    alone = sample_windows(jobs, PROCS, first[:1], 80, weights, seed=3)
    assert np.array_equal(alone.choice, once.choice[: once.first_decision[1]])


def copies(*inputs: object) -> list[np.ndarray]:
    """Every array of some jobs, clusters and weights, copied."""
    arrays: list[np.ndarray] = []
    for value in inputs:
        if isinstance(value, np.ndarray):
            arrays.append(value.copy())
        elif isinstance(value, tuple):
            arrays += copies(*value)
        elif isinstance(value, dict):
            arrays += copies(*value.values())
        elif not isinstance(value, int):
            arrays += copies(*(getattr(value, part.name) for part in fields(value)))  # type: ignore[arg-type]
    return arrays


def assert_unchanged(before: list[np.ndarray], *inputs: object) -> None:
    after = copies(*inputs)
    assert len(before) == len(after) > 6
    for old, new in zip(before, after, strict=True):
        assert np.array_equal(old, new)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_replay_leaves_its_inputs_alone(policy: str) -> None:
    jobs, weights = busy_jobs(200, cancelled_share=0.2), random_weights()
    cluster = eventful_cluster(jobs)
    before = copies(jobs, cluster, weights)
    for backfill in BACKFILLING:
        for machine in (cluster, PROCS):
            schedule = replay(jobs, machine, policy, backfill, weights, "doubling")
            metrics(jobs, schedule, machine)
            assert not any(np.shares_memory(schedule.start, column) for column in (jobs.submit, jobs.cancel))
    assert_unchanged(before, jobs, cluster, weights)


def test_nor_does_anything_else_change_the_jobs() -> None:
    jobs, first, weights = busy_jobs(200), np.array([0, 60, 100]), random_weights()
    before = copies(jobs, first, weights)
    for policy in ("SAF", "WFP3", "random", "fairshare"):
        replay_windows(jobs, PROCS, first, 80, policy)
    batch = Batch(jobs, PROCS, 80, 3)
    seen = batch.reset(first)
    action = np.zeros(3, dtype=np.int64)
    while seen.choosing.any():
        seen = batch.step(action)
    assert not action.any()
    sample_windows(jobs, PROCS, np.array([0]), 80, weights, seed=1)
    replay_rlscheduler(jobs, PROCS, "WFP3", True)
    hindsight_bound(jobs, PROCS)
    assert_unchanged(before, jobs, first, weights)


def test_inputs_may_be_read_only() -> None:
    """Columns of a data frame often are. (Under one policy only: the engine is compiled anew for such arrays.)"""
    jobs = busy_jobs(200)
    for column in fields(jobs):
        if isinstance(getattr(jobs, column.name), np.ndarray):
            getattr(jobs, column.name).flags.writeable = False
    assert np.array_equal(replay(jobs, PROCS, "FCFS").start, replay(busy_jobs(200), PROCS, "FCFS").start)


MEMORY = """
import gc, sys
from pathlib import Path
from simulator.engine.replay import replay
from tests.simulator.busy import PROCS, busy_jobs
def kib(name):
    return int(Path("/proc/self/status").read_text().split(name + ":")[1].split()[0])
policy, backfill, num_jobs, load = sys.argv[1:]
replay(busy_jobs(1000, 0.8), PROCS, policy, backfill)
jobs = busy_jobs(int(num_jobs), float(load))
gc.collect()
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
before = kib("VmRSS")
start = replay(jobs, PROCS, policy, backfill).start
used = kib("VmHWM") - before
assert used * 1024 >= start.nbytes / 2, "the peak was not measured"
print(used * 1024 / len(jobs))
"""


@pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak of a process can be reset on Linux only"
)
@pytest.mark.parametrize(
    ("policy", "backfill", "num_jobs", "load"),
    [
        ("FCFS", "easy", 400_000, 0.8),
        ("FCFS", "easy", 400_000, 1.2),
        ("WFP3", "easy", 400_000, 0.8),
        ("FCFS", "conservative", 200_000, 0.7),
    ],
)
def test_memory_beyond_the_trace(policy: str, backfill: str, num_jobs: int, load: float) -> None:
    """Less than 200 bytes per job, in a process of its own. The jobs themselves take 56."""
    command = [sys.executable, "-c", MEMORY, policy, backfill, str(num_jobs), str(load)]
    used = float(subprocess.check_output(command, cwd=PROJECT, text=True))
    assert used < 200
