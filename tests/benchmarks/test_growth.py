"""Growth of cost with a log, at tiny sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import growth
from traces.synthetic.centre import CENTRES


def test_sizes_side_by_side_and_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_again(*_: object) -> None:
        raise AssertionError("it was measured")

    arguments = ["--jobs", "300,900", "--folder", str(tmp_path), "--stage", "ingest", "--stage", "operations"]
    done = CliRunner().invoke(growth.main, arguments, catch_exceptions=False)
    table = [line.split(" | ") for line in done.stdout.strip().splitlines()]
    assert len(table) == 4 and table[2][0] == "| read into the raw tables" and {len(row) for row in table} >= {6}
    assert float(table[2][3]) == pytest.approx(float(table[2][2]) / float(table[2][1]), rel=0.1, abs=0.02)
    assert all(float(row[k].replace(",", "").rstrip(" |")) > 50 for row in table[2:] for k in (4, 5))
    monkeypatch.setattr(growth, "measure_apart", not_again)
    assert CliRunner().invoke(growth.main, arguments, catch_exceptions=False).stdout == done.stdout


def test_what_a_month_more_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    years = replace(CENTRES["lemhi"], jobs=1200)  # a log of a year whose months have 100 jobs
    monkeypatch.setitem(CENTRES, growth.MODEL, years)
    done = CliRunner().invoke(growth.main, ["--month", "--jobs", "1200"], catch_exceptions=False)
    table = [line.split(" | ") for line in done.stdout.strip().splitlines()]
    assert [row[0] for row in table[2:]][:2] == ["| read into the raw tables", "| canonical jobs"] and len(table) == 6
    assert all(float(cell.rstrip(" |")) >= 0 for row in table[2:] for cell in row[1:])
