"""`tracehouse metrics`: what it prints and writes."""

from __future__ import annotations

from pathlib import Path

from tests.assets.sharing.exposition import read_exposition
from tests.pipelines.command_line import fail, succeed


def test_figures_are_printed_or_written_whole(loaded: tuple[Path, str], tmp_path: Path) -> None:
    text = succeed("metrics")
    samples = read_exposition(text)
    assert samples["tracehouse_jobs", frozenset({("source", "mine")})] == 5
    assert samples["tracehouse_rejected_lines", frozenset({("source", "mine")})] == 5
    assert succeed("metrics", "mine", "mine", "--out", tmp_path / "t.prom") == ""
    assert (tmp_path / "t.prom").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["t.prom"]  # no file that a collector could read half
    assert "'other' is not in the warehouse yet" in fail("metrics", "other")
