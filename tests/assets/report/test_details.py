"""The details: where numbers come from, and every scheduler with who pays."""

from __future__ import annotations

import polars as pl

from assets.report.comparison import read_comparison
from assets.report.details import details_section, read_details
from assets.report.logged import read_logged
from assets.report.page import Block, Bullets, Table, TermList
from tests.assets.report.conftest import SOURCE
from warehouse import Warehouse


def blocks_of(warehouse: Warehouse, **extra: pl.DataFrame) -> list[Block]:
    rows = read_details(warehouse, SOURCE) | extra
    section = details_section(read_logged(warehouse, SOURCE), read_comparison(warehouse, SOURCE), rows)
    return list(section.blocks)


def tables_of(blocks: list[Block]) -> list[Table]:
    return [block for block in blocks if isinstance(block, Table)]


def test_the_facts_of_the_log(graded: Warehouse) -> None:
    (facts,) = (block for block in blocks_of(graded) if isinstance(block, TermList))
    assert dict(facts.pairs) == {
        "format": "swf",
        "cluster": "16 processors (from the header)",
        "time zone": "Europe/Berlin",
        "lines": "603 in 1 file: 600 jobs, 0 other records, 3 ignored, 0 rejected",
        "compared": "schedulers on the last 240 jobs that can be replayed",
    }


def test_every_scheduler_has_a_row_with_who_pays(graded: Warehouse) -> None:
    compared = read_comparison(graded, SOURCE)
    (table,) = tables_of(blocks_of(graded))
    assert len(table.rows) == 2 + len(compared.tried)
    assert [row[4:] for row in table.rows[:2]] == [["", ""], ["", ""]]
    assert all(row[5] for row in table.rows[2:])


def test_predictors_and_findings_are_shown_where_there_are_some(graded: Warehouse) -> None:
    predictors = pl.DataFrame(
        {
            "predictor": ["last_two", "stack"],
            "jobs": [1234, 1234],
            "median_absolute_error_s": [600.0, 30.0],
            "mean_absolute_error_s": [7200.0, 3600.0],
            "underestimated_share": [0.5, 0.25],
        }
    )
    findings = pl.DataFrame(
        {"finding": ["flurries"], "found": [2], "unit": ["user-weeks"], "share": [None], "example": ["user 7"]}
    )
    tables = tables_of(blocks_of(graded, predictors=predictors, findings=findings))
    assert [list(row) for row in tables[-1].rows] == [
        ["last_two", "10 min", "2.0 h", "50 %"],
        ["stack", "under 1 min", "1.0 h", "25 %"],
    ]
    assert [list(row) for row in tables[0].rows] == [["flurries", "2 user-weeks", "", "user 7"]]


def test_grades_of_parts_go_from_narrow_to_wide_and_then_by_month(graded: Warehouse) -> None:
    parts = pl.DataFrame(
        {
            "part": ["size", "size", "month"],
            "value": ["large", "serial", "2026-02"],
            "jobs": [5, 9, 14],
            "grade": ["A", None, "B"],
            "logged_wait_s": [60.0, 60.0, 60.0],
            "replayed_wait_s": [120.0, 120.0, 120.0],
            "alike": [0.5, 0.5, 0.5],
        }
    )
    table = tables_of(blocks_of(graded, parts=parts))[-1]
    assert [(row[0], row[-1]) for row in table.rows] == [
        ("1 processor", "none"),
        ("over 4 processors", "A"),
        ("2026-02", "B"),
    ]


def test_names_and_verdicts_are_explained(graded: Warehouse) -> None:
    names, verdicts = (block for block in blocks_of(graded) if isinstance(block, Bullets))
    assert any(item.startswith("EASY: ") for item in names.items)
    assert any(item.startswith("trades: ") for item in verdicts.items)
