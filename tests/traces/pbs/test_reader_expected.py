"""Every record of the real accounting files against what a careful reader of them wrote down (`tests.traces.pbs.pbs_expected`)."""

from __future__ import annotations

import re

import polars as pl
import pytest

from tests.shared import shared_file
from tests.traces.pbs.pbs_expected import BLANK_LINES, RECORDS, REJECTS
from traces.common.log import ParsedLog
from traces.pbs.reader import PBS_RECORD_SCHEMA, read_pbs


def read(name: str) -> ParsedLog:
    return read_pbs(shared_file("traces", "pbs", name))


COPIED = {
    "exec_vnode": "exec_vnode",
    "selected_chunks": "Resource_List.select",
    "torque_nodes": "Resource_List.nodes",
    "place": "Resource_List.place",
}
"""Columns with the word of a key as it is."""


def whole_row(name: str, expected: dict[str, object]) -> dict[str, object]:
    text = shared_file("traces", "pbs", name).read_text().split("\n")[int(str(expected["line"])) - 1]
    words = {column: re.search(rf"[ ;]{re.escape(key)}=(\S+)", text) for column, key in COPIED.items()}
    row = expected | {column: word.group(1) if word else None for column, word in words.items()}
    return {column: row.get(column) for column in PBS_RECORD_SCHEMA}


def read_row(name: str, line: int) -> dict[str, object]:
    log = read(name)
    (row,) = pl.concat([log.records, log.events]).filter(pl.col("line") == line).to_dicts()
    return row


def test_there_is_an_expectation_for_every_file() -> None:
    assert {path.name for path in shared_file("traces", "pbs").iterdir()} == set(RECORDS)


@pytest.mark.parametrize("name", RECORDS)
def test_every_line_is_where_it_belongs(name: str) -> None:
    log, expected = read(name), RECORDS[name]
    assert log.records["line"].to_list() == [row["line"] for row in expected if row["record_type"] == "E"]
    assert log.events["line"].to_list() == [row["line"] for row in expected if row["record_type"] != "E"]
    assert [(line, text) for line, _, text in log.rejects.rows()] == REJECTS.get(name, [])
    assert log.ignored == ({"blank line": BLANK_LINES[name]} if name in BLANK_LINES else {})
    assert log.lines == len(expected) + len(REJECTS.get(name, [])) + BLANK_LINES.get(name, 0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [pytest.param(name, row, id=f"{name}-{row['line']}") for name, rows in RECORDS.items() for row in rows],
)
def test_every_value_of_every_record(name: str, expected: dict[str, object]) -> None:
    assert read_row(name, int(str(expected["line"]))) == whole_row(name, expected)
