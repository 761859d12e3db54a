"""Tests of tracehouse/cli/commands: cluster, cluster_rules, collect, metrics, publish, warehouse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assets.common.storage import open_warehouse
from tests.assets.replaying.limits.test_identified import hidden_trace
from tests.assets.sharing.exposition import read_exposition
from tests.pipelines.command_line import call as call_command
from tests.pipelines.command_line import fail, succeed, use_home
from tests.tiny import swf_line, warehouse_of
from tests.tracehouse.text.test_text import RESULT
from tests.traces.slurm.configuration.slurm_configurations import written
from tracehouse.cli.commands.cluster import cluster, contradictions_text
from tracehouse.cli.commands.collect import collect
from tracehouse.identifying.log_rules import AdoptedRules, IdentifiedLog
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import load_cluster
from traces.cluster.checking import Contradiction
from traces.cluster.description import ClusterDescription, Node, Partition, SchedulerSettings
from traces.cluster.notes import DescribedCluster
from traces.cluster.toml_writing import cluster_toml
from traces.collector.archive import collector_script
from warehouse import Warehouse

# cluster_rules: `tracehouse cluster identify` and `adopt`: what they are given, and what comes next.


def test_identify_prints_draws_and_names_the_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assets.common.trace.logged_facts", lambda rows, believed: {})
    given: list[object] = []

    def identify_cluster(*words: object) -> IdentifiedLog:
        given.append(words)
        return IdentifiedLog(hidden_trace(400), replace(RESULT, declared=()), tmp_path / "found.toml", adoptable=1)

    monkeypatch.setattr("tracehouse.identifying.log_rules.identify_cluster", identify_cluster)
    picture = tmp_path / "rules.png"
    result = CliRunner().invoke(cluster, ["identify", "mine", "--budget", "50", "--picture", str(picture)])
    assert result.exit_code == 0, result.output
    assert given == [("mine", None, 50)] and picture.stat().st_size > 1000
    assert "Each user has at most 10 running jobs" in result.output
    assert "tracehouse cluster adopt mine" in result.output
    as_json = CliRunner().invoke(cluster, ["identify", "mine", "--json"])
    assert json.loads(as_json.stdout)["replays"] == 7


@pytest.mark.parametrize(
    ("words", "named", "said"),
    [
        (["mine"], True, "tracehouse replay mine --cluster mine"),
        (["mine"], False, 'cluster = "mine"'),
        (["mine", "--revoke"], True, "no found rules any more"),
    ],
)
def test_adopt(words: list[str], named: bool, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adopted = AdoptedRules(Path("clusters/mine.toml"), 3, named)
    monkeypatch.setattr("tracehouse.identifying.log_rules.adopt_rules", lambda source, revoke: adopted)
    result = CliRunner().invoke(cluster, ["adopt", *words])
    assert result.exit_code == 0 and said in result.output


def test_adopt_says_the_command_that_names_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a log of the inbox it told its user to edit the catalogue."""
    use_home(monkeypatch, tmp_path)
    (tmp_path / "inbox").mkdir()
    log = tmp_path / "inbox" / "mine.swf"
    log.write_text("; MaxProcs: 4\n")
    adopted = AdoptedRules(Path("clusters/mine.toml"), 3, named=False)
    monkeypatch.setattr("tracehouse.identifying.log_rules.adopt_rules", lambda source, revoke: adopted)
    said = CliRunner().invoke(cluster, ["adopt", "mine"]).output
    assert f"Next: tracehouse ingest {log} --name mine --cluster mine" in said


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


