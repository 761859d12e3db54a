"""Clusters of the home by name, and those of a source in the order of the times from which they hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.traces.cluster.clusters import CLUSTER
from traces.catalogue.clusters import cluster_names, cluster_path, clusters_of_source, load_cluster
from traces.catalogue.sources import Source
from traces.cluster.description import description_at
from traces.cluster.remarks import DescribedCluster
from traces.cluster.toml_writing import cluster_toml


def test_clusters_of_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    (tmp_path / "clusters").mkdir()
    for name, second in (("first", None), ("later", 1_772_323_200), ("third", None)):
        described = DescribedCluster(replace(CLUSTER, name=name, valid_from_s=second), ())
        cluster_path(name).write_text(cluster_toml(described))
    assert cluster_names() == ["first", "later", "third"] and load_cluster("later").description.name == "later"
    descriptions = clusters_of_source(Source("s", "slurm", None, cluster=("later", "first")))
    assert [each.name for each in descriptions] == ["first", "later"]
    holding = [description_at(descriptions, second) for second in (0, 1_772_323_199, 1_772_323_200)]
    assert [each.name for each in holding if each] == ["first", "first", "later"]
    assert description_at(descriptions[1:], 0) is None
    with pytest.raises(ValueError, match="the clusters first, third hold from the same time"):
        clusters_of_source(Source("s", "slurm", None, cluster=("first", "third")))
    with pytest.raises(ValueError, match="unknown cluster 'mine', the home has first, later, third"):
        load_cluster("mine")
