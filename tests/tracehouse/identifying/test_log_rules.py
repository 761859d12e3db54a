"""Rules are kept beside the clusters, and part of one when the user says so; tests/models/identification has the search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tracehouse.identifying.log_rules import adopt_rules
from traces.catalogue.clusters import found_path, load_cluster, rule_counts
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import ClusterDescription, Node
from traces.cluster.notes import DescribedCluster
from traces.cluster.toml_writing import cluster_toml

LIMIT = Limit("cluster", "", "running", "user", "jobs", 5, origin=FOUND)


@pytest.fixture
def home_with_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    (tmp_path / "a.swf").write_text("; MaxProcs: 4\n")
    (tmp_path / "sources.local.toml").write_text('[sources.log]\nformat = "swf"\npath = "a.swf"\n')
    return tmp_path


def keep(*limits: Limit) -> None:
    found_path("log").parent.mkdir(parents=True, exist_ok=True)
    found_path("log").write_text(
        cluster_toml(DescribedCluster(ClusterDescription("log", (Node("all", 4),), limits=limits), ()))
    )


def test_a_source_gets_a_cluster_with_the_rules_and_loses_them(home_with_log: Path) -> None:
    with pytest.raises(ValueError, match="run `tracehouse cluster identify log`"):
        adopt_rules("log")
    keep()
    with pytest.raises(ValueError, match="shows no limit"):
        adopt_rules("log")
    keep(LIMIT)
    for _ in range(2):  # a second time replaces
        adopted = adopt_rules("log")
        assert (adopted.file.name, adopted.rules, adopted.named) == ("log.toml", 1, True)
        assert load_cluster("log").description.limits == (LIMIT,)
    assert 'cluster = ["log"]' in (home_with_log / "sources.local.toml").read_text()
    assert adopt_rules("log", revoke=True).rules == 0
    assert rule_counts(load_cluster("log").description) == (0, 0)


def test_a_scheduler_of_its_own_gets_limits_that_last(home_with_log: Path) -> None:
    head = 'name = "log"\n[scheduler]\nname = "slurm"\n[[nodes]]\nnames = "n1"\ncores = 4\n'
    (home_with_log / "clusters").mkdir()
    (home_with_log / "clusters" / "log.toml").write_text(head)
    keep(replace(LIMIT, bound=3, end_s=90), replace(LIMIT, begin_s=90))
    adopt_rules("log")
    assert load_cluster("log").description.limits == (LIMIT,)
