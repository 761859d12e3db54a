"""Tables of the warehouse from Python."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import tracehouse
from tests.pipelines.command_line import fail, succeed


def test_rows_as_polars_and_as_arrow_are_those_of_the_command_line(trained: Path) -> None:
    sql = "SELECT rank, policy, average_wait_s FROM marts.leaderboard"  # best first, as it is stored
    frame, table = tracehouse.query(sql), tracehouse.query(sql).to_arrow()
    assert isinstance(frame, pl.DataFrame) and isinstance(table, pa.Table)
    assert frame.to_dicts() == table.to_pylist() == json.loads(succeed("sql", sql, "--format", "json"))
    assert tracehouse.leaderboard("lublin-256").select(frame.columns).equals(frame)


def test_the_warehouse_is_read_only_and_faults_have_the_message_of_the_command_line(trained: Path) -> None:
    for sql in ("SELEC 1", "FROM nothing.here", "DELETE FROM core.jobs"):
        with pytest.raises(ValueError) as raised:
            tracehouse.query(sql)
        assert str(raised.value).strip() == fail("sql", sql).strip()


def test_a_home_in_which_nothing_has_happened(log: Path) -> None:
    with pytest.raises(tracehouse.WarehouseError, match="no warehouse yet: make one with `tracehouse run`"):
        tracehouse.query("SELECT 1")
    with pytest.raises(tracehouse.CatalogueError, match="unknown source 'nobody'"):
        tracehouse.saved_runs("nobody")


def test_a_source_that_is_not_evaluated(bundled: Path) -> None:
    assert tracehouse.saved_runs("lublin-256").is_empty()
    with pytest.raises(ValueError, match="has not been evaluated yet: `tracehouse run lublin-256`"):
        tracehouse.leaderboard("lublin-256")
