"""Growth of cost with a log, at tiny sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import growth


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
