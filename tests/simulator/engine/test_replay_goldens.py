"""Whole logs replayed as two other simulators replay them: pyss and an independent implementation of textbook EASY.

Where estimates are exact (Lublin-1 has no requests), start times are the same job by job. Where they are not, the rules of
simulators differ in the order of events of one second, and one job that starts elsewhere moves thousands after it: there
the averages agree, and most start times. docs/reference/semantics.md says which rule is ours.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import metrics
from tests.shared import shared_file
from traces.swf.reader import read_swf

PROCS = {
    "lublin_256.swf.gz": 256,
    "KTH-SP2-1996-2.1-cln.swf.gz": 100,
    "SDSC-SP2-1998-derived.swf.gz": 128,
    "HPC2N-2002-2.2-cln.swf.gz": 240,
}


@cache
def trace(log: str) -> tuple[Jobs, np.ndarray, np.ndarray]:
    """The replayable jobs of a log with requested times, their ids in the log and the waits that it records."""
    records = read_swf(shared_file("traces", "swf", log)).records.sort("submit_s", maintain_order=True)
    column = {name: records[name].fill_null(-1).to_numpy() for name in records.columns}
    procs = np.where(column["allocated_procs"] > 0, column["allocated_procs"], column["requested_procs"])
    keep = (column["runtime_s"] > 0) & (procs > 0)
    jobs = jobs_from_log(
        column["submit_s"][keep], column["runtime_s"][keep], procs[keep], column["requested_walltime_s"][keep]
    )
    return jobs, column["job_number"][keep].astype(np.int64), column["wait_s"][keep]


def golden_starts(name: str, job_ids: np.ndarray) -> np.ndarray:
    """Start times of another simulator, of these jobs, int64 (num_jobs,)."""
    rows = np.loadtxt(shared_file("golden", "replay", name), dtype=np.int64)
    assert len(rows) == len(job_ids)
    start = dict(rows.tolist())
    return np.array([start[job] for job in job_ids.tolist()])


def averages(log: str, start: np.ndarray) -> tuple[float, float]:
    """Average wait, s, and average bounded slowdown."""
    jobs, *_ = trace(log)
    found = metrics(jobs, Schedule(start, np.zeros(len(jobs), dtype=np.bool_)), PROCS[log])
    return found["average_wait_s"], found["average_bounded_slowdown"]


@pytest.mark.parametrize(
    ("backfill", "golden", "wait_s", "slowdown"),
    [
        ("none", "lublin-1-fcfs-no-backfill.starts", None, None),
        ("easy", "lublin-1-easy.starts", 97_155.9945, 590.0538),
        ("conservative", "lublin-1-conservative-pyss.starts", 131_567.5089, 489.2013),
    ],
)
def test_every_start_time_on_lublin_1(backfill: str, golden: str, wait_s: float | None, slowdown: float | None) -> None:
    log = "lublin_256.swf.gz"
    jobs, job_ids, _ = trace(log)
    assert len(jobs) == 10_000
    start = replay(jobs, PROCS[log], "FCFS", backfill).start
    differ = np.flatnonzero(start != golden_starts(golden, job_ids))
    assert not len(differ), f"{len(differ)} jobs start at another time, the first is job {job_ids[differ[0]]}"
    if wait_s is not None:
        assert averages(log, start) == pytest.approx((wait_s, slowdown), rel=1e-7)


@pytest.mark.parametrize("policy", ["LCFS", "SAF", "WFP3", "fairshare"])
def test_with_exact_estimates_conservative_backfilling_knows_no_policy(policy: str) -> None:
    """Only jobs of the same second could change places (docs/reference/semantics.md), and this log has none."""
    log = "lublin_256.swf.gz"
    jobs, job_ids, _ = trace(log)
    assert (np.diff(jobs.submit) > 0).all()
    start = replay(jobs, PROCS[log], policy, "conservative").start
    assert np.array_equal(start, golden_starts("lublin-1-conservative-pyss.starts", job_ids))


def test_averages_of_pyss_on_kth_sp2() -> None:
    log = "KTH-SP2-1996-2.1-cln.swf.gz"
    jobs, job_ids, _ = trace(log)
    assert len(jobs) == 28_467
    start = replay(jobs, PROCS[log], "FCFS", "easy").start
    golden = golden_starts("kth-sp2-easy-pyss.starts", job_ids)
    assert averages(log, golden) == pytest.approx((6_804.72, 90.7248), rel=1e-5)
    assert averages(log, start) == pytest.approx(averages(log, golden), rel=0.01)
    assert (start == golden).mean() > 0.9


def test_averages_of_pyss_conservative_on_kth_sp2() -> None:
    log = "KTH-SP2-1996-2.1-cln.swf.gz"
    start = replay(trace(log)[0], PROCS[log], "FCFS", "conservative").start
    assert averages(log, start) == pytest.approx((7_295.10, 88.0262), rel=0.01)


def test_starts_of_pyss_on_sdsc_sp2() -> None:
    """Field 3 of this derived log is the wait in pyss's FCFS + EASY, not a measured one."""
    log = "SDSC-SP2-1998-derived.swf.gz"
    jobs, _, waits = trace(log)
    assert len(jobs) == 54_006
    start = replay(jobs, PROCS[log], "FCFS", "easy").start
    golden = jobs.submit + waits
    assert averages(log, golden) == pytest.approx((20_497.76, 87.8703), rel=1e-5)
    assert averages(log, start)[1] == pytest.approx(87.8703, rel=0.005)
    assert (start == golden).mean() >= 0.95


def test_average_bounded_slowdown_of_easy_on_hpc2n() -> None:
    log = "HPC2N-2002-2.2-cln.swf.gz"
    jobs, *_ = trace(log)
    assert len(jobs) == 202_871
    start = replay(jobs, PROCS[log], "FCFS", "easy").start
    assert averages(log, start)[1] == pytest.approx(88.17, rel=0.001)
