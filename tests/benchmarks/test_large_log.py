"""The way of a large log, at a tiny size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.large_log import STEPS, TITLES, disk_bytes, measure, row_of, run_steps


def test_each_step_takes_the_jobs_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setattr("benchmarks.large_log.WARM_JOBS", 200)
    for name in ("warm", "log"):
        (tmp_path / name).mkdir()
    for step in STEPS:
        taken = measure(step, "lemhi", 600, tmp_path)
        assert taken["rows"] == 600 or step == "health" or "rows:" in STEPS[step][0]
        assert taken["cpu_s"] > 0 and taken["wall_s"] > 0 and taken["peak_mib"] > 50
        assert len(row_of(step, taken)) == len(TITLES)
    log, database = disk_bytes(tmp_path)
    assert 600 * 30 < log < 600 * 200 and database > 100_000


def test_the_table_is_printed_as_it_grows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_steps("lemhi", 300, tmp_path, ["generate", "ingest"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| step | rows | CPU-s | wall s | peak MiB |"
    assert [line.split(" | ")[1] for line in lines[2:4]] == ["300", "300"] and "warehouse" in lines[-1]
