"""What `tracehouse replay` refuses before it reads anything, and what it says while it works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracehouse.replaying import check_can_be_saved, warn_of_peak


def test_what_cannot_be_saved_is_refused_at_once(catalogue: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bad name of a run"):
        check_can_be_saved("lublin-256", "a b")
    (tmp_path / "a.swf").touch()
    with pytest.raises(ValueError, match="runs of a log are not saved"):
        check_can_be_saved(str(tmp_path / "a.swf"), "x")
    with pytest.raises(ValueError, match="not in the warehouse yet"):
        check_can_be_saved("lublin-256", "x")


def test_a_guessed_size_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_peak(8, "header")
    assert capsys.readouterr().err == ""
    warn_of_peak(8, "peak")
    assert "took the peak of processors in use (8)" in capsys.readouterr().err
