"""Tests of assets/pages: baseline, changes, comparison, period."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from assets.common.trace import load_trace
from assets.pages.changes import (
    NOT_IN_THE_LOG,
    SCHEDULER_COLUMNS,
    changes_section,
    grade_sentences,
    note_on_learning,
    scheduler_table,
    who_pays,
)
from assets.pages.comparison import Comparison, Grade, Scheduler, read_comparison, read_grade, word_of
from assets.pages.logged import read_logged
from assets.pages.page import Block, Bullets, Chart, Table
from assets.pages.period import ReportPeriod, jobs_of_period, logged_in_period, period_of
from assets.pages.render import render_report
from assets.policies.verdicts import JudgedRule
from assets.replaying.running.scored_part import PartOptions
from models.judging.configurations import SchedulerConfiguration
from models.judging.machine import Machine, SizeOverTime
from models.judging.verdict import BASELINE_ROW
from tests.assets.pages.conftest import RULES, fcfs_without_backfilling, grade_source, idle_log, judge_source
from tests.tiny import busy_log, swf_line, warehouse_of
from warehouse import Warehouse

# changes: What would change: the grade stands beside every answer, and what the log does not tell is said.


def scheduler(name: str = "A", **by_size: float) -> Scheduler:
    return Scheduler(name, "tried", 200, 3600.0, 60.0, 7200.0, 0.5, 0.9, 90_000.0, 3.0, by_size)


def text_of(blocks: list[Block]) -> str:
    return " ".join(block for block in blocks if isinstance(block, str))


def test_the_log_is_the_first_row_and_every_replay_has_a_grade(graded: Warehouse) -> None:
    compared = read_comparison(graded, "mine")
    blocks = list(changes_section(compared, 16).blocks)
    table = next(block for block in blocks if isinstance(block, Table))
    assert [row[0] for row in table.rows][:2] == [
        "What really happened (the log)", "Best fit to the log: first come, first served, no backfilling",
    ]  # fmt: skip
    grade = 1 + SCHEDULER_COLUMNS.index("grade")
    assert [row[grade] for row in table.rows] == ["", *["B"] * (len(table.rows) - 1)]
    change = 1 + SCHEDULER_COLUMNS.index("change")
    assert table.rows[0][change] == table.rows[1][change] == "" and all(row[change] for row in table.rows[2:])
    promised = "predicted changes of the mean wait are within 30 % of the true ones in 9 of 10 cases"
    assert f"Grade B: if users submit at the log's times, {promised}" in text_of(blocks)
    assert "The baseline is Best fit to the log: first come" in text_of(blocks)
    assert "no backfilling: the scheduler that fits the log best, with grade B." in text_of(blocks)
    assert [row[-1] for row in table.rows][1] == BASELINE_ROW
    assert [block.name for block in blocks if isinstance(block, Chart)] == ["waits-by-size"]
    assert not any(isinstance(block, Bullets) for block in blocks), "with grade B nothing is missing"


def test_a_poor_or_missing_grade_says_what_the_log_does_not_tell(graded: Warehouse) -> None:
    compared = read_comparison(graded, "mine")
    for grade in (Grade("D", None, 7200.0, 60.0), Grade("C", None, 7200.0, 5000.0), Grade(None, "of reasons")):
        blocks = changes_section(replace(compared, grade=grade), 16).blocks
        assert Bullets(NOT_IN_THE_LOG) in blocks
        described = changes_section(replace(compared, grade=replace(grade, is_described=True)), 16).blocks
        assert Bullets(NOT_IN_THE_LOG) not in described, "these replays have some of it"
    poor = changes_section(replace(compared, grade=Grade("D", None, 7200.0, 60.0)), 16).blocks
    ranks = next(block for block in poor if isinstance(block, Table))
    assert tuple(ranks.columns) == ("scheduler", "rank", "mean wait") and not any(
        isinstance(block, Chart) for block in poor
    )
    assert {row[2] for row in ranks.rows} <= {BASELINE_ROW, "shorter waits", "longer waits", "about the same waits"}
    words = " ".join(NOT_IN_THE_LOG).lower()
    for what in ("partition", "reservation", "held", "fair share", "gpu", "memory", "users who react"):
        assert what in words


def test_rows_of_a_site_have_its_grade_and_saved_runs_over_a_row_have_none(graded: Warehouse) -> None:
    run = {
        "run": "fcfs", "policy": "FCFS", "backfill": "easy", "estimates": "requested", "procs": 16, "has_outages": False,
        "inspector": None, "average_wait_s": 3600.0, "p95_wait_s": 7200.0,
    }  # fmt: skip
    runs = tuple(run | {"run": policy, "policy": policy} for policy in ("FCFS", "slurm", "slurm:SAF"))
    own = Grade("B", None, 7200.0, 7000.0, own_scheduler="slurm")
    place = "orders in place of Slurm's own, on its nodes and under its limits"
    compared = replace(read_comparison(graded, "mine"), grade=own, runs=runs, place=place)
    blocks = list(changes_section(compared, 16).blocks)
    orders, *_, saved = [block for block in blocks if isinstance(block, Table)]
    grade = 1 + SCHEDULER_COLUMNS.index("grade")
    assert {row[grade] for row in orders.rows[1:]} == {"B"}
    assert {row[0]: row[-1] for row in saved.rows if row[0] not in ("the log", "baseline")} == {
        "FCFS": "none", "slurm": "B", "slurm:SAF": "none",
    }  # fmt: skip
    assert f"Each scheduler replayed the whole log, with {place}. " in text_of(blocks)
    assert "in the replay of the cluster's own Slurm." in text_of(blocks)


def test_a_grade_in_words() -> None:
    assert grade_sentences(Grade(None, "the log is generated")) == "Grade: none, because the log is generated."
    assert grade_sentences(Grade("D", None, 7200.0, 600.0)) == (
        "Grade D: no promise: trust no what-if figure. The mean wait of the graded jobs is 2.0 h in the log and 10 min in the replay of "
        "the scheduler that fits it best."
    )


def test_a_poor_grade_says_how_much_room_there_was() -> None:
    text = grade_sentences(Grade("D", None, 7200.0, 600.0, 0.6, 0.1))
    assert "For 60% of the waited time enough processors for the waiting job were idle (10% in the replay)" in text
    assert text.endswith("something that the log does not tell held jobs back.")


def test_few_jobs_and_no_waits_rank_nothing(graded: Warehouse) -> None:
    compared = read_comparison(graded, "mine")
    assert compared.baseline is not None
    few = replace(compared, baseline=replace(compared.baseline, jobs=60))
    idle = replace(
        compared,
        baseline=replace(compared.baseline, longest_s=60.0),
        tried=tuple(replace(row, longest_s=0.0) for row in compared.tried),
    )
    for each, why in ((few, "Only 60 jobs can be compared"), (idle, "Nobody waits longer than a minute")):
        blocks = list(changes_section(each, 16).blocks)
        assert why in text_of(blocks)
        table = next(block for block in blocks if isinstance(block, Table))
        assert len(table.rows) == 2 and not any(isinstance(block, Chart) for block in blocks)


def test_a_log_without_waits_says_so_in_its_row(graded: Warehouse) -> None:
    compared = replace(read_comparison(graded, "mine"), logged=None)
    rows = scheduler_table("", compared, []).rows
    assert list(rows[0][:3]) == ["What really happened", "not in the log", ""]


def test_without_an_evaluation_the_section_says_so() -> None:
    blocks = list(changes_section(Comparison(Grade(None, "nobody looked"), "No scheduler was evaluated."), 16).blocks)
    assert "No scheduler was evaluated." in blocks and not any(isinstance(block, Table | Chart) for block in blocks)


def test_saved_runs_stand_beside_the_log_and_the_baseline(graded: Warehouse) -> None:
    run = {
        "run": "twice", "policy": "FCFS", "backfill": "easy", "estimates": "requested", "procs": 32, "has_outages": True,
        "inspector": None, "average_wait_s": 3600.0, "p95_wait_s": 7200.0,
    }  # fmt: skip
    compared = replace(read_comparison(graded, "mine"), runs=(run,), all_jobs_s={"logged": 9000.0, "baseline": 7200.0})
    table = [block for block in changes_section(compared, 16).blocks if isinstance(block, Table)][-1]
    assert [row[0] for row in table.rows] == ["the log", "baseline", "twice"]
    assert table.rows[1][1] == "first come, first served, no backfilling"
    assert compared.baseline is not None
    named = replace(compared, baseline=replace(compared.baseline, name="shortest job first", kind="named"))
    blocks = [block for block in changes_section(named, 16).blocks if isinstance(block, Table)]
    assert list(blocks[-1].rows[1][:2]) == ["baseline", "shortest job first"]
    assert blocks[-1].caption.endswith("Changes are against the baseline.")
    assert list(table.rows[2]) == [
        "twice", "FCFS, EASY backfilling, requested times, outages", "32", "1.0 h", "-1.0 h (-50 %)", "2.0 h", "B",
    ]  # fmt: skip


def test_who_pays_is_the_size_that_waits_longer() -> None:
    baseline = scheduler(serial=3600.0, large=4 * 3600.0)
    assert who_pays(scheduler(serial=600.0, large=5.2 * 3600), baseline, 256) == (
        "jobs over 64 processors wait 1.2 h longer (5.2 h instead of 4.0 h)"
    )
    assert who_pays(scheduler(serial=600.0, large=4.2 * 3600), baseline, 256) is None
    assert who_pays(scheduler(serial=3600.0 + 300, large=60.0), baseline, 256) is None, "under six minutes"


def test_a_policy_that_has_learned_nothing_is_said_to() -> None:
    assert note_on_learning(Comparison(Grade(None))) is None
    note = note_on_learning(Comparison(Grade(None), started_from="smallest area first"))
    assert note == "Nothing was learned: the learned policy is what training started from (smallest area first)."


# comparison: Replays beside what really happened, on the same jobs, and against the scheduler that fits the log.


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
    assert (
        none.grade.why is not None
        and none.grade.why == "replays of this log have none: `tracehouse run mine` gives it one"
    )
    judge_source(warehouse)
    with warehouse.write() as connection:
        connection.execute("UPDATE replay.period_scores SET jobs = jobs - 1")
    changed = read_comparison(warehouse, "mine")
    assert changed.why_none is not None and changed.why_none.startswith("The log has changed since")


def test_the_grade_is_read_with_its_reasons(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(200, days=25))
    fitted = SchedulerConfiguration(0.0, "SAF", "conservative", Machine(12), 100)
    for letter in ("B", "C"):
        grade_source(warehouse, letter, fitted=fitted)
        grade, read = read_grade(warehouse, "mine")
        assert (grade.letter, grade.logged_s, grade.has_real_waits) == (letter, 7200.0, True)
        assert (read.policy, read.backfill, read.machine) == ("SAF", "conservative", Machine(12))
    fitted = SchedulerConfiguration(0.0, "slurm", "easy", Machine(12), 100)
    grade_source(warehouse, "B", fitted=fitted)
    grade, read = read_grade(warehouse, "mine")
    assert (read.policy, read.backfill, read.machine) == ("FCFS", "easy", None)  # its cluster is described no more
    assert grade.letter is None and "that of the source is of another scheduler" in str(grade.why)


def test_a_fit_on_fewer_processors_than_a_job_needs_is_not_replayed(tmp_path: Path) -> None:
    """As where a wider job was read after the fit."""
    warehouse = warehouse_of(tmp_path, busy_log(300, days=40))
    judge_source(warehouse)
    grade_source(warehouse, "B", fitted=fcfs_without_backfilling(8))
    compared = read_comparison(warehouse, "mine")
    assert compared.baseline is not None and compared.baseline.kind == "incumbent"


# period: Reports of a period: what happened then, and how schedulers would have served these jobs.

CREATED = datetime(2026, 11, 25, tzinfo=UTC)


def of(warehouse: Warehouse, **asked: str) -> ReportPeriod:
    return period_of(warehouse, "mine", PartOptions(**asked))


def test_a_period_has_words_and_a_name_for_a_file(graded: Warehouse) -> None:
    march = of(graded, period="2026-03")
    assert march.name == "2026-03" and march.words.startswith(
        "the month 2026-03, Sun 2026-03-01 00:00 to Wed 2026-04-01 00:00"
    )
    assert of(graded, period="last-month").words.startswith("the last complete month, 2026-03")
    between = of(graded, begin="2026-02-03T12:30", end="2026-02-05")
    assert between.name == "from-2026-02-03T12-30_to-2026-02-05" and between.begin < between.end
    with pytest.raises(
        ValueError, match=r"no job was submitted in this time .*jobs were submitted from Thu 2026-01-01"
    ):
        of(graded, begin="2027-01-01", end="2027-02-01")
    with pytest.raises(ValueError, match="'gone' is not in the warehouse"):
        period_of(graded, "gone", PartOptions(period="2026-03"))


def test_what_happened_is_of_its_jobs(graded: Warehouse) -> None:
    march, rows = of(graded, period="2026-03"), load_trace(graded, "mine").rows
    inside = rows["submit_s"].is_between(march.begin, march.end, closed="left").to_numpy()
    waits = (rows["start_s"] - rows["submit_s"]).to_numpy()[inside]
    with jobs_of_period(graded, "mine", march) as part:
        logged = read_logged(part, "mine")
    assert logged.extent.jobs == inside.sum() and logged.extent.submitted.endswith("Mar 2026")
    assert logged.all_waits is not None and logged.all_waits["mean_s"] == pytest.approx(waits.mean())
    assert read_logged(graded, "mine").extent.jobs == 600  # the warehouse itself is as it was


def test_waits_are_of_its_jobs_and_verdicts_of_all(graded: Warehouse) -> None:
    march, whole = of(graded, period="2026-03"), read_comparison(graded, "mine")
    compared = read_comparison(graded, "mine", march)
    rows = load_trace(graded, "mine").rows[360:]
    inside = rows["submit_s"].is_between(march.begin, march.end, closed="left").to_numpy()
    waits = (rows["start_s"] - rows["submit_s"]).to_numpy()[inside]
    assert 0 < inside.sum() < 240 and compared.logged is not None
    assert compared.logged.mean_s == pytest.approx(waits.mean()) and compared.logged.longest_s == np.max(waits)
    assert {row.jobs for row in (compared.logged, *compared.tried)} == {inside.sum()} == {compared.scored}
    verdicts = [{row.name: (row.verdict, row.rank) for row in each.tried} for each in (compared, whole)]
    shared = verdicts[0].keys() & verdicts[1].keys()
    assert len(shared) >= 3 and all(verdicts[0][name][0] == verdicts[1][name][0] for name in shared)
    page = render_report(graded, "mine", CREATED, march)
    assert (
        "mine, 2026-03</h1>" in page
        and "Jobs submitted in the month 2026-03, Sun 2026-03-01" in page
        and f"The rows are about {inside.sum()} jobs of this time" in page
    )
    assert "Verdicts are of all jobs that no training has seen" in page
    assert "The verdict is of all evaluated jobs, not of this time alone." in page


def test_a_time_before_the_evaluated_jobs_has_no_comparison(graded: Warehouse) -> None:
    january = of(graded, period="2026-01")
    compared = read_comparison(graded, "mine", january)
    assert compared.why_none is not None and compared.baseline is None
    assert "none of them is of this time. `tracehouse what-if FILE --source mine --period PERIOD`" in compared.why_none
    assert "What happened" in render_report(graded, "mine", CREATED, january)


def test_jobs_of_before_still_run_and_wait(tmp_path: Path) -> None:
    """A cluster that is always full: so it is in each period, too, though most of its jobs began earlier."""
    lines = [swf_line(k, 21_600 * (k - 1), 0, 86_400, 1, 86_400) for k in range(1, 401)]  # four at a time
    warehouse = warehouse_of(tmp_path, "; UnixStartTime: 1767225600\n; MaxProcs: 4\n" + "".join(lines))
    week = period_of(warehouse, "mine", PartOptions(period="last-7-days"))
    logged = logged_in_period(warehouse, "mine", week)
    assert logged.extent.jobs == 28 and logged.utilisation == pytest.approx(1.0, abs=0.02)
    page = render_report(warehouse, "mine", CREATED, week)
    assert "This time has 28 jobs" in page and "begins to have all jobs" not in page
    first = period_of(warehouse, "mine", PartOptions(end="2026-01-08"))
    assert logged_in_period(warehouse, "mine", first).utilisation == pytest.approx(1.0, abs=0.1)
