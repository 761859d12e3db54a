"""`tracehouse publish`: where it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

from tests.pipelines.command_line import call, fail


def test_it_says_what_it_wrote_and_refuses_tracehouses_own_folder(loaded: tuple[Path, str], tmp_path: Path) -> None:
    done = call("publish", tmp_path / "readers.duckdb")
    assert done.exit_code == 0 and done.stderr == f"wrote {tmp_path / 'readers.duckdb'}\n"
    own = loaded[0].parent / "warehouse" / "data" / "readers.duckdb"
    assert "keeps its own files" in fail("publish", own)
