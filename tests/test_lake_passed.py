"""What the tests over a lake depend on, and whether they have passed on it."""

from __future__ import annotations

from pathlib import Path

from tests.lake.passed import fingerprint


def test_a_change_of_what_a_lake_depends_on_is_seen(tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql/jobs.sql").write_text("SELECT 1")
    before = fingerprint(tmp_path)
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/jobs.py").write_text("1")
    (tmp_path / "sql/__pycache__").mkdir()
    (tmp_path / "sql/__pycache__/jobs.pyc").write_text("1")
    assert fingerprint(tmp_path) == before
    (tmp_path / "sql/jobs.sql").write_text("SELECT 2")
    changed = fingerprint(tmp_path)
    assert changed != before
    (tmp_path / "sql/jobs.sql").rename(tmp_path / "sql/other.sql")
    assert fingerprint(tmp_path) not in (before, changed)
