"""The runner of studies."""

import importlib
import sys
from pathlib import Path

import pytest

from studies.__main__ import STUDIES, WITHOUT_ARCHIVE, main


def test_every_study_is_there_and_is_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(WITHOUT_ARCHIVE) < STUDIES.keys()
    for module in STUDIES.values():
        assert callable(importlib.import_module(f"studies.{module}").main), module
    monkeypatch.setattr(sys, "argv", ["studies"])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(STUDIES) and all(len(line) > 30 for line in lines)


def test_a_wrong_name_and_missing_logs_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["studies", "verdict"])
    with pytest.raises(SystemExit, match="no study 'verdict': expected one of agents"):
        main()
    monkeypatch.setattr("studies.__main__.SHARED", tmp_path / "none")
    monkeypatch.setattr(sys, "argv", ["studies", "verdicts"])
    with pytest.raises(SystemExit, match="none: the archive logs are not there"):
        main()
