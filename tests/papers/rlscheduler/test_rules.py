"""Tests of papers/rlscheduler: curves, published, rules, scores, study."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean

import dagster as dg
import numpy as np
import polars as pl
import pytest

import tracehouse
from papers.rlscheduler.curves import curves
from papers.rlscheduler.published import published
from papers.rlscheduler.rules import replay_rlscheduler, rlscheduler_metrics
from papers.rlscheduler.scores import (
    CHANGING_BASES,
    GIVEN_SCORES,
    KERNEL_NETWORK,
    POLICIES,
    policy_number,
    policy_score,
    takes_true_wait,
)
from papers.rlscheduler.study import GOALS, PAPER_LOGS, PAPER_RL, PAPER_TRANSFER, mean_of, paper_cells
from papers.rlscheduler.ten_windows import BACKFILLINGS
from papers.rlscheduler.transfer import transfer
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.schedule import Schedule
from tests.papers.experiment_runs import QUICK, materialize, rows
from tests.pipelines.command_line import use_home
from tests.shared import shared_file
from tests.tiny import busy_log, warehouse_of
from traces.swf.reader import read_swf
from warehouse import Warehouse

# curves: Training curves: every variant has every epoch, and an experiment alone replaces its rows.


def test_curves_have_every_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    done = warehouse_of(tmp_path, busy_log(1_000, days=70))
    first = {"networks": ["kernel", "mlp_v2"], "seeds": [1], "window_jobs": 40}
    ppo = {"epochs": 2, "trajectories": 6, "siblings": 1, "baseline": "critic", "passes": 2}
    materialize(curves, done, first | {"ppo": ppo})
    found = rows(done, "curves")
    assert set(found["variant"]) == {"kernel", "mlp_v2", "unfiltered", "filtered", "relative"}
    assert found.height == 5 * 2
    some = {"networks": ["mlp_v3"], "filtering": False, "seeds": [1], "window_jobs": 40}
    ppo = {"epochs": 1, "trajectories": 4, "siblings": 1, "baseline": "critic", "passes": 1}
    materialize(curves, done, some | {"ppo": ppo})
    found = rows(done, "curves")
    assert set(found["variant"]) == {"mlp_v3", "unfiltered", "filtered", "relative"}
    filtered = found.filter(pl.col("variant") == "filtered").sort("epoch")
    assert filtered["phase"].to_list() == ["filtered", "all"]


# published: RLScheduler's tables on a small log of the published size: every policy, its counts, and what was
# replaced.


def test_every_policy_is_on_every_window(done: Warehouse) -> None:
    costs = rows(done, "window_costs").filter(pl.col("experiment") == "published")
    each = costs.group_by("goal", "policy", "seed").agg(pl.len())
    assert (each["len"] == 10).all()
    assert each.height == 2 * (6 + 3 * 2)  # six heuristics; key, ppo and evolution with two seeds
    found = rows(done, "comparisons").filter(pl.col("experiment") == "published")
    assert found.height == 2 * 9 and (found["rival"] == "SAF, requested").all()
    means = costs.group_by("goal", "policy").agg(pl.col("cost").mean())
    both = found.join(means, on=["goal", "policy"], suffix="_again")
    assert np.allclose(both["cost"], both["cost_again"]) and both.height == found.height
    saf = found.filter(pl.col("policy") == "SAF")
    assert (saf["difference"] == 0).all()


def test_an_experiment_again_replaces_its_rows_alone(done: Warehouse) -> None:
    """One goal of `published` again: the other goal and the other experiments stay."""
    before = [rows(done, name) for name in ("window_costs", "comparisons", "policies")]
    materialize(transfer, done, {})
    materialize(published, done, QUICK | {"goals": ["bsld"], "backfills": ["easy"]})
    after = [rows(done, name) for name in ("window_costs", "comparisons", "policies")]
    for old, new in zip(before, after, strict=True):
        assert old.height == new.height and set(map(str, old.rows())) == set(map(str, new.rows()))


def test_policies_may_see_the_published_windows_as_in_the_paper(done: Warehouse) -> None:
    asked = {"goals": ["bsld"], "backfills": ["easy"], "methods": ["evolution"], "seen": True}
    materialize(published, done, QUICK | asked)
    found = rows(done, "comparisons")
    assert set(found["experiment"]) == {"published", "published_seen", "transfer"}


def test_short_logs_have_no_published_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(400))
    with pytest.raises(dg.Failure, match="the published windows need 10000"):
        materialize(published, warehouse, {})


# rules: The RLScheduler rules give that code's own results: its published tables and its start times; and what is
# refused.

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


# scores: Scores of the RLScheduler rules by hand.

# A wait of 432 s, submitted at 100 s, estimate 1,000 s, 16 of 64 processors.
EXPECTED = {
    "FCFS": 100,
    "LCFS": -100,
    "SJF": 1000,
    "LJF": -1000,
    "smallest": 16,
    "largest": -16,
    "SAF": 16_000,
    "F1": 3 * 16 + 870 * 2,
    "F2": math.sqrt(1000) * 16 + 25600 * 2,
    "F3": 16_000 + 6860000 * 2,
    "F4": 1000 * 4 + 530000 * 2,
    "WFP3": -(0.432**3) * 16,
    "UNICEP": -0.108,
    "inspector-SEXP": 89.5,
    "inspector-LEXP": -89.5,
    "inspector-multifactor": -(10 + 750),
}


def test_scores_by_hand() -> None:
    assert list(EXPECTED) == [*POLICIES, *CHANGING_BASES]
    for name, score in EXPECTED.items():
        assert policy_score(policy_number(name), 432, 100, 1000, 16, 64.0) == pytest.approx(score, rel=1e-12), name
    assert policy_score(policy_number("F3"), 0, 0, 10, 2, 64.0) == 20 - 6860000  # log10 counts it 0.1 s
    assert policy_score(GIVEN_SCORES, 432, 100, 1000, 16, 64.0) == 0.0


def test_numbers_are_each_policys_own() -> None:
    numbers = [policy_number(name) for name in EXPECTED]
    assert len({*numbers, GIVEN_SCORES, KERNEL_NETWORK}) == len(EXPECTED) + 2
    assert policy_number("SEXP") is None


def test_who_takes_the_true_wait() -> None:
    for wait_bug, expected in ((True, ["multifactor"]), (False, ["WFP3", "UNICEP", "SEXP", "LEXP", "multifactor"])):
        names = [name for name in EXPECTED if takes_true_wait(policy_number(name) or 0, wait_bug)]
        assert [name.removeprefix("inspector-") for name in names] == expected


# study: The figures that are copied from RLScheduler's paper, against its text, and those of rules against that
# code's own results.


@pytest.mark.parametrize(("goal", "backfill"), PAPER_RL)
def test_copied_figures_are_in_the_paper(goal: str, backfill: str) -> None:
    text = " ".join(shared_file("papers", "rlscheduler-2020.txt").read_text().split())
    cells = [cell for cell in PAPER_RL[goal, backfill] if cell]
    if goal.startswith("utilisation"):  # this table is in the text line by line, the others are column by column
        table = text.split("TABLE VI:")[1].split("TABLE VII:")[0].split("Scheduling with Backfilling")
        rows = table[backfill == "easy"]
        for log, cell in zip(PAPER_LOGS, cells, strict=True):
            words = rows.split(f"{log} 0.")[1].split()
            assert words[5] == cell, (log, words[:6])
    else:
        assert " ".join(cells) in text


@pytest.mark.parametrize(("place", "backfill"), product(range(len(PAPER_LOGS)), BACKFILLINGS))
def test_copied_figures_of_transfer_are_in_the_paper(place: int, backfill: str) -> None:
    text = " ".join(shared_file("papers", "rlscheduler-2020.txt").read_text().split())
    transfer = text.split("TABLE VII:")[1].split("TABLE VIII:")[0]
    cells = [PAPER_TRANSFER[log, backfill][place] for log in PAPER_LOGS]
    words = [word for word in transfer.split() if word in cells]  # the first column has others between its figures
    assert words == cells and (place == 0 or " ".join(cells) in transfer)
    own = PAPER_RL["bounded slowdown (V)", backfill][place]
    assert (cells[place] == own) is (PAPER_LOGS[place] != "HPC2N")


def test_a_log_without_a_figure_has_a_hyphen() -> None:
    assert paper_cells("bounded slowdown (V)", ("HPC2N", "KTH-SP2")) == ["117.01", "86.14", "-", "-"]


@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_figures_are_those_of_the_code(backfill: str) -> None:
    with shared_file("golden", "rlscheduler", "windows.csv").open() as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["trace"] == "lublin-1"
            and row["heuristic"] == "SJF"
            and row["backfill"] == str(int(backfill == "easy"))
        ]
    assert len(rows) == 10
    trace = tracehouse.load_log(shared_file("traces", "swf", "lublin_256.swf.gz"), procs=256).trace()
    assert {"bsld", "wait", "utilisation_as_coded"} <= {metric for metric, _ in GOALS.values()}
    columns = {
        "utilisation_as_coded": "util_as_coded",
        "utilisation": "util_makespan",
        "bsld": "avg_bsld",
        "wait": "avg_wait",
    }
    for metric, column in columns.items():
        expected = mean(float(row[column]) for row in rows)
        assert mean_of(trace, "SJF", backfill, metric) == pytest.approx(expected, rel=1e-9)
