"""Tests of studies/slurm: cycle_times, decisions, events, free_runs, golden_cluster, golden_runs, hpc_week, micro_cluster, passes,
priorities, reasons, repeats, searched_orders, usage, waits_by_group.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from simulator.cluster.requests import NOT_GIVEN, Request
from simulator.slurm.replaying import Phases
from studies.slurm.cycle_times import distances, golden_folders_with_sdiag, mean
from studies.slurm.decisions import judge
from studies.slurm.events import read_events
from studies.slurm.free_runs import SEEDS, distance, phases_of, replay_golden
from studies.slurm.golden_cluster import golden_cluster
from studies.slurm.golden_runs import read_golden_run
from studies.slurm.hpc_week import hpc_week, week_waits
from studies.slurm.micro_cluster import rank_correlation, replay_micro, share_alike
from studies.slurm.passes import judge_passes
from studies.slurm.priorities import compare_priorities
from studies.slurm.reasons import compare_reasons
from studies.slurm.repeats import groups_of, runs_of_scenarios, starts_in, worst_ratio
from studies.slurm.searched_orders import Beside, judged, lottery_of, micro_site, recorded_pbs, summary, table_of
from studies.slurm.usage import compare_usage
from studies.slurm.waits_by_group import rows_by_group
from tests.shared import shared_file

# decisions: All recorded decisions of the real Slurm.

SCENARIOS = [
    "S1-backfill",
    "S1-bfcont",
    "S10",
    "S11",
    "S2",
    "S3",
    "S4-tier",
    "S5",
    "S6",
    "S7",
    "S8",
    "S9-interval",
    "S9-jobtest",
    "S9-window",
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_decisions_are_those_of_the_real_one(scenario: str) -> None:
    count = (tally := judge(read_golden_run(shared_file("golden", "slurm", scenario, "run1")))).counts
    assert count["same"] >= 0.998 * count["decisions"] > 0, tally.differences[:5]
    assert count["same_start_nodes"] >= (0.98 if scenario == "S4-tier" else 1) * count["starts"], tally.differences[:5]
    assert count["same_plan"] >= (0.98 if scenario == "S4-tier" else 0.995) * count["plans"], tally.differences[:5]


# events: Events of UB's centre.

FIRST = "-sim-walltime 84805.00 --uid=user001 -J jobid_1 -N 2 -n 18 -t 3-00:00:00 -q q -p p --mem=2G --exclusive"
SECOND = "-J jobid_2 --uid=user1 -t 00:30:00 -n 12 --ntasks-per-node=6 -A a -p p -q q --constraint=CPU-N --gres=gpu:2"


def test_events_are_requests(tmp_path: Path) -> None:
    file = tmp_path / "jobs.events.gz"
    lines = [f"-dt 10.50 -e submit_batch_job | {FIRST} job", f"-dt 49 -e submit_batch_job | {SECOND} job"]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    first, second = read_events(file, 2800)
    common = {"submit_s": 0, "partitions": ("p",), "qos": "q"}
    assert (first.name, first.after_s, first.ran_s) == ("jobid_1", 10.5, 84805.0)
    assert first.request == Request(
        **common, limit_s=259_200, min_nodes=2, max_nodes=2, tasks=18, memory_mib=2048, exclusive=True, user="user001"
    )
    assert (second.name, second.ran_s) == ("jobid_2", None)
    assert second.request == Request(
        **common,
        limit_s=1800,
        tasks=12,
        tasks_per_node=6,
        memory_mib=2800,
        memory_per="cpu",
        gpus={"": 2},
        features="CPU-N",
        account="a",
        user="user1",
    )


# free_runs: Whole replays against recorded runs.


@pytest.mark.parametrize(
    ("scenario", "tau"), [("S1-builtin", 1.0), ("S2", 0.88), ("S7", 0.96), ("S8", 0.95), ("S9-jobtest", 0.999)]
)
def test_a_replay_is_as_near_as_another_real_run(scenario: str, tau: float) -> None:
    run = read_golden_run(shared_file("golden", "slurm", scenario, "run1"))
    far = [distance(run, replay_golden(run, phases_of(run, seed))) for seed in range(SEEDS)]
    assert np.mean([one.tau for one in far]) >= tau
    assert abs(np.mean([one.wait_s for one in far]) / far[0].real_wait_s - 1) < 0.1


# cycle_times: With and without the time of a cycle that sdiag has.


def test_replays_with_the_time_of_a_cycle() -> None:
    """Of all recorded runs but two without backfill. S8 is the one in which it counts most."""
    times = {
        f"{folder.parents[1].name}/{folder.parent.name}": test_us for folder, test_us in golden_folders_with_sdiag()
    }
    assert len(times) == 18 and times["slurm/S8"] == 9556 and "slurm/S1-builtin" not in times
    run = read_golden_run(shared_file("golden", "slurm", "S8", "run1"))
    usual, measured = (distances(run, test_us, 3) for test_us in (1000, 9556))
    assert mean(measured, "tau") > 0.95 > mean(usual, "tau")
    assert abs(mean(measured, "wait_s") - measured[0].real_wait_s) < abs(mean(usual, "wait_s") - usual[0].real_wait_s)


# golden_cluster: The cluster of a recorded run.


def test_a_recorded_cluster_is_read() -> None:
    cluster = golden_cluster(shared_file("golden", "slurm", "S11", "run1"))
    assert [partition.tier for partition in cluster.partitions] == [1, 1, 2]
    assert cluster.partitions[0].max_time_s == 7200 and len(cluster.partitions[0].nodes) == 12
    assert {account.name: account.parent for account in cluster.accounts}["a1"] == "a"
    assert sorted(limit.bound for limit in cluster.limits) == [3, 96, 256] and len(cluster.reservations) == 1


# golden_runs: Recorded runs as they are read.


def test_a_recorded_run_is_read() -> None:
    run = read_golden_run(shared_file("golden", "slurm", "S10", "run1"))
    arrays = [job for job in run.jobs if job.label.startswith("35_")]
    assert len(arrays) == 20 and arrays[0].request.memory_per == "cpu" and arrays[0].nodes == ("n11",)
    assert {event.kind for event in run.events} == {"start", "end", "cycle", "pass"}
    assert any(job.request.dependencies for job in run.jobs)


# hpc_week: A week of UB-HPC.


def test_jobs_of_a_better_qos_wait_less_where_it_counts() -> None:
    folder = shared_file("traces", "clusters", "ub-hpc-week")
    cluster, asked, runtime = hpc_week(folder, "")
    assert (len(cluster.nodes), len(asked), len({one.user for one in asked})) == (217, 19_579, 64)
    assert runtime.min() >= 1
    better = [one.qos == "priority-supporters" for one in asked]
    waits = [week_waits(folder, setting, Phases())[1] for setting in ("_nopriority", "")]
    assert all((of_all >= 0).all() for of_all in waits)
    assert waits[1][better].mean() < 0.9 * waits[0][better].mean()


# micro_cluster: One real run of UB's micro cluster.


def test_waits_are_near_those_of_the_real_run() -> None:
    ours, real = replay_micro(shared_file("traces", "clusters", "ub-micro"), Phases.drawn(0))
    assert len(ours) == 500
    assert rank_correlation(ours, real) >= 0.85
    assert share_alike(ours, real) >= 0.4
    assert abs(ours.mean() / real.mean() - 1) < 0.08


def test_ranks_share_their_mean_where_values_are_equal() -> None:
    assert rank_correlation(np.array([1, 2, 2, 9]), np.array([5, 6, 6, 7])) == pytest.approx(1.0)


# passes: Recorded passes of the main scheduler.


@pytest.mark.parametrize("scenario", ["S2", "S5", "S8", "S11"])
def test_passes_start_the_jobs_of_the_real_ones(scenario: str) -> None:
    count = judge_passes(shared_file("golden", "slurm", scenario, "run1"))
    assert count["jobs"] >= (0.97 if scenario == "S11" else 1) * count["passes"] > 0
    assert count["starting_nodes"] >= (0.92 if scenario == "S11" else 1) * count["starting"] > 0


# priorities: Priorities and Fair Tree against sprio and sshare.


@pytest.mark.parametrize("scenario", ["S5", "S6", "S11"])
def test_sums_and_factors_are_those_of_the_real_one(scenario: str) -> None:
    count = compare_priorities(shared_file("golden", "slurm", scenario, "run1"))
    assert count["sum"] == count["jobs"] > 0
    assert count["fair"] >= 0.99 * count["users"]


# reasons: What keeps jobs, against the reasons of the real Slurm.


@pytest.mark.parametrize("scenario", ["S3", "S4-tier", "S7", "S11"])
def test_at_least_nine_in_ten_are_those_of_squeue(scenario: str) -> None:
    total, same, priority, pairs = compare_reasons(shared_file("golden", "slurm", scenario, "run1"))
    assert same >= 0.9 * total > 1000, pairs.most_common(5)
    assert priority < same  # an answer that never looks agrees less often


# repeats: Real runs of one scenario against each other.


def test_a_run_is_no_way_from_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    run = read_golden_run(shared_file("golden", "slurm", "S7", "run1"))
    start = starts_in(run, run)
    assert [int(second) for second in start] == [NOT_GIVEN if job.start_s is None else job.start_s for job in run.jobs]
    assert worst_ratio(run, start) == 1.0
    assert worst_ratio(run, np.where(start >= 0, start + 100, start)) > 1.2
    assert {kind for kind, _ in groups_of(run)} == {"partition", "QOS", "account"}
    monkeypatch.delenv("TRACEHOUSE_RECORDED", raising=False)
    assert runs_of_scenarios() == {}


# usage: Used time from accounting alone.


@pytest.mark.parametrize("scenario", ["S6", "S11"])
def test_usage_is_that_of_the_controller(scenario: str) -> None:
    errors = compare_usage(shared_file("golden", "slurm", scenario, "run1"))
    assert errors.values > 600 and errors.median < 0.002 and errors.ninth_decile < 0.01


# waits_by_group: Mean waits of groups of jobs.


def test_each_group_has_its_mean_over_replays_and_a_kind_of_one_group_has_no_row() -> None:
    groups = {"partition": ["a", "b", "a", ""], "QOS": ["normal"] * 4}
    ours = [np.array([10, 0, 20, 7]), np.array([30, 0, 40, 7])]
    rows = list(rows_by_group(groups, np.array([10, 0, 40, 7]), ours))
    assert rows == ["partition | a | 2 | 25 | 25 | 1.00", "partition | b | 1 | 0 | 0 | "]


# searched_orders: Searched policies in the place of the priorities of Slurm and PBS.


def test_an_order_in_place_of_the_own_priority_is_compared_in_every_phase() -> None:
    shared_file("golden", "pbs", "P1")
    site = recorded_pbs("P1")
    own = [site.replayed(None, number) for number in range(2)]
    assert own[0].panel().wait_s == pytest.approx(0.59 * 3600, rel=0.02)
    lottery = lottery_of(site, own[0])
    policies = {each.policy: each for each in judged(site, own, lottery)}
    # P1 runs jobs in the order of submission, so that an order by submission changes nothing
    assert policies["FCFS"].wait == pytest.approx(1, abs=0.01)
    assert policies["SAF"].wait < 0.7
    assert policies["SAF"].guard > 1.1
    assert policies["SAF"].of_guard == "p99"
    assert "40 random orders" in table_of(site, own, lottery, list(policies.values()))


def test_jobs_of_the_micro_cluster_have_the_processors_that_they_asked_for() -> None:
    shared_file("traces", "clusters", "ub-micro")
    site = micro_site()
    assert len(site.jobs) == 500
    assert (site.jobs.procs > 1).mean() > 0.2
    assert site.cluster.procs >= site.jobs.procs.max()


def test_what_dominates_is_counted_by_kind_of_workload() -> None:
    rows = [
        Beside(name, 0.5, wait, guard, "p99", "", as_good)
        for name in ("searched:cautious", "searched:balanced", "searched:fast")
        for wait, guard, as_good in ((0.5, 1.0, 0.02), (2.0, 1.0, 0.02), (0.5, 1.2, 0.02), (0.5, 1.0, 0.2))
    ]
    rows += [Beside(name, 1, 1, 1, "p95", "", 1) for name in ("FCFS", "bounded-key:factor=1", "SJF", "SAF")]
    lines = summary({"some": rows, "others": rows[:1] * 6 + rows}).splitlines()
    assert lines[0] == "| policy | some | others | dominates |"
    assert lines[2] == "| searched:cautious | 0.50, 0.71, 1.20 | 0.50, 0.57, 1.20 | 8 of 14 |"
    assert lines[-1].endswith("| 0 of 2 |")
