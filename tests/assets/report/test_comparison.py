"""Replays beside what really happened, on the same jobs, and against the scheduler that fits the log."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assets.common.trace import load_trace
from assets.policies.verdicts import JudgedRule
from assets.report.comparison import read_comparison, read_grade, word_of
from models.judging.configurations import SchedulerConfiguration
from models.judging.machine import Machine
from models.judging.size_over_time import SizeOverTime
from tests.assets.report.conftest import (
    RULES,
    fcfs_without_backfilling,
    grade_source,
    idle_log,
    judge_source,
)
from tests.tiny import busy_log, swf_line, warehouse_of
from warehouse import Warehouse


def test_the_log_is_a_row_over_the_same_jobs(graded: Warehouse) -> None:
    compared = read_comparison(graded, "mine")
    assert compared.logged is not None and compared.baseline is not None and compared.why_none is None
    rows = load_trace(graded, "mine").rows[360:]
    waits = (rows["start_s"] - rows["submit_s"]).to_numpy()
    assert compared.logged.name == "What really happened (the log)"
    assert {row.jobs for row in (compared.logged, compared.baseline, *compared.tried)} == {240}
    assert compared.logged.mean_s == pytest.approx(waits.mean()) and compared.logged.longest_s == waits.max()
    assert compared.logged.within_24_h == pytest.approx((waits <= 86_400).mean())
    assert sum(compared.logged.by_size.values()) > 0


def test_the_scheduler_that_fits_is_the_baseline(graded: Warehouse) -> None:
    """It has written this log: its row has the waits of the log, and FCFS with EASY is one of those that were tried."""
    compared = read_comparison(graded, "mine")
    baseline = compared.baseline
    assert baseline is not None and compared.logged is not None
    assert (baseline.kind, baseline.verdict) == ("fitted", "")
    assert baseline.name == "Best fit to the log: first come, first served, no backfilling"
    assert baseline.mean_s == pytest.approx(compared.logged.mean_s)
    (easy,) = (row for row in compared.tried if row.kind == "incumbent")
    assert easy.name == "EASY with requested times" and easy.mean_s < baseline.mean_s
    assert word_of(easy) == "dominates"
    assert compared.all_jobs_s["logged"] == pytest.approx(compared.all_jobs_s["baseline"])


def test_without_a_fit_easy_is_the_baseline(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(300, days=40))
    judge_source(warehouse)
    grade_source(warehouse, None, "the log is generated: no real cluster has seen these jobs")
    compared = read_comparison(warehouse, "mine")
    assert compared.baseline is not None and compared.logged is not None
    assert (compared.baseline.name, compared.baseline.kind) == ("EASY with requested times", "incumbent")
    assert compared.baseline.name not in [row.name for row in compared.tried]
    assert compared.logged.name == "The log, whose waits no real cluster has seen"
    with warehouse.read() as connection:
        stored = dict(connection.execute("SELECT policy, verdict FROM replay.period_scores").fetchall())
    (sjf,) = (row for row in compared.tried if row.name.startswith("Shortest job first"))
    assert sjf.verdict == stored["SJF"]


def test_a_cluster_that_grew_is_the_baseline(graded: Warehouse, tmp_path: Path) -> None:
    own = Warehouse(Path(shutil.copy(graded.path, tmp_path / "own.duckdb")))
    grade_source(
        own,
        "B",
        None,
        SchedulerConfiguration(0.0, "FCFS", "none", Machine(16, SizeOverTime((12, 16), (40 * 86_400,))), 200),
    )
    grown, whole = (read_comparison(each, "mine") for each in (own, graded))
    assert grown.baseline is not None and whole.baseline is not None
    assert grown.baseline.name == (
        "Best fit to the log: first come, first served, no backfilling, on a cluster whose size changes"
    )
    assert grown.all_jobs_s["baseline"] > 1.2 * whole.all_jobs_s["baseline"], "jobs wait while it is small"


def test_those_that_do_the_same_share_a_row(graded: Warehouse) -> None:
    rows = {row.name: row for row in read_comparison(graded, "mine").tried}
    assert rows["Smallest area first with requested times"].same_as == ("Learned policy with requested times",)
    assert "Learned policy with requested times" not in rows and len(rows) == len(RULES) - 1


def test_ranks_follow_the_verdicts(graded: Warehouse) -> None:
    compared = read_comparison(graded, "mine")
    assert compared.ranks and compared.best is not None
    ranks = [row.rank for row in compared.tried]
    assert None not in ranks and ranks == sorted(ranks)  # type: ignore[type-var]
    assert word_of(compared.best) == "dominates"


def test_where_nobody_waits_nothing_is_ranked(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, idle_log(400))
    judge_source(warehouse)
    grade_source(warehouse, None, "hardly any of these jobs waited", fcfs_without_backfilling(4))
    compared = read_comparison(warehouse, "mine")
    assert compared.nobody_waits and not compared.ranks and compared.best is None
    assert {row.rank for row in compared.tried} <= {None}


def test_few_jobs_are_not_ranked(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(300, days=40))
    judge_source(warehouse, share=0.2)
    compared = read_comparison(warehouse, "mine")
    assert compared.scored == 60 and not compared.ranks and compared.best is None


def test_jobs_whose_wait_the_log_does_not_know_are_in_no_row(tmp_path: Path) -> None:
    lines = busy_log(400, days=50).splitlines(keepends=True)
    for k in range(3 + 300, len(lines)):
        words = lines[k].split()
        words[2] = "-1"
        lines[k] = " ".join(words) + "\n"
    warehouse = warehouse_of(tmp_path, "".join(lines))
    judge_source(warehouse)
    compared = read_comparison(warehouse, "mine")
    assert compared.logged is not None and compared.baseline is not None
    assert (compared.scored, compared.logged.jobs, compared.baseline.jobs) == (160, 60, 60)
    assert "logged" not in compared.all_jobs_s


def test_a_log_without_waits_has_no_logged_row(tmp_path: Path) -> None:
    text = "; MaxProcs: 4\n" + "".join(swf_line(k, 100 * k, -1, 500, 3, 600) for k in range(1, 301))
    warehouse = warehouse_of(tmp_path, text)
    judge_source(warehouse, rules=(JudgedRule("FCFS"), JudgedRule("SJF", "SJF")))
    grade_source(warehouse, None, "the log does not say when its jobs started")
    compared = read_comparison(warehouse, "mine")
    assert compared.logged is None and compared.baseline is not None and compared.baseline.jobs == 120
    assert not compared.grade.has_real_waits


def test_a_small_log_says_how_many_jobs_are_needed(tmp_path: Path) -> None:
    compared = read_comparison(warehouse_of(tmp_path, busy_log(299, days=40)), "mine")
    assert (
        compared.why_none == "299 jobs with a run time are too few to evaluate schedulers on: at least 300 are needed."
    )


def test_why_there_is_nothing_to_compare(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(300, days=40))
    none = read_comparison(warehouse, "mine")
    assert none.why_none is not None and none.why_none.startswith("No scheduler was evaluated on this log yet")
    assert none.grade.why is not None and "nobody has graded replays" in none.grade.why
    judge_source(warehouse)
    with warehouse.write() as connection:
        connection.execute("DELETE FROM replay.schedules WHERE job_index = 250")
    changed = read_comparison(warehouse, "mine")
    assert changed.why_none is not None and changed.why_none.startswith("The log has changed since")


def test_the_grade_is_read_with_its_reasons(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(200, days=25))
    fitted = SchedulerConfiguration(0.0, "SAF", "conservative", Machine(12), 100)
    for letter, expected in (("B", ("SAF", "conservative", Machine(12))), ("C", ("FCFS", "easy", None))):
        grade_source(warehouse, letter, fitted=fitted)
        grade, read = read_grade(warehouse, "mine")
        assert (grade.letter, grade.logged_s, grade.has_real_waits) == (letter, 7200.0, True)
        assert (read.policy, read.backfill, read.machine) == expected


def test_a_fit_on_fewer_processors_than_a_job_needs_is_not_replayed(tmp_path: Path) -> None:
    """As where a wider job was read after the fit."""
    warehouse = warehouse_of(tmp_path, busy_log(300, days=40))
    judge_source(warehouse)
    grade_source(warehouse, "B", fitted=fcfs_without_backfilling(8))
    compared = read_comparison(warehouse, "mine")
    assert compared.baseline is not None and compared.baseline.kind == "incumbent"
