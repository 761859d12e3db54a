"""The RLScheduler rules give that code's own results: its published tables, its start times, and its surprises one by one.

In the hand-worked cases a job is (submit, run time, processors) with a request equal to the run time, or (submit, run time,
processors, requested time); J0, J1, ... are the jobs in log order; `a..b` means running from a to b.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.schedule import Schedule
from simulator.published.rlscheduler import POLICIES, replay_rlscheduler, rlscheduler_metrics
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


def starts(
    rows: Sequence[tuple[int, ...]],
    cluster_procs: int,
    policy: str = "FCFS",
    backfill: bool = False,
    wait_bug: bool = True,
    procs_per_node: float = 1.0,
) -> list[int]:
    return replay_rlscheduler(jobs_of(rows), cluster_procs, policy, backfill, wait_bug, procs_per_node).start.tolist()


# That code's own results.


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


# Its surprises, one by one.


def test_it_commits_to_a_blocked_head() -> None:
    # J1 is alone when it is chosen at 1, so it goes before J2, shorter, which arrives at 2. At 10 J2 is chosen as soon
    # as J1 has started, so it goes before J3, shorter still.
    assert starts([(0, 10, 4), (1, 5, 4), (2, 3, 4), (12, 1, 4)], 4, "SJF") == [0, 10, 15, 18]


def test_a_committed_head_keeps_its_place_when_others_are_backfilled() -> None:
    # J1 needs 4 and is committed to; J2 ends in time and starts behind it; J3 would not.
    schedule = replay_rlscheduler(jobs_of([(0, 10, 3), (1, 5, 4), (2, 3, 1), (3, 6, 1)]), 4, "SJF", True)
    assert schedule.start.tolist() == [0, 10, 2, 15]
    assert schedule.backfilled.tolist() == [False, False, True, False]


def test_a_job_that_ends_at_the_shadow_time_is_refused() -> None:
    # J0 0..10, so that the shadow time of J1 is 10.
    assert starts([(0, 10, 3), (1, 5, 4), (2, 7, 1)], 4, backfill=True) == [0, 10, 2]
    assert starts([(0, 10, 3), (1, 5, 4), (2, 8, 1)], 4, backfill=True) == [0, 10, 15]


def test_there_are_no_extra_processors() -> None:
    # J2 would run on a processor that J1 leaves free, but ends after the shadow time 10.
    assert starts([(0, 10, 2), (1, 5, 3), (2, 20, 1)], 4, backfill=True) == [0, 10, 10]


def test_backfilling_goes_in_submit_order_whatever_the_policy() -> None:
    # J1 10..30 leaves one processor free, and J2, the shortest, is chosen with the shadow time 30. J3 takes the processor,
    # 10..28, though J4 is shorter; J4 could then end at 30 at the earliest.
    jobs = [(0, 10, 4), (1, 20, 3), (2, 1, 4), (3, 18, 1), (4, 2, 1)]
    assert starts(jobs, 4, "SJF", backfill=True) == [0, 10, 30, 10, 31]


def test_the_shadow_time_is_found_once() -> None:
    # J2 waits for everything: by the requests until 100. J1 ends at 5 instead, after which J2 could start at 50; but J3
    # still only has to end before 100.
    jobs = [(0, 50, 2, 50), (0, 5, 1, 100), (1, 10, 4), (6, 60, 2)]
    assert starts(jobs, 4, backfill=True) == [0, 0, 66, 6]


def test_nothing_is_backfilled_when_the_shadow_time_is_past() -> None:
    # J0 should have ended at 10 and runs until 50: the shadow time of J1, found at 20, is 10.
    jobs = [(0, 50, 4, 10), (20, 5, 4), (21, 1, 1)]
    assert starts(jobs, 5, backfill=True) == [0, 50, 50]


def test_jobs_of_one_second_are_seen_one_by_one() -> None:
    # J0 starts before the shorter J1, of the same second, is seen.
    assert starts([(0, 9, 4), (0, 1, 4)], 4, "SJF") == [0, 9]


def test_a_job_that_arrives_in_the_second_of_a_completion_is_seen_before_it() -> None:
    # When J0 ends and J1 starts at 10, J3 is in the queue already and is chosen next, before J2.
    assert starts([(0, 10, 4), (1, 5, 4), (2, 9, 4), (10, 1, 4)], 4, "SJF") == [0, 10, 16, 15]


def test_only_as_many_completions_as_the_head_needs() -> None:
    # J0 and J1 end at 10, but J1 asked for 30 s. J0 is enough for J2, 10..15. J3 is chosen at once, with J1 still counted
    # as running: it does not fit, its shadow time is 15, and J4 takes the free processor until 14.
    jobs = [(0, 10, 2), (0, 10, 2, 30), (1, 5, 2), (2, 4, 3), (8, 4, 1)]
    assert starts(jobs, 5, backfill=True) == [0, 0, 10, 14, 10]
    # among jobs that end in one second, the one that was believed to end first is released first
    jobs = [(0, 10, 2, 30), (0, 10, 3), (1, 5, 3), (2, 4, 2), (8, 4, 1)]
    assert starts(jobs, 5, backfill=True) == [0, 0, 10, 10, 14]


def test_nodes_are_given_whole() -> None:
    # Two nodes of 4: J0 takes one of them for 1 processor, and the 5 processors of J1 need both.
    jobs = [(0, 10, 1), (1, 10, 5)]
    assert starts(jobs, 8) == [0, 1]
    assert starts(jobs, 8, procs_per_node=4.0) == [0, 10]
    assert starts([(0, 10, 3), (1, 10, 4)], 10, procs_per_node=10 / 3) == [0, 1]  # three nodes: one and two


@pytest.mark.parametrize("policy", ["WFP3", "UNICEP"])
def test_the_wrong_wait_puts_long_jobs_first(policy: str) -> None:
    # J1, chosen at 1, runs 10..11. Then J2 (10 s) and J3 (2 s) wait. As coded, (1 + s) / r decides: 3 / 10 before 4 / 2.
    # The true w / r: 9 / 10 and 8 / 2, the larger first.
    jobs = [(0, 10, 4), (1, 1, 4), (2, 10, 4), (3, 2, 4)]
    assert starts(jobs, 4, policy) == [0, 10, 11, 21]
    assert starts(jobs, 4, policy, wait_bug=False) == [0, 10, 13, 11]


def test_serial_jobs_are_last_under_unicep_as_coded() -> None:
    # log2 of 1 processor is 0: as coded a serial job scores +infinity, in practice; with the true wait, -infinity.
    jobs = [(0, 10, 2), (1, 1, 2), (2, 10, 1), (3, 10, 2)]
    assert starts(jobs, 2, "UNICEP") == [0, 10, 21, 11]
    assert starts(jobs, 2, "UNICEP", wait_bug=False) == [0, 10, 11, 21]


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("FCFS", [2, 3, 4, 5]),
        ("LCFS", [5, 4, 3, 2]),
        ("SJF", [3, 5, 2, 4]),
        ("LJF", [2, 4, 5, 3]),  # J2 and J4 request the same: the order of the queue
        ("smallest", [3, 4, 2, 5]),
        ("largest", [2, 5, 4, 3]),
        ("SAF", [3, 5, 4, 2]),  # 200 * 14, 60 * 9, 200 * 12, 90 * 14
    ],
)
def test_the_order_of_the_simple_policies(policy: str, order: list[int]) -> None:
    # All jobs need more than half of the cluster; J1 is chosen before the others arrive.
    jobs = [(0, 50, 16), (1, 10, 16), (2, 200, 14), (3, 60, 9), (4, 200, 12), (5, 90, 14)]
    found = starts(jobs, 16, policy)
    assert sorted(range(2, 6), key=found.__getitem__) == order


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


# Errors and edges.


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


# The same rules once more in plain Python, on random jobs with many ties, wrong requests and whole nodes.

SCORES: dict[str, Callable[[int, int, int, int], Any]] = {  # of wait, submit time, requested time, processors
    "FCFS": lambda w, s, q, p: s,
    "LCFS": lambda w, s, q, p: -s,
    "SJF": lambda w, s, q, p: (q, s),
    "LJF": lambda w, s, q, p: -q,
    "smallest": lambda w, s, q, p: (p, s),
    "largest": lambda w, s, q, p: -p,
    "SAF": lambda w, s, q, p: q * p,
    "F1": lambda w, s, q, p: math.log10(q) * p + 870 * math.log10(s or 0.1),
    "F2": lambda w, s, q, p: math.sqrt(q) * p + 25600 * math.log10(s or 0.1),
    "F3": lambda w, s, q, p: q * p + 6860000 * math.log10(s or 0.1),
    "F4": lambda w, s, q, p: q * math.sqrt(p) + 530000 * math.log10(s or 0.1),
    "WFP3": lambda w, s, q, p: -math.pow(w / q, 3) * p,
    "UNICEP": lambda w, s, q, p: -(w + 1e-15) / (math.log2(p + 1e-15) * q),
}


def plain_starts(
    rows: Sequence[tuple[int, int, int, int]], nodes: int, policy: str, backfill: bool, wait_bug: bool, per_node: int
) -> list[int]:
    """Start times (s) by sections 4 to 6 of the description, with lists that are sorted in place as it says."""
    start: dict[int, int] = {}
    queue: list[int] = []
    running: list[int] = []
    arriving = list(range(len(rows)))
    now = 0

    def need(job: int) -> int:
        return math.ceil(rows[job][2] / per_node)

    def fits(job: int) -> bool:
        return need(job) <= nodes - sum(map(need, running))

    def score(job: int) -> Any:
        submit, _, procs, requested = rows[job]
        return SCORES[policy](-1 - submit if wait_bug else now - submit, submit, requested, procs)

    def begin(job: int) -> None:
        start[job] = now
        queue.remove(job)
        running.append(job)

    def next_event() -> None:
        nonlocal now
        running.sort(key=lambda job: start[job] + rows[job][1])
        end = start[running[0]] + rows[running[0]][1] if running else math.inf
        if arriving and rows[arriving[0]][0] <= end:
            now = rows[arriving[0]][0]
            queue.append(arriving.pop(0))
        else:
            now = int(end)
            running.pop(0)

    while arriving or queue:
        while not queue:
            next_event()
        queue.sort(key=score)
        head = queue[0]
        shadow = now
        if backfill and not fits(head):
            running.sort(key=lambda job: start[job] + rows[job][3])
            free = nodes - sum(map(need, running))
            for job in running:
                free += need(job)
                shadow = start[job] + rows[job][3]
                if free >= need(head):
                    break
        while not fits(head):
            if backfill:
                queue.sort(key=lambda job: rows[job][0])
                for job in list(queue):
                    if fits(job) and now + rows[job][3] < shadow:
                        begin(job)
            next_event()
        begin(head)
    return [start[job] for job in range(len(rows))]


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[tuple[int, int, int, int]], int, int]:
    """Jobs (submit, run, processors, requested), nodes, processors per node; small numbers, so that much is equal."""
    nodes, per_node = draw(st.integers(1, 8)), draw(st.sampled_from([1, 1, 2, 3]))
    longest = draw(st.sampled_from([3, 12, 60]))
    job = st.tuples(
        st.integers(0, 2 * longest),
        st.integers(1, longest),
        st.integers(1, nodes * per_node),
        st.one_of(st.none(), st.integers(1, 2 * longest)),
    )
    rows = [(s, r, p, q or r) for s, r, p, q in draw(st.lists(job, min_size=1, max_size=25))]
    return sorted(rows, key=lambda row: row[0]), nodes, per_node


@pytest.mark.parametrize("backfill", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@settings(deadline=None, max_examples=60)
@given(workload=workloads(), wait_bug=st.booleans())
def test_start_times_equal_a_plain_replay(
    workload: tuple[list[tuple[int, int, int, int]], int, int], wait_bug: bool, policy: str, backfill: bool
) -> None:
    rows, nodes, per_node = workload
    found = starts(rows, nodes * per_node, policy, backfill, wait_bug, float(per_node))
    assert found == plain_starts(rows, nodes, policy, backfill, wait_bug, per_node)
