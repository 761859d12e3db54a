"""Where files are: in the project, unless the environment says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.catalogue.places import PROJECT, home, inbox, local_catalogue_path, pseudonym_key_path


def test_everything_is_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    for folder in (PROJECT, tmp_path):
        if folder == PROJECT:
            monkeypatch.delenv("TRACEHOUSE_HOME", raising=False)
        else:
            monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
        assert home() == folder
        assert inbox() == folder / "inbox"
        assert pseudonym_key_path() == folder / "pseudonym.key"
        assert local_catalogue_path() == folder / "sources.local.toml"
    assert (PROJECT / "sources.toml").is_file()


def test_the_second_catalogue_may_be_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(tmp_path / "mine.toml"))
    assert local_catalogue_path() == tmp_path / "mine.toml"
