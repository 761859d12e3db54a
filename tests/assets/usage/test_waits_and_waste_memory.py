"""Tests of assets/usage: waits_and_waste."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.usage.waits_and_waste import OF_ONE_TASK, memory_words, waits_and_waste
from tests.tiny import swf_line, warehouse_of
from tracehouse.cli.commands.who import who_text


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("JobID|MaxRSS|State", OF_ONE_TASK),
        ("jobid|maxrss|NTasks", ""),
        ("JobID|MaxRSS|TRESUsageInTot", ""),
        ("JobID|State", ""),
    ],
)
def test_memory_of_one_task_is_named(tmp_path: Path, columns: str, words: str) -> None:
    """Where the log does not say how many tasks a step has, its memory is that of the largest, and too little."""
    warehouse = warehouse_of(tmp_path, "; MaxProcs: 8\n" + swf_line(1, 0, 0, 3600, 4, 7200))
    with warehouse.write() as connection:
        connection.execute("INSERT INTO raw.log_headers VALUES ('mine', 'a.psv', 9, 'Columns', ?)", [columns])
        connection.execute("UPDATE core.jobs SET requested_memory_kb = 4194304, used_memory_kb = 1048576")
    result = waits_and_waste(warehouse, "mine")
    assert memory_words(warehouse, "mine") == result.memory == words
    assert (f"memory  {OF_ONE_TASK}" in who_text("mine", result, (), 5, None)) == bool(words)
