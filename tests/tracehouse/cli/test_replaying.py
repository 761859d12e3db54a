"""What `tracehouse replay` refuses before it reads anything, and what it says while it works."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tracehouse.cli import replaying
from tracehouse.cli.replaying import check_can_be_saved, say_grade, say_if_slow, warn_of_peak


def test_what_cannot_be_saved_is_refused_at_once(catalogue: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bad name of a run"):
        check_can_be_saved("lublin-256", "a b")
    (tmp_path / "a.swf").touch()
    with pytest.raises(ValueError, match="runs of a log are not saved"):
        check_can_be_saved(str(tmp_path / "a.swf"), "x")
    with pytest.raises(ValueError, match="not in the warehouse yet"):
        check_can_be_saved("lublin-256", "x")


def test_only_what_is_slow_says_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with say_if_slow("quick"):
        pass
    monkeypatch.setattr(replaying, "SLOW_S", 0.01)
    with say_if_slow("slow"):
        time.sleep(0.1)
    assert capsys.readouterr().err == "slow ...\n"


def test_a_guessed_size_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_peak(8, "header")
    assert capsys.readouterr().err == ""
    warn_of_peak(8, "peak")
    assert "took the peak of processors in use (8)" in capsys.readouterr().err


def test_the_grade_of_a_source_is_said(
    catalogue: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say_grade("lublin-256")  # which is not loaded
    monkeypatch.setattr(replaying, "is_loaded", lambda source: True)
    monkeypatch.setattr(replaying, "grade_text", lambda warehouse, source: None)
    say_grade("lublin-256")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(replaying, "grade_text", lambda warehouse, source: "grade B")
    say_grade("lublin-256")
    assert capsys.readouterr().err == "\nHow far replays of lublin-256 can be trusted: grade B\n"
