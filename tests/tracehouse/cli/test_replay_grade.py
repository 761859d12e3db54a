"""How far replays of a source can be trusted is said below their results."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.replay import grade, loading
from tracehouse.cli.replay import say_grade


def test_the_grade_of_a_source_is_said(
    catalogue: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say_grade("lublin-256")  # which is not loaded
    monkeypatch.setattr(loading, "is_loaded", lambda source: True)
    monkeypatch.setattr(grade, "grade_text", lambda warehouse, source: None)
    say_grade("lublin-256")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(grade, "grade_text", lambda warehouse, source: "grade B")
    say_grade("lublin-256")
    assert capsys.readouterr().err == "\nHow far replays of lublin-256 can be trusted: grade B\n"
