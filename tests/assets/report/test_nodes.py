"""The section on nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from assets.report.nodes import nodes_section
from assets.report.page import Chart, Table
from tests.assets.replay.own.homes import own_home
from tests.pipelines.command_line import succeed


def test_the_section_says_what_is_stranded_and_who_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 100, 900), (0, 100, 200, 900)], monkeypatch)
    section = nodes_section(open_warehouse(), "mine")
    assert section is not None
    [table] = [block for block in section.blocks if isinstance(block, Table) and "on average" in block.caption]
    assert ["cores stranded: memory is missing", "1.5", "19 %"] in [list(row) for row in table.rows]
    assert any(isinstance(block, Chart) for block in section.blocks)
    printed = succeed("who", "mine", "--nodes")
    assert "stranded: memory is missing" in printed and "held by account, most first" in printed


def test_a_log_without_nodes_has_no_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 100, 900)], monkeypatch)
    with open_warehouse().write() as connection:
        connection.execute("DELETE FROM core.job_nodes")
    assert nodes_section(open_warehouse(), "mine") is None
