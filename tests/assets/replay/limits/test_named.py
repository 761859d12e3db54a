"""The cluster that a replay names."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.replay.limits.named import named_cluster


def test_names_are_those_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clusters").mkdir()
    limit = 'owner = "user"\nowner_name = "ann"\ncounts = "running"\neach = "all"\nresource = "jobs"\nbound = 5\n'
    (tmp_path / "clusters" / "mine.toml").write_text(
        f'name = "mine"\n[[nodes]]\nnames = "n1"\ncores = 4\n[[limits]]\n{limit}'
    )
    (tmp_path / "sources.local.toml").write_text(
        '[sources.log]\nformat = "swf"\npath = "a.swf"\npseudonyms = ["user"]\n'
    )
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    assert named_cluster("mine", "other").limits[0].owner_name == "ann"
    assert named_cluster("mine", "log").limits[0].owner_name.startswith("user-")
    with pytest.raises(ValueError, match="unknown cluster 'theirs', the home has mine"):
        named_cluster("theirs", "other")
