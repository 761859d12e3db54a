"""Values of a PBS record in compiled code; that they equal the rules is tested with the scan."""

from __future__ import annotations

import numpy as np
import pytest

from traces.pbs.lists import node_table
from traces.pbs.reader import PBS_RECORD_SCHEMA
from traces.pbs.values import KEYS, MISSING, NUM_KEYS, NUMBER_COLUMNS, STRINGS, numbers_of

TIMES = {"ctime": "10", "qtime": "11", "etime": "12", "start": "20", "end": "50", "resources_used.ncpus": "4"}


def numbers(is_end: bool = True, **changes: str) -> dict[str, int | None] | None:
    """What `numbers_of` makes of a record with these values, by column; None where it leaves the record to the rules."""
    text, spans = b"", np.full((NUM_KEYS, 2), -1, dtype=np.int64)
    for key, value in (TIMES | {key.replace("__", "."): value for key, value in changes.items()}).items():
        spans[KEYS.index(key)] = len(text), len(value)
        text += value.encode()
    row = np.full(len(NUMBER_COLUMNS), MISSING, dtype=np.int64)
    if not numbers_of(np.frombuffer(text, dtype=np.uint8), spans, row, is_end, node_table(), 1):
        return None
    return {name: None if number == MISSING else int(number) for name, number in zip(NUMBER_COLUMNS, row, strict=True)}


def test_names_are_columns_and_keys_differ() -> None:
    assert set(NUMBER_COLUMNS) < set(PBS_RECORD_SCHEMA)
    assert len(set(KEYS)) == len(KEYS) and KEYS[: len(STRINGS)] == STRINGS


def test_a_plain_record() -> None:
    row = numbers(Resource_List__walltime="01:00:00", resources_used__mem="3mb", Exit_status="-3")
    assert row is not None
    assert (row["ctime_s"], row["start_s"], row["end_s"], row["procs"]) == (10, 20, 50, 4)
    assert (row["requested_walltime_s"], row["used_memory_kb"], row["exit_status"]) == (3600, 3072, -3)
    assert row["requested_procs"] is None and row["used_cpu_s"] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"start": "x"},
        {"start": "60"},
        {"ctime": "30"},
        {"Resource_List__walltime": "1h"},
        {"tasks": "1"},
        {"end": "9999999999999"},
    ],
)
def test_what_breaks_a_rule_is_left_to_the_rules(changes: dict[str, str]) -> None:
    assert numbers(**changes) is None


def test_less_is_demanded_of_other_records() -> None:
    assert numbers(is_end=False, start="60") is not None
