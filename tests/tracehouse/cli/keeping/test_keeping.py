"""Tests of tracehouse/cli/keeping: cluster, collect, metrics, publish, warehouse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.assets.sharing.exposition import read_exposition
from tests.pipelines.command_line import call as call_command
from tests.pipelines.command_line import fail, succeed, use_home
from tests.tiny import swf_line, warehouse_of
from tests.traces.slurm.configuration.slurm_configurations import written
from tracehouse.cli.keeping.cluster import cluster, contradictions_text
from tracehouse.cli.keeping.collect import collect
from traces.cluster.checking import Contradiction
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.nodes import Node, Partition
from traces.cluster.remarks import DescribedCluster
from traces.cluster.toml_writing import cluster_toml
from traces.collector.script import collector_script
from warehouse import Warehouse

# cluster: `tracehouse cluster import` lists what became of each key, and `show` prints what the file has.


def test_import_and_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    site = tmp_path / "site"
    site.mkdir()
    written(site)
    runner = CliRunner()
    assert runner.invoke(cluster, ["show"]).output == "no clusters yet\n"
    done = runner.invoke(cluster, ["import", str(site), "--name", "mine"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith(
        f"wrote {tmp_path / 'clusters' / 'mine.toml'}\n7 nodes with 192 CPUs and 4 GPUs, 3 partitions"
    )
    assert "slurm.conf:15: ColourOfJobs=blue: no table of ours has this key" in done.output
    assert (
        "slurm.conf:14: Prolog=/etc/slurm/prolog.sh: a job would start later by the time of this program" in done.output
    )
    shown = runner.invoke(cluster, ["show", "mine"])
    assert shown.exit_code == 0 and "n[01-04]" in shown.output and "ColourOfJobs" in shown.output
    described = json.loads(runner.invoke(cluster, ["show", "mine", "--json"]).output)
    assert described["description"]["nodes"][0]["name"] == "n01"
    again = runner.invoke(cluster, ["import", str(site), "--name", "mine"])
    assert again.exit_code == 1 and "give --replace to write it again" in again.output
    assert json.loads(runner.invoke(cluster, ["show", "--json"]).output) == ["mine"]


# cluster_checks: `tracehouse cluster check` and `diff` print what the functions find, tests/traces/cluster has each
# kind.

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


# collect: The script that the command prints is the one that tests/traces/collector runs.


def test_the_script_is_printed_as_it_is() -> None:
    result = CliRunner().invoke(collect)
    assert result.exit_code == 0
    assert result.output == collector_script() and result.output.startswith("#!/bin/sh\n")


# metrics: `tracehouse metrics`: what it prints and writes.


def test_figures_are_printed_or_written_whole(loaded: tuple[Path, str], tmp_path: Path) -> None:
    text = succeed("metrics")
    samples = read_exposition(text)
    assert samples["tracehouse_jobs", frozenset({("source", "mine")})] == 5
    assert samples["tracehouse_rejected_lines", frozenset({("source", "mine")})] == 5
    assert succeed("metrics", "mine", "mine", "--out", tmp_path / "t.prom") == ""
    assert (tmp_path / "t.prom").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["t.prom"]  # no file that a collector could read half
    assert "'other' is not in the warehouse yet" in fail("metrics", "other")


# publish: `tracehouse publish`: where it writes, and what it refuses.


def test_it_says_what_it_wrote_and_refuses_tracehouses_own_folder(loaded: tuple[Path, str], tmp_path: Path) -> None:
    done = call_command("publish", tmp_path / "readers.duckdb")
    assert done.exit_code == 0 and done.stderr == f"wrote {tmp_path / 'readers.duckdb'}\n"
    own = loaded[0].parent / "warehouse" / "data" / "readers.duckdb"
    assert "keeps its own files" in fail("publish", own)


# warehouse: `tracehouse warehouse`, on files.


def test_a_file_is_copied_into_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    source, target = tmp_path / "x.duckdb", tmp_path / "y" / "y.duckdb"
    with Warehouse(source).write() as connection:
        connection.execute("INSERT INTO core.capacity VALUES ('a', DATE '2026-01-01', 4, 2.5, 0, 3)")
    done = call_command("warehouse", "copy", source, target)
    assert done.exit_code == 0, done.stderr
    assert "copied 1 rows and 0 model files" in done.stdout and "core.capacity" in done.stdout
    again = call_command("warehouse", "copy", source, target)
    assert again.exit_code == 1 and "is not empty" in again.stderr and "--replace" in again.stderr


def test_a_file_is_not_tidied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    done = call_command("warehouse", "tidy")
    assert done.exit_code == 1 and "a file needs no tidying" in done.stderr
