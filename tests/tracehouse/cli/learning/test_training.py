"""What is trained on: a source, or a log by its path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipelines.command_line import fail, succeed
from tests.tracehouse.cli.learning.conftest import QUICK


def test_a_log_is_trained_on_by_its_path(
    home: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `replay` takes it: the same policy as that of the source, and no agent is kept, since nothing knows the log."""
    monkeypatch.chdir(tmp_path)
    said = succeed("train", home / "mine.swf", *QUICK)
    assert f"replay it: tracehouse replay {home / 'mine.swf'} --policy mine-ppo.json" in said and "distil" not in said
    cards = [json.loads(file.read_text())["card"] for file in (Path("mine-ppo.json"), policy)]
    assert cards[0] == cards[1] | {"source": "mine.swf"}
    assert "a log has no predicted run times" in fail("train", home / "mine.swf", "--estimates", "predicted")
    assert "gone.swf: no such log file, and no source" in fail("train", "gone.swf")
