"""What the tests over a lake depend on, and whether they have passed on it."""

from __future__ import annotations

from pathlib import Path

from tests.lake.passed import fingerprint


def test_a_change_of_what_a_lake_depends_on_is_seen(tmp_path: Path) -> None:
    statements, other_room = tmp_path / "sql", tmp_path / "assets"
    statements.mkdir()
    (statements / "jobs.sql").write_text("SELECT 1")
    before = fingerprint(tmp_path)
    other_room.mkdir()
    (other_room / "jobs.py").write_text("1")
    (statements / "jobs.pyc").write_text("1")
    assert fingerprint(tmp_path) == before
    (statements / "jobs.sql").write_text("SELECT 2")
    changed = fingerprint(tmp_path)
    assert changed != before
    (statements / "jobs.sql").rename(statements / "other.sql")
    assert fingerprint(tmp_path) not in (before, changed)
