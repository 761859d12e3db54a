"""`tracehouse periods`."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest

from assets.operations.two_periods import compare_periods
from tests.pipelines.command_line import fail, load_source, succeed
from tests.tiny import busy_log, warehouse_of
from tracehouse.cli.history.periods import GROUP_KINDS, periods_text


@pytest.mark.parametrize("width", [80, None])
def test_what_is_printed(tmp_path: Path, width: int | None) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(400))
    result = compare_periods(warehouse, "mine", "2026-01-15..2026-01-25")
    text = periods_text("mine", result, GROUP_KINDS, 3, width)
    first, *_ = lines = text.splitlines()
    after, before = (result.whole["mean_wait_h"][k] for k in (1, 0))
    assert first.startswith(f"mine: the mean wait is {after:,.1f} h, {abs(after - before):,.1f} h")
    assert any(line.startswith("waits differ most from 2026-01-") for line in lines)
    assert any(line.startswith("work submitted, of the cluster") for line in lines)
    assert "by user: what adds most to the change of" in text and "by queue" not in text, "the log has one queue"
    assert "more (--top)" in text
    assert width is None or max(map(len, lines)) <= width


def test_groups_as_csv_and_what_is_refused(log: Path, tmp_path: Path) -> None:
    load_source(log)
    rows = pl.read_csv(io.StringIO(succeed("periods", "busy", "2026-01-15..2026-01-25", "--csv")))
    assert set(rows["kind"]) == set(GROUP_KINDS) and rows.width == 7
    assert "by user" not in succeed("periods", "busy", "2026-01-15..2026-01-25", "--by", "size")
    assert "unknown period 'yesterday'" in fail("periods", "busy", "yesterday")
    assert "did you mean 'busy'" in fail("periods", "bus")
