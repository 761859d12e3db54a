"""The event loop of the RLScheduler rules: its surprises one by one, and the oracle's on random jobs.

In the hand-worked cases a job is (submit, run time, processors) with a request equal to the run time, or (submit, run time,
processors, requested time). J0, J1, ... are the jobs in log order; `a..b` means running from a to b.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.rlscheduler.rules import POLICIES, replay_rlscheduler
from tests.papers.rlscheduler.test_rules import jobs_of
from tests.simulator.oracle_rlscheduler import oracle_rlscheduler


def starts(
    rows: Sequence[tuple[int, ...]],
    cluster_procs: int,
    policy: str = "FCFS",
    backfill: bool = False,
    wait_bug: bool = True,
    procs_per_node: float = 1.0,
) -> list[int]:
    return replay_rlscheduler(jobs_of(rows), cluster_procs, policy, backfill, wait_bug, procs_per_node).start.tolist()


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


class OnNodes(NamedTuple):
    """A job as the oracle takes it. procs: nodes. asked: processors."""

    submit: int
    runtime: int
    procs: int
    estimate: int
    asked: int


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
def test_start_times_are_the_oracles(
    workload: tuple[list[tuple[int, int, int, int]], int, int], wait_bug: bool, policy: str, backfill: bool
) -> None:
    rows, nodes, per_node = workload

    def score(job: Any, now: int) -> Any:
        wait = -1 - job.submit if wait_bug else now - job.submit
        return SCORES[policy](wait, job.submit, job.estimate, job.asked)

    jobs: list[Any] = [OnNodes(s, r, math.ceil(p / per_node), q, p) for s, r, p, q in rows]
    expected = oracle_rlscheduler(jobs, nodes, score, backfill)
    assert starts(rows, nodes * per_node, policy, backfill, wait_bug, float(per_node)) == expected
