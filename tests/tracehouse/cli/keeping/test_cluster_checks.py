"""`tracehouse cluster check` and `diff` print what the functions find, tests/traces/cluster has each kind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.tiny import swf_line, warehouse_of
from tracehouse.cli.keeping.cluster import cluster
from tracehouse.cli.keeping.cluster_checks import contradictions_text
from traces.cluster.checking import Contradiction
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.nodes import Node, Partition
from traces.cluster.remarks import DescribedCluster
from traces.cluster.toml_writing import cluster_toml

OLD = ClusterDescription("old", (Node("n1", 8), Node("n2", 8)), (Partition("cpu"),), scheduler=SchedulerSettings("pbs"))
NEW = replace(
    OLD, name="new", nodes=(Node("n1", 8, 64000), Node("n2", 8, 64000)), partitions=(Partition("cpu", tier=7),)
)


@pytest.fixture
def clusters_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    (tmp_path / "clusters").mkdir()
    for each in (OLD, NEW):
        (tmp_path / "clusters" / f"{each.name}.toml").write_text(cluster_toml(DescribedCluster(each, ())))
    return tmp_path


def call(*words: str) -> str:
    result = CliRunner().invoke(cluster, words)
    assert result.exit_code == 0, result.output
    return result.output


def test_diff_lists_what_changed(clusters_at_home: Path) -> None:
    assert call("diff", "old", "new").splitlines() == [
        "~ node n[1-2]: memory_mib: 0 -> 64000",
        "~ partition cpu: tier: 1 -> 7",
    ]
    assert json.loads(call("diff", "old", "new", "--json"))[1] == {
        "place": "partition cpu: tier",
        "before": "1",
        "after": "7",
    }
    assert call("diff", "old", "old") == "old and old are the same\n"
    assert "unknown cluster 'none'" in CliRunner().invoke(cluster, ["diff", "old", "none"]).output


def test_check_holds_a_source_against_a_cluster(clusters_at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "; UnixStartTime: 1767225600\n; MaxProcs: 32\n" + swf_line(1, 0, 0, 3600, 32, 7200)
    warehouse = warehouse_of(clusters_at_home, lines)
    monkeypatch.setattr("assets.common.storage.open_warehouse", lambda *_: warehouse)
    (clusters_at_home / "sources.toml").write_text(
        f'[sources.mine]\nformat = "swf"\npath = "{clusters_at_home}/mine.swf"\n'
    )
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(clusters_at_home / "sources.toml"))
    with warehouse.write() as connection:
        connection.execute("UPDATE core.jobs SET queue = 'cpu', user_name = NULL, account = NULL")
    text = call("check", "old", "mine")
    assert "cluster old and the log of mine contradict each other in 2 points" in text
    assert "jobs of cpu ask for up to 32 processors, and it gives at most 16 (job 1)" in " ".join(text.split())
    kinds = [each["kind"] for each in json.loads(call("check", "old", "mine", "--json"))]
    assert kinds == ["too many processors", "too small"]


def test_long_lists_are_cut() -> None:
    many = tuple(Contradiction("unknown user", f"u{k}", 1, "7", f"the log has user u{k}") for k in range(12))
    text = contradictions_text("old", "mine", many, None)
    assert text.splitlines()[-1] == "  and 2 more (--json has all)" and "u9" in text and "u10" not in text
    assert contradictions_text("old", "mine", (), None) == "cluster old and the log of mine agree"
