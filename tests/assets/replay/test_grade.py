"""The grade of a source in one line."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from assets.replay.grade import grade_of, grade_text, held_back_text
from warehouse import Warehouse, replace_partition


def warehouse_with(folder: Path, grade: str | None) -> Warehouse:
    warehouse = Warehouse(folder / "w.duckdb")
    columns = {"part": "all", "value": "", "jobs": 9, "logged_wait_s": 7200.0, "replayed_wait_s": 3600.0}
    columns |= {"logged_median_wait_s": 600.0, "replayed_median_wait_s": 600.0, "logged_p95_wait_s": 9000.0}
    columns |= {"replayed_p95_wait_s": 90_000.0, "rank_correlation": 1.0, "distance": 0.0}
    why = None if grade else "hardly anybody waited"
    with warehouse.write() as connection:
        replace_partition(
            connection,
            "replay.fidelity",
            "mine",
            pl.DataFrame(
                [
                    columns | {"grade": grade, "no_grade_because": why},
                    columns | {"part": "size", "value": "serial", "grade": "A", "no_grade_because": None},
                ],
            ),
        )
        same = {"backfill": "easy", "procs": 4, "jobs": 5, "factor": 2.0, "semantics": 5}
        fitted = [{"place": k, "policy": name} | same for k, name in ((1, "SAF"), (2, "FCFS"))]
        replace_partition(connection, "replay.configurations", "mine", pl.DataFrame(fitted))
    return warehouse


def test_a_grade_says_what_it_means_and_what_fits_best(tmp_path: Path) -> None:
    said = grade_text(warehouse_with(tmp_path, "C"), "mine")
    assert said is not None and said.startswith(
        "grade C: predicted changes of the mean wait are within a factor of 2 of"
    )
    assert said.endswith(
        "(mean wait 2.0 h in the log, 1.0 h in the replay of what fits it best, SAF with backfilling easy); "
        "A for the median and D for the 95th percentile"
    )


def test_a_part_has_its_own_grade_and_says_which_jobs_it_is_about(tmp_path: Path) -> None:
    warehouse = warehouse_with(tmp_path, "C")
    grade = grade_of(warehouse, "mine", ("size", "serial"))
    assert grade is not None and grade.words.startswith("grade A for size serial: ")
    assert grade.letters == {"mean": "A", "median": "A", "p95": "D"}
    assert grade_of(warehouse, "mine", ("queue", "gpu")) is None


def test_without_a_grade_the_reason_is_given(tmp_path: Path) -> None:
    warehouse = warehouse_with(tmp_path, None)
    assert grade_text(warehouse, "mine") == "no grade: hardly anybody waited"
    assert grade_text(warehouse, "other") is None


def test_a_poor_grade_says_where_jobs_waited_beside_idle_processors() -> None:
    said = held_back_text("D", 0.53, 0.11)
    assert said.startswith(
        ". For 53% of the waited time enough processors for the waiting job were idle (11% in the replay)"
    )
    assert held_back_text("D", 0.15, 0.11) == held_back_text("B", 0.53, 0.11) == held_back_text("C", None, None) == ""
    assert "(0% in the replay)" in held_back_text("C", 0.5, None)  # nobody waited in the replay
