"""Tests of traces/catalogue: bundled."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.catalogue.bundled import bundled_cluster
from traces.catalogue.clusters import load_cluster


def test_a_bundled_cluster_comes_into_the_home_when_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    assert load_cluster("birch").description == bundled_cluster("birch").description
    assert (tmp_path / "clusters" / "birch" / "qmgr.txt").exists() and (tmp_path / "clusters" / "birch.toml").exists()
    with pytest.raises(ValueError, match="unknown cluster 'oak', the home has birch"):
        load_cluster("oak")