@pytest.fixture
def linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The catalogue of a home with the Slurm log `mine`, and the configuration in `site` beside it."""
    catalogue = use_home(monkeypatch, tmp_path)
    catalogue.write_text(
        f'# ours\n[sources.mine]\nformat = "slurm" # since 2020\npath = "{tmp_path}/mine.psv"\ntime_zone = "Asia/Tokyo"\n'
    )
    (tmp_path / "site").mkdir()
    written(tmp_path / "site")
    return catalogue


def test_import_names_the_cluster_at_its_source(linked: Path) -> None:
    """Before, the command told its user to write `cluster = "mine"` into the catalogue."""
    site, text, runner = str(linked.parent / "site"), linked.read_text(), CliRunner()
    done = runner.invoke(cluster, ["import", site, "--name", "first", "--source", "mine"])
    assert done.exit_code == 0 and "\nsource mine: cluster first\n" in done.output
    assert linked.read_text() == f'{text}cluster = "first"\n'
    assert "tracehouse cluster check first mine" in done.output
    later = ["import", site, "--name", "later", "--source", "mine", "--from", "2026-03-01"]
    assert "source mine: cluster first, later, in place of first\n" in runner.invoke(cluster, later).output
    assert load_cluster("later").description.valid_from_s == 1772290800  # midnight in the time zone of the log
    assert "source mine: cluster first, later, as before\n" in runner.invoke(cluster, [*later, "--replace"]).output
    done = runner.invoke(cluster, ["import", site, "--name", "other", "--source", "mine"])
    assert "source mine: cluster other, in place of first, later\n" in done.output
    assert linked.read_text() == f'{text}cluster = "other"\n'


def test_a_link_reaches_a_log_that_is_in_the_warehouse(linked: Path) -> None:
    """Before, its size stayed the peak of its jobs until somebody ingested it again."""
    log = linked.parent / "mine.psv"
    log.write_text(
        "JobID|User|Submit|Start|End|NCPUS|State\n1|a|2024-01-15T10:00:00|2024-01-15T10:00:00|2024-01-15T11:00:00|4|COMPLETED\n"
    )
    succeed("ingest", log, "--name", "mine")
    size = "SELECT cluster_procs, cluster_procs_from FROM core.sources"
    with open_warehouse().read() as connection:
        assert connection.sql(size).fetchall() == [(4, "peak")]
    succeed("cluster", "import", linked.parent / "site", "--name", "first", "--source", "mine")
    with open_warehouse().read() as connection:
        assert connection.sql(size).fetchall() == [(load_cluster("first").description.num_cpus, "cluster file")]
    log.unlink()
    done = call_command("cluster", "import", linked.parent / "site", "--name", "first", "--replace", "--source", "mine")
    assert done.exit_code == 0 and "the warehouse has the former cluster until its log is ingested again" in done.stderr


@pytest.mark.parametrize("source", ["nobody", "birch"])
def test_import_writes_nothing_for_a_source_that_cannot_be_linked(linked: Path, source: str) -> None:
    text = linked.read_text()
    done = CliRunner().invoke(cluster, ["import", str(linked.parent / "site"), "--name", "first", "--source", source])
    assert done.exit_code == 1 and ("unknown source" if source == "nobody" else "there by hand") in done.output
    assert linked.read_text() == text and not (linked.parent / "clusters" / "first.toml").exists()


def test_import_says_the_command_that_links(linked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, log = str(linked.parent / "site"), linked.parent / "mine.psv"
    done = CliRunner().invoke(cluster, ["import", site, "--name", "first"])
    assert f"Is first the cluster of mine? Then: tracehouse ingest {log} --name mine --cluster first\n" in done.output
    linked.write_text(linked.read_text() + f'[sources.second]\nformat = "slurm"\npath = "{log}.2"\n')
    done = CliRunner().invoke(cluster, ["import", site, "--name", "first", "--replace"])
    for name, path in (("mine", log), ("second", f"{log}.2")):
        assert f"  tracehouse ingest {path} --name {name} --cluster first\n" in done.output
    monkeypatch.setattr("tracehouse.cli.linking.can_ask", lambda: True)
    linked.write_text(linked.read_text().replace('format = "slurm"\n', 'format = "pbs"\n'))
    done = CliRunner().invoke(cluster, ["import", site, "--name", "first", "--replace"], input="y\n")
    assert "source mine: cluster first\n" in done.output
    assert load_catalogue().source("mine").cluster == ("first",)


def test_a_log_of_the_inbox_gets_an_entry_with_its_cluster(linked: Path) -> None:
    log = linked.parent / "inbox" / "dropped.psv"
    log.parent.mkdir()
    log.write_text("JobID|User|Submit|Start|End|NCPUS|State\n1|a|2024-01-15T10:00:00|Unknown|Unknown|4|COMPLETED\n")
    done = CliRunner().invoke(
        cluster, ["import", str(linked.parent / "site"), "--name", "first", "--source", "dropped"]
    )
    assert "source dropped: cluster first\n" in done.output
    entry = load_catalogue().source("dropped")
    assert (entry.path, entry.format, entry.cluster) == (log, "slurm", ("first",))


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
    done = call_command("metrics", "mine", "mine", "--out", tmp_path / "t.prom")
    assert (done.stdout, done.stderr) == ("", f"wrote {tmp_path / 't.prom'}\n")
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
