"""Tests of `tracehouse remove`, and of what an ingest that fails leaves behind."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assets.common.storage import open_warehouse
from assets.pages.index import write_index
from pipelines.running import has_partition
from tests.pipelines.command_line import GOOD, fail, load_source, succeed, use_home
from tests.pipelines.command_line import call as call_of_remove
from tests.tiny import swf_line
from tracehouse.cli.main import main
from traces.catalogue.places import local_catalogue_path
from traces.cluster.description import ClusterDescription, Node
from traces.cluster.notes import DescribedCluster
from traces.cluster.toml_writing import cluster_toml


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; the second catalogue is in it."""
    use_home(monkeypatch, tmp_path / "home")
    return tmp_path / "home"


def rows(query: str) -> list[dict[str, Any]]:
    return json.loads(succeed("sql", query, "--format", "json"))


def catalogue_names() -> list[str]:
    return [row["name"] for row in json.loads(succeed("sources", "--json"))]


def test_a_source_goes_with_everything_but_its_log(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "mine.swf"
    log.write_text("; MaxProcs: 8\n" + "".join(GOOD.format(n=n) for n in range(1, 4)))
    other = tmp_path / "other.swf"
    other.write_text("; MaxProcs: 8\n" + GOOD.format(n=1))
    succeed("ingest", log)
    succeed("ingest", other)
    report, weights = home / "warehouse/data/reports/mine.html", home / "warehouse/data/models/mine/x.json"
    for path in (report, weights):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("written by tracehouse")
    index = write_index(datetime.now(UTC))
    assert '<a href="mine.html">' in index.read_text()
    question = CliRunner().invoke(main, ["remove", "mine"], input="n\n")
    assert question.exit_code != 0 and "Remove mine?" in question.output and report.exists()
    assert rows("SELECT count(*)::INT AS n FROM core.jobs WHERE source = 'mine'") == [{"n": 3}]
    assert "removed mine" in call_of_remove("remove", "mine", "--yes").stderr
    assert "mine" not in catalogue_names() and "other" in catalogue_names()
    assert not has_partition("mine") and has_partition("other")
    assert "There is no report yet." in index.read_text()
    assert not report.exists() and not weights.parent.exists() and log.exists()
    for table in (
        "core.jobs",
        "core.sources",
        "raw.log_files",
        "raw.swf_jobs",
        "marts.trace_health",
        "core.changed_files",
    ):
        assert rows(f"SELECT DISTINCT source FROM {table}") in ([{"source": "other"}], []), table
    assert "unknown source 'mine'" in fail("remove", "mine", "--yes")


def test_the_history_stays_until_it_is_asked_for(home: Path, tmp_path: Path) -> None:

    log = tmp_path / "mine.swf"
    log.write_text("; MaxProcs: 8\n" + GOOD.format(n=1))
    load_source(log)
    with open_warehouse().write() as connection:
        names = [name for (name, *_) in connection.execute("DESCRIBE policies.policy_events").fetchall()]
        defaults = {"source": "'mine'"}
        for name, kind, *_ in connection.execute("DESCRIBE policies.policy_events").fetchall():
            defaults.setdefault(
                name,
                {"VARCHAR": "'x'", "BOOLEAN": "true"}.get(kind, "0") if kind != "TIMESTAMP" else "now()::TIMESTAMP",
            )
        connection.execute(f"INSERT INTO policies.policy_events SELECT {', '.join(defaults[name] for name in names)}")
    weights = home / "warehouse/data/models/mine/policy-x.json"
    weights.parent.mkdir(parents=True)
    weights.write_text("{}")
    assert "kept      1 rows of its history" in call_of_remove("remove", "mine", "--yes").stderr
    assert rows("SELECT source FROM policies.policy_events") == [{"source": "mine"}] and weights.exists()
    call_of_remove("remove", "mine", "--yes", "--with-history")
    assert rows("SELECT source FROM policies.policy_events") == [] and not weights.exists()


def test_jobs_of_files_that_are_gone_go_alone(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for n in range(1, 4):
        (folder / f"{n}.swf").write_text("; MaxProcs: 8\n" + GOOD.format(n=n))
    succeed("ingest", folder)
    assert "all files that mine was read from are there" in call_of_remove("remove", "mine", "--gone").stderr
    (folder / "2.swf").unlink()
    succeed("ingest", folder)
    assert rows("SELECT count(*)::INT AS n FROM core.jobs") == [{"n": 3}]
    printed = call_of_remove("remove", "mine", "--gone", "--yes").stderr
    assert "1 jobs of 2.swf" in printed and "removed 1 jobs of 1 files" in printed
    assert rows("SELECT job_id FROM core.jobs ORDER BY 1") == [{"job_id": "1"}, {"job_id": "3"}]
    assert "exclude each other" in fail("remove", "mine", "--gone", "--with-history")


def test_a_first_ingest_that_fails_leaves_nothing(home: Path, tmp_path: Path) -> None:
    """Before, a partition with red assets was left for ever."""
    log = tmp_path / "mine.swf"
    log.write_text("; MaxProcs: 8\n" + GOOD.format(n=1))
    fail("ingest", log, "--format", "pbs")
    assert "mine" not in catalogue_names() and not has_partition("mine")
    assert rows("FROM raw.log_files") == rows("FROM core.changed_files") == []
    succeed("ingest", log)
    assert has_partition("mine")
    fail("ingest", log, "--format", "pbs")  # it was there before
    assert "mine" in catalogue_names() and has_partition("mine")
    assert rows("SELECT count(*)::INT AS n FROM core.jobs") == [{"n": 1}]


def test_a_replacement_that_fails_leaves_what_there_was(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for n in range(1, 3):
        (folder / f"{n}.swf").write_text("; MaxProcs: 8\n" + GOOD.format(n=n))
    succeed("ingest", folder)
    (folder / "1.swf").unlink()
    other = tmp_path / "other.swf"
    other.write_text("; MaxProcs: 8\n1 2 3\n")
    fail("ingest", other, "--name", "mine", "--replace")
    assert rows("SELECT count(*)::INT AS n FROM core.jobs") == [{"n": 2}]
    other.write_text("; MaxProcs: 8\n" + swf_line(7, 0, 0, 10, 2))
    succeed("ingest", other, "--name", "mine", "--replace")
    assert rows("SELECT job_id FROM core.jobs") == [{"job_id": "7"}]


def test_a_replacement_that_fails_after_its_rows_were_written_keeps_its_entry(home: Path, tmp_path: Path) -> None:
    """Before, the catalogue had the former log again, and the next run mixed the jobs of both."""
    former, other = tmp_path / "former.swf", tmp_path / "other.swf"
    former.write_text("; MaxProcs: 8\n" + "".join(GOOD.format(n=n) for n in range(1, 4)))
    other.write_text(swf_line(7, 0, 0, 0, -1))  # it does not tell the size of the cluster
    succeed("ingest", former, "--name", "mine")
    result = call_of_remove("ingest", other, "--name", "mine", "--replace")
    assert result.exit_code != 0 and "needs `procs`" in result.stderr
    assert "what mine had before is forgotten already, so its new entry stays in the catalogue" in result.stderr
    assert f'path = "{other}"' in (home / "sources.toml").read_text()
    succeed("ingest", other, "--name", "mine", "--procs", "8")
    assert rows("SELECT job_id FROM core.jobs") == [{"job_id": "7"}]


def test_a_name_that_is_in_the_warehouse_alone_is_not_taken_silently(home: Path, tmp_path: Path) -> None:
    log, other = tmp_path / "mine.swf", tmp_path / "other.swf"
    log.write_text("; MaxProcs: 8\n" + GOOD.format(n=1))
    other.write_text("; MaxProcs: 8\n" + GOOD.format(n=2))
    succeed("ingest", log)
    (home / "sources.toml").write_text("")
    assert "the warehouse has its jobs, from mine.swf, and no such file is" in fail("ingest", other, "--name", "mine")
    succeed("ingest", log)
    (home / "sources.toml").write_text("")
    succeed("ingest", other, "--name", "mine", "--replace")
    assert rows("SELECT job_id FROM core.jobs") == [{"job_id": "2"}]


def test_a_source_of_the_project_or_the_inbox_is_declared_elsewhere(home: Path) -> None:
    inbox = home / "inbox"
    inbox.mkdir()
    (inbox / "found.swf").write_text("; MaxProcs: 8\n" + GOOD.format(n=1))
    succeed("run", "found", "--job", "ingest")
    assert "is in the inbox: take it out" in call_of_remove("remove", "found", "--yes").stderr
    assert (inbox / "found.swf").exists()
    printed = call_of_remove("remove", "birch", "--yes").stderr
    assert "sources.toml" in printed and "take it out there" in printed


def test_the_description_of_its_cluster_stays_and_is_named(home: Path, tmp_path: Path) -> None:
    for name in ("mine", "other"):
        (tmp_path / f"{name}.swf").write_text("; MaxProcs: 8\n" + GOOD.format(n=1))
    (home / "clusters").mkdir(parents=True, exist_ok=True)
    described = ClusterDescription("c", (Node("n1", 8),))
    for name in ("own", "shared"):
        (home / "clusters" / f"{name}.toml").write_text(cluster_toml(DescribedCluster(described, ())))
    for name, named in (("mine", '["own", "shared"]'), ("other", '"shared"')):
        succeed("ingest", tmp_path / f"{name}.swf")
        with local_catalogue_path().open("a") as catalogue:
            catalogue.write(f"cluster = {named}\n")
    said = call_of_remove("remove", "mine", "--yes").stderr
    assert f"kept {home / 'clusters' / 'own.toml'}, which describes its cluster" in said and "shared" not in said
