"""What would change: the grade stands beside every answer, and what the log does not tell is said."""

from __future__ import annotations

from dataclasses import replace

from assets.report.changes import (
    NOT_IN_THE_LOG,
    SCHEDULER_COLUMNS,
    changes_section,
    grade_sentences,
    graded_own,
    note_on_learning,
    scheduler_table,
    who_pays,
)
from assets.report.comparison import Comparison, Grade, Scheduler, read_comparison
from assets.report.page import Block, Bullets, Chart, Table
from models.judging.verdict import BASELINE_ROW
from warehouse import Warehouse


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
    assert "Grade B: the replay resembles what happened" in text_of(blocks)
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
    poor = changes_section(replace(compared, grade=Grade("D", None, 7200.0, 60.0)), 16).blocks
    ranks = next(block for block in poor if isinstance(block, Table))
    assert tuple(ranks.columns) == ("scheduler", "rank", "mean wait") and not any(
        isinstance(block, Chart) for block in poor
    )
    assert {row[2] for row in ranks.rows} <= {BASELINE_ROW, "shorter waits", "longer waits", "about the same waits"}
    words = " ".join(NOT_IN_THE_LOG).lower()
    for what in ("partition", "reservation", "held", "fair share", "gpu", "memory", "users who react"):
        assert what in words


def test_a_grade_of_the_clusters_own_scheduler_is_none_of_the_orders() -> None:
    blocks = changes_section(Comparison(Grade("A", None, 7200.0, 7000.0, own_scheduler="pbs"), "few jobs"), 16).blocks
    assert graded_own("pbs") in blocks and not any(isinstance(block, Bullets) for block in blocks)


def test_a_grade_in_words() -> None:
    assert grade_sentences(Grade(None, "the log is generated")) == "Grade: none, because the log is generated."
    assert grade_sentences(Grade("D", None, 7200.0, 600.0)) == (
        "Grade D: the replay has little to do with what happened: trust no what-if figure. The mean wait of the graded jobs is 2.0 h "
        "in the log and 10 min in the replay of the scheduler that fits it best."
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


def test_saved_runs_stand_beside_the_log_and_the_fit(graded: Warehouse) -> None:
    run = {
        "run": "twice", "policy": "FCFS", "backfill": "easy", "estimates": "requested", "procs": 32, "has_outages": True,
        "inspector": None, "average_wait_s": 3600.0, "p95_wait_s": 7200.0,
    }  # fmt: skip
    compared = replace(read_comparison(graded, "mine"), runs=(run,), all_jobs_s={"logged": 9000.0, "baseline": 7200.0})
    table = [block for block in changes_section(compared, 16).blocks if isinstance(block, Table)][-1]
    assert [row[0] for row in table.rows] == ["the log", "best fit", "twice"]
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
