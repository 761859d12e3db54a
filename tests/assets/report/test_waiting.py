"""The sections of the report that say why jobs waited, and what too long requests cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from assets.report.page import Chart, Table
from assets.report.waiting import causes_of_log, requests_section, waiting_section
from tests.assets.evaluation.test_job_wait_causes import materialized
from tests.assets.replay.own.homes import own_home
from tests.assets.replay.own.test_wait_causes import JOBS, ONE_NODE
from tests.tiny import busy_log, warehouse_of


def test_hours_by_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    before = waiting_section(causes_of_log(open_warehouse(), "mine"))  # the asset has not looked at it yet
    materialized(open_warehouse())
    section = waiting_section(causes_of_log(open_warehouse(), "mine"))
    assert section is not None and section.blocks == (before and before.blocks)
    assert any(isinstance(block, Chart) for block in section.blocks)
    [table] = [block for block in section.blocks if isinstance(block, Table)]
    assert [row[0] for row in table.rows] == ["memory is missing", "behind jobs submitted earlier"]


def test_a_source_without_a_described_cluster_has_none(tmp_path: Path) -> None:
    assert causes_of_log(warehouse_of(tmp_path, busy_log(50)), "mine") is None and waiting_section(None) is None
    assert waiting_section("no nodes") is not None


def test_what_too_long_requests_cost_is_said_where_there_are_requests(tmp_path: Path) -> None:
    section = requests_section(warehouse_of(tmp_path, busy_log(120)), "mine")
    assert section is not None and "20 % better" in str(section.blocks[0])
    assert requests_section(warehouse_of(tmp_path / "b", busy_log(120)), "other") is None
