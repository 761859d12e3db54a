"""The RLScheduler rules give that code's own results: its published tables and its start times; and what is refused."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from papers.rlscheduler.rules import replay_rlscheduler, rlscheduler_metrics
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.schedule import Schedule
from tests.shared import shared_file
from traces.swf.reader import read_swf

LUBLIN_PROCS = 256


WINDOW = 1024


WINDOW_STARTS = (1981, 2714, 2756, 3316, 4022, 4299, 5228, 7085, 7762, 8850)  # 0-based, in file order


COLUMN_OF = {
    "average_bounded_slowdown": "avg_bsld",
    "max_bounded_slowdown": "max_bsld",
    "average_wait_s": "avg_wait",
    "average_turnaround_s": "avg_response",
    "utilisation_as_coded": "util_as_coded",
    "utilisation_makespan": "util_makespan",
    "last_start_s": "last_start_time",
    "makespan_s": "makespan_s",
}


@cache
def lublin(log: str) -> Jobs:
    """The 10,000 jobs of a log as that code reads them, in file order, which is submit order."""
    records = read_swf(shared_file("traces", "swf", log)).records
    column = {name: records[name].fill_null(-1).to_numpy() for name in records.columns}
    return jobs_from_log(
        column["submit_s"],
        column["runtime_s"],
        np.maximum(column["allocated_procs"], column["requested_procs"]),
        column["requested_walltime_s"],
        estimates="as logged",
    )


def rows_of(*parts: str) -> list[dict[str, str]]:
    with shared_file("golden", "rlscheduler", *parts).open(newline="") as file:
        return list(csv.DictReader(file))


def jobs_of(rows: Sequence[tuple[int, ...]]) -> Jobs:
    submit, runtime, procs = (np.array([row[k] for row in rows], dtype=np.int64) for k in range(3))
    requested = np.array([row[3] if len(row) > 3 else row[1] for row in rows], dtype=np.int64)
    return jobs_from_log(submit, runtime, procs, requested, estimates="as logged")


def test_metrics_of_all_golden_windows() -> None:
    rows = rows_of("windows.csv")
    assert len(rows) == 100
    for row in rows:
        jobs = lublin("lublin_256.swf.gz").window(int(row["start_index"]), int(row["length"]))
        schedule = replay_rlscheduler(jobs, LUBLIN_PROCS, row["heuristic"], row["backfill"] == "1")
        found = rlscheduler_metrics(jobs, schedule, LUBLIN_PROCS)
        expected = {name: float(row[column]) for name, column in COLUMN_OF.items()}
        assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-9, abs=0)


def test_start_times_of_all_golden_windows() -> None:
    files = sorted(shared_file("golden", "rlscheduler", "jobs").glob("*.csv"))
    assert len(files) == 25
    for file in files:
        _, backfill, _, window, policy = file.stem.split("_")
        first = int(window.removeprefix("start"))
        jobs = lublin("lublin_256.swf.gz").window(first, WINDOW)
        schedule = replay_rlscheduler(jobs, LUBLIN_PROCS, policy, backfill == "bf1")
        expected = {int(row["job_id"]): int(row["start"]) for row in rows_of("jobs", file.name)}
        job_ids = range(first + 1, first + 1 + WINDOW)  # the log numbers its jobs from 1
        assert dict(zip(job_ids, schedule.start.tolist(), strict=True)) == expected, file.name


@pytest.mark.parametrize(
    ("log", "backfill", "wait_bug", "published"),
    [
        ("lublin_256.swf.gz", False, True, "FCFS 7273.77 WFP3 19753.53 UNICEP 22274.74 SJF 277.35 F1 258.37"),
        ("lublin_256.swf.gz", True, True, "FCFS 235.82 WFP3 133.87 UNICEP 307.23 SJF 73.31 F1 75.07"),
        ("lublin_256_new2.swf.gz", False, True, "FCFS 7842.47 WFP3 9523.18 UNICEP 11265.31 SJF 787.89 F1 698.34"),
        ("lublin_256_new2.swf.gz", True, True, "FCFS 247.61 WFP3 318.35 UNICEP 379.59 SJF 91.99 F1 148.25"),
        ("lublin_256.swf.gz", False, False, "WFP3 337.3 UNICEP 381.7"),
        ("lublin_256.swf.gz", True, False, "WFP3 126.5 UNICEP 103.1"),
        ("lublin_256_new2.swf.gz", False, False, "WFP3 807.3 UNICEP 830.5"),
        ("lublin_256_new2.swf.gz", True, False, "WFP3 135.1 UNICEP 111.2"),
    ],
)
def test_average_bounded_slowdowns_of_ten_windows(log: str, backfill: bool, wait_bug: bool, published: str) -> None:
    # with wait_bug: Zhang et al. 2020, tables V to XI; without: the same code with the wait corrected
    words = published.split()
    for policy, figure in zip(words[::2], words[1::2], strict=True):
        scores = []
        for first in WINDOW_STARTS:
            jobs = lublin(log).window(first, WINDOW)
            schedule = replay_rlscheduler(jobs, LUBLIN_PROCS, policy, backfill, wait_bug)
            scores.append(rlscheduler_metrics(jobs, schedule, LUBLIN_PROCS)["average_bounded_slowdown"])
        digits = len(figure.split(".")[1])
        assert f"{np.mean(scores):.{digits}f}" == figure, policy


def test_its_backfilling_on_a_whole_log_is_not_easy() -> None:
    # textbook EASY on the same 10,000 jobs: average wait 97,156 s, average bounded slowdown 590.1
    jobs = lublin("lublin_256.swf.gz")
    found = rlscheduler_metrics(jobs, replay_rlscheduler(jobs, LUBLIN_PROCS, "FCFS", True), LUBLIN_PROCS)
    assert round(found["average_wait_s"], 1) == 117124.9
    assert round(found["average_bounded_slowdown"], 2) == 442.14


def test_metrics_by_hand() -> None:
    # Two processors. J0 0..100 on 1; J1 waits for it, 100..104 on 2.
    jobs = jobs_of([(0, 100, 1), (10, 4, 2)])
    found = rlscheduler_metrics(jobs, replay_rlscheduler(jobs, 2, "FCFS", False), 2)
    assert found == pytest.approx(
        {
            "average_bounded_slowdown": (1 + 94 / 10) / 2,
            "max_bounded_slowdown": 9.4,
            "average_wait_s": 45.0,
            "average_turnaround_s": 97.0,
            "average_slowdown": (1 + 94 / 4) / 2,
            "utilisation_as_coded": 108 / 200,  # until the last start
            "utilisation_makespan": 108 / 208,
            "last_start_s": 100.0,
            "makespan_s": 104.0,
        }
    )


def test_faults_are_named() -> None:
    jobs = jobs_of([(0, 5, 1), (0, 5, 5)])
    with pytest.raises(ValueError, match=r"unknown policy 'EDF'; expected one of FCFS, LCFS, .*, UNICEP"):
        replay_rlscheduler(jobs, 8, "EDF", False)
    with pytest.raises(ValueError, match="job at index 1 needs 5 processors, the cluster has 4"):
        replay_rlscheduler(jobs, 4, "FCFS", False)
    with pytest.raises(ValueError, match="whole number of nodes"):
        replay_rlscheduler(jobs, 10, "FCFS", False, procs_per_node=4.0)
    with pytest.raises(ValueError, match="processors per node must be above 0"):
        replay_rlscheduler(jobs, 8, "FCFS", False, procs_per_node=0.0)
    nothing = Schedule(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_))
    with pytest.raises(ValueError, match="no job to measure"):
        rlscheduler_metrics(jobs.window(0, 0), nothing, 8)


def test_no_job_and_one_job() -> None:
    jobs = jobs_of([(7, 5, 2)])
    assert len(replay_rlscheduler(jobs.window(0, 0), 2, "SJF", True).start) == 0
    schedule = replay_rlscheduler(jobs, 2, "SJF", True)
    assert schedule.start.tolist() == [7]
    assert math.isnan(rlscheduler_metrics(jobs, schedule, 2)["utilisation_as_coded"])  # nothing starts after 7
