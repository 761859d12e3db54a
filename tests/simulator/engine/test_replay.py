"""Tests of simulator/engine: replay_holds, replay_admits, replay_any, replay_goldens."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from simulator.engine import replay as replay_module
from simulator.engine.replay import replay, rules_of
from simulator.engine.running import CORRECTIONS
from simulator.jobs.cluster import Cluster, Outages
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.schedule import Schedule
from simulator.jobs.tasks import tasks_of
from simulator.metrics.metrics import metrics
from simulator.policies.registry import parse_policy
from tests.models.runtime.live_oracle import BACKFILLS, POLICIES, PROCS, assert_same, random_log
from tests.shared import shared_file, size
from tests.simulator.busy import busy_jobs
from tests.simulator.engine.test_picking import assert_equal_schedules, equal, fast
from tests.simulator.oracle import oracle_run
from tests.simulator.oracle_policies import POLICIES as REPLAY_ADMITS_POLICIES
from tests.simulator.oracle_types import CORRECTIONS as REPLAY_ADMITS_CORRECTIONS
from tests.simulator.oracle_types import Workload
from tests.simulator.oracle_workloads import workloads
from traces.swf.reader import read_swf

# replay_holds: Replays in which reservations believe other times than the estimates, such as the requests: two
# engines, one schedule.


def general(jobs: Jobs, cluster_procs: int, policy: str, backfill: str, correction: str) -> Schedule:
    """The replay by the general engine, whatever engine `replay` would choose."""
    tasks = tasks_of(jobs, Cluster(cluster_procs))
    rules = rules_of(backfill, correction, cluster_procs)
    engine = replay_module._GeneralEngine(jobs, tasks, rules, parse_policy(policy))
    engine.run()
    return Schedule(engine.episode.start, engine.episode.backfilled)


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("backfill", ["none", *BACKFILLS])
@pytest.mark.parametrize("policy", ["FCFS", "SJF", "SAF", "LCFS", "random:seed=2"])
def test_both_engines_believe_the_requests_alike(policy: str, backfill: str, correction: str) -> None:
    different = 0
    for seed in range(20):
        jobs = random_log(seed, jobs=70).jobs("requested")
        found = replay(jobs, PROCS, policy, backfill, correction=correction)
        assert_same(found, general(jobs, PROCS, policy, backfill, correction))
        plain = replay(replace(jobs, hold=jobs.estimate), PROCS, policy, backfill, correction=correction)
        different += not np.array_equal(plain.start, found.start)
    assert different > 5 or backfill == "none"


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("policy", POLICIES)
def test_both_engines_believe_any_hold_alike(policy: str, backfill: str) -> None:
    """Also below the estimate, with queues deep enough for the tree, run times of zero and cancelled jobs."""
    for seed, correction in enumerate(CORRECTIONS):
        jobs = busy_jobs(500, load=(0.9, 1.5, 6.0)[seed], seed=seed, cancelled_share=0.1 * seed)
        rng = np.random.default_rng(seed)
        runtime = np.where(rng.random(500) < 0.1, 0, jobs.runtime)
        hold = np.where(rng.random(500) < 0.3, jobs.estimate, rng.integers(1, jobs.limit + 1))
        jobs = replace(jobs, runtime=runtime, hold=hold)
        assert_same(
            replay(jobs, 32, policy, backfill, correction=correction), general(jobs, 32, policy, backfill, correction)
        )


def test_rules_with_a_plan_refuse_other_holds() -> None:
    jobs = random_log(1).jobs("requested")
    for backfill in ("conservative", "selective"):
        with pytest.raises(ValueError, match="reserve_by='estimate'"):
            replay(jobs, PROCS, "FCFS", backfill)


# replay_admits: Replays in which jobs are let past a blocked head by other times than their estimates: the oracle's
# schedule, in both engines.


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf"])
def test_schedules_equal_the_oracles(backfill: str) -> None:
    others = 0

    @settings(deadline=None, max_examples=size(200, 3000))
    @given(
        workloads(),
        st.sampled_from(REPLAY_ADMITS_POLICIES),
        st.sampled_from(REPLAY_ADMITS_CORRECTIONS),
        st.randoms(use_true_random=False),
    )
    def compare(workload: Workload, policy: str, correction: str, draw: random.Random) -> None:
        nonlocal others
        jobs = [job._replace(admit=draw.choice((job.limit, draw.randint(1, job.limit)))) for job in workload.jobs]
        expected = oracle_run(workload._replace(jobs=jobs), policy, backfill, correction)
        schedule = fast(workload._replace(jobs=jobs), policy, backfill, correction)
        if expected.ambiguous_order and not equal(schedule, expected):
            reject()
        assert_equal_schedules(schedule, expected)
        others += not equal(fast(workload, policy, backfill, correction), expected)

    compare()
    assert others > 5 or backfill == "none"


@pytest.mark.parametrize("backfill", ["easy", "easy-sjbf"])
@pytest.mark.parametrize("policy", ["FCFS", "SJF", "SAF"])
def test_both_engines_admit_alike(policy: str, backfill: str) -> None:
    """With queues deep enough for the tree, reservations by yet another time, and cancelled jobs."""
    for seed, correction in enumerate(REPLAY_ADMITS_CORRECTIONS):
        jobs = busy_jobs(500, load=(0.9, 1.5, 6.0)[seed], seed=seed, cancelled_share=0.1 * seed)
        rng = np.random.default_rng(seed)
        hold, admit = (rng.integers(1, jobs.limit + 1) for _ in range(2))
        jobs = replace(jobs, hold=hold, admit=admit)
        found, expected = (f(jobs, 32, policy, backfill, correction=correction) for f in (replay, general))
        assert found.start.tolist() == expected.start.tolist()
        assert found.backfilled.tolist() == expected.backfilled.tolist()


def test_a_log_tells_by_what_jobs_are_admitted() -> None:
    """By request where there is one, else by the estimate."""
    columns = [np.array(column) for column in ([0, 0], [50, 60], [1, 1], [100, -1])]
    predicted = np.array([20.0, 30.0])
    by = {
        word: jobs_from_log(*columns, "predicted", predicted, admit_by=word).admit.tolist()
        for word in ("estimate", "requested")
    }
    assert by == {"estimate": [20, 30], "requested": [100, 30]}
    with pytest.raises(
        ValueError, match=r"unknown admit_by 'request'; did you mean 'requested'\? Expected one of estimate, requested"
    ):
        jobs_from_log(*columns, admit_by="request")


def test_rules_with_a_plan_refuse_other_times() -> None:
    jobs = busy_jobs(20, load=1.0, seed=1)
    for backfill in ("conservative", "selective"):
        with pytest.raises(ValueError, match="admit_by='estimate'"):
            replay(replace(jobs, admit=jobs.limit + 0 * jobs.estimate, limit=jobs.limit), 32, "FCFS", backfill)


@pytest.mark.parametrize("announced", [None, 1000])
def test_an_outage_that_is_announced_later_changes_nothing_before(announced: int | None) -> None:
    """A holds 2 of 4 processors, B needs 3 and waits until 10. C goes first, since it asks for 5 s. D goes first on the processor that
    B leaves free, whatever C is believed to hold once it runs."""
    n = np.array
    outages = Outages() if announced is None else Outages(n([2000]), n([3000]), n([1]), n([announced]))
    jobs = Jobs(n([0, 0, 0, 0]), n([10, 5, 5, 20]), n([2, 3, 1, 1]), n([10, 5, 5, 20]), n([20] * 4))
    jobs = replace(jobs, hold=n([10, 5, 20, 20]), admit=n([10, 5, 5, 20]))
    for backfill in ("easy", "easy-sjbf"):
        assert replay(jobs, Cluster(4, outages=outages), "FCFS", backfill).start.tolist() == [0, 10, 0, 0]


# replay_any: Backfilling without a reservation.


@pytest.mark.parametrize("policy", ["FCFS", "SJF", "WFP3"])
def test_it_is_selective_backfilling_in_which_nobody_gets_a_reservation(policy: str) -> None:
    for seed in range(5):
        jobs = busy_jobs(400, load=1.1, seed=seed)
        ours, theirs = replay(jobs, 32, policy, "any"), replay(jobs, 32, policy, "selective:threshold=1e18")
        assert ours.start.tolist() == theirs.start.tolist()
        assert ours.backfilled.tolist() == theirs.backfilled.tolist()
        assert ours.start.tolist() != replay(jobs, 32, policy, "easy").start.tolist()


# replay_goldens: Whole logs replayed as two other simulators replay them: pyss and an independent implementation of
# textbook EASY.
#
# Where estimates are exact (Lublin-1 has no requests), start times are the same job by job. Where they are not, the rules of
# simulators differ in the order of events of one second, and one job that starts elsewhere moves thousands after it: there
# the averages agree, and most start times. docs/reference/semantics.md says which rule is ours.

REPLAY_GOLDENS_PROCS = {
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
    found = metrics(jobs, Schedule(start, np.zeros(len(jobs), dtype=np.bool_)), REPLAY_GOLDENS_PROCS[log])
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
    start = replay(jobs, REPLAY_GOLDENS_PROCS[log], "FCFS", backfill).start
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
    start = replay(jobs, REPLAY_GOLDENS_PROCS[log], policy, "conservative").start
    assert np.array_equal(start, golden_starts("lublin-1-conservative-pyss.starts", job_ids))


def test_averages_of_pyss_on_kth_sp2() -> None:
    log = "KTH-SP2-1996-2.1-cln.swf.gz"
    jobs, job_ids, _ = trace(log)
    assert len(jobs) == 28_467
    start = replay(jobs, REPLAY_GOLDENS_PROCS[log], "FCFS", "easy").start
    golden = golden_starts("kth-sp2-easy-pyss.starts", job_ids)
    assert averages(log, golden) == pytest.approx((6_804.72, 90.7248), rel=1e-5)
    assert averages(log, start) == pytest.approx(averages(log, golden), rel=0.01)
    assert (start == golden).mean() > 0.9


def test_averages_of_pyss_conservative_on_kth_sp2() -> None:
    log = "KTH-SP2-1996-2.1-cln.swf.gz"
    start = replay(trace(log)[0], REPLAY_GOLDENS_PROCS[log], "FCFS", "conservative").start
    assert averages(log, start) == pytest.approx((7_295.10, 88.0262), rel=0.01)


def test_starts_of_pyss_on_sdsc_sp2() -> None:
    """Field 3 of this derived log is the wait in pyss's FCFS + EASY, not a measured one."""
    log = "SDSC-SP2-1998-derived.swf.gz"
    jobs, _, waits = trace(log)
    assert len(jobs) == 54_006
    start = replay(jobs, REPLAY_GOLDENS_PROCS[log], "FCFS", "easy").start
    golden = jobs.submit + waits
    assert averages(log, golden) == pytest.approx((20_497.76, 87.8703), rel=1e-5)
    assert averages(log, start)[1] == pytest.approx(87.8703, rel=0.005)
    assert (start == golden).mean() >= 0.95


def test_average_bounded_slowdown_of_easy_on_hpc2n() -> None:
    log = "HPC2N-2002-2.2-cln.swf.gz"
    jobs, *_ = trace(log)
    assert len(jobs) == 202_871
    start = replay(jobs, REPLAY_GOLDENS_PROCS[log], "FCFS", "easy").start
    assert averages(log, start)[1] == pytest.approx(88.17, rel=0.001)
