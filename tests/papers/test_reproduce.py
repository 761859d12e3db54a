"""Tests of papers: paper_tables, reproduce."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from papers.paper_tables import PaperStep, PaperTable
from papers.reproduce import PAPER_TABLES
from tests.pipelines.command_line import call, fail, on_terminal, succeed
from tracehouse.cli.parameters.names import ASSET_NAMES

# paper_tables: Every table of a paper is made by something that there is, and its queries are of the warehouse's
# tables.

BY_ASSETS = [name for name, table in PAPER_TABLES.items() if table.steps]


def test_each_is_made_in_one_way() -> None:
    for table in PAPER_TABLES.values():
        assert bool(table.steps) != bool(table.study) and bool(table.steps) == bool(table.query)
        assert {step.asset for step in table.steps} <= set(ASSET_NAMES)
        if table.study:
            assert table.study[0].startswith("papers.")  # a wheel has nothing else that prints
            assert importlib.util.find_spec(table.study[0]) is not None


@pytest.mark.parametrize("name", BY_ASSETS)
def test_queries_are_of_the_tables(loaded: tuple[Path, str], name: str) -> None:
    table = PAPER_TABLES[name]
    with open_warehouse().read() as connection:
        assert connection.sql(table.query, params={"source": "mine"}).fetchall() == []
        for step in table.steps:
            assert connection.execute(step.made, {"source": "mine"}).fetchall() == [(0,)]


@pytest.mark.parametrize("name", BY_ASSETS)
def test_settings_are_those_of_the_asset(name: str) -> None:
    from pipelines.definitions import defs

    for step in PAPER_TABLES[name].steps:
        (node,) = [
            node
            for node in defs.resolve_implicit_global_asset_job_def().nodes
            if node.name == step.asset.replace("/", "__")
        ]
        fields = node.definition.config_schema.config_type.fields if step.config else {}
        assert set(step.config) <= set(fields)


# reproduce: `tracehouse reproduce`: the list, what it refuses, and that what is made is kept and not made again.

SIMILAR = PaperStep("features/similar_jobs", "SELECT count(*) FROM features.similar_jobs WHERE source = $source")
INGESTED = PaperStep("core/jobs", "SELECT count(*) FROM core.jobs WHERE source = $source")
QUERY = "SELECT count(*) AS jobs FROM features.similar_jobs WHERE source = $source"
MADE_OF_ASSETS = PaperTable("few", "A paper", "numbers of jobs", "a second", (INGESTED, SIMILAR), QUERY)
PRINTED = PaperTable("printed", "A paper", "a time", "a second", study=("timeit", "-n", "1", "pass"), partitions=None)
OF_LOGS = PaperTable(
    "of-logs",
    "A paper",
    "a folder",
    "a second",
    study=("timeit", "-n1", "import os; print(os.environ['TRACEHOUSE_LOGS'])"),
)
BROKEN = PaperTable("broken", "A paper", "nothing", "a second", study=("timeit", "--nothing"), partitions=None)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (MADE_OF_ASSETS, PRINTED, OF_LOGS, BROKEN):
        monkeypatch.setitem(PAPER_TABLES, table.name, table)


def test_the_list_fits_and_names_time_and_maker(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in PAPER_TABLES.values():
        listed = " ".join(succeed("reproduce").split())
        said = f"{table.name} {table.shows} ({table.paper}) {table.expected}; made by {table.made_by}; "
        assert f"{said}interrupted, it goes on {table.goes_on}" in listed
    on_terminal(monkeypatch, 80)
    assert max(map(len, succeed("reproduce").splitlines())) <= 80


def test_what_is_refused(catalogue: Path) -> None:
    assert "unknown table 'tabel5'; did you mean 'table5'?" in fail("reproduce", "tabel5")
    assert "table5 is of a log: give --log FILE, or the name of a source" in fail("reproduce", "table5")
    assert "unknown source 'nosuch'" in fail("reproduce", "table5", "nosuch")
    assert "takes no SOURCE and no --log" in fail("reproduce", "rules", "birch")
    assert "leave --log out" in fail("reproduce", "rlschert-main", "--log", __file__)
    assert "takes no --logs: give --log FILE" in fail("reproduce", "table5", "birch", "--logs", ".")
    assert "none.swf' does not exist" in fail("reproduce", "table5", "--log", "none.swf")


def test_what_is_made_of_a_log_is_kept(log: Path, tables: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted in its second step, it goes on there."""
    running = importlib.import_module("pipelines.running")  # that of this home
    whole = running.run_job

    def interrupted(job: str, *arguments: object) -> dict[str, str]:
        if job.startswith("features"):
            raise KeyboardInterrupt
        return whole(job, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "run_job", interrupted)
    assert call("reproduce", "few", "--log", log).exit_code == 130
    monkeypatch.setattr(running, "run_job", whole)
    done = call("reproduce", "few", "busy")
    assert "busy: core/jobs was made before" in done.stderr and "busy: features/similar_jobs" in done.stderr
    assert "numbers of jobs (A paper), busy" in done.stdout and "│ 400" in done.stdout
    repeated = call("reproduce", "few", "busy")
    assert (
        repeated.stdout == done.stdout
        and "features/similar_jobs was made before (--again makes it again)" in repeated.stderr
    )
    assert "was made before" not in call("reproduce", "few", "busy", "--again").stderr


def test_what_a_program_prints_is_kept(catalogue: Path, tables: None) -> None:
    text = succeed("reproduce", "printed")
    assert "1 loop, best of 5" in text
    repeated = call("reproduce", "printed")
    kept = catalogue.parent / "warehouse" / "data" / "reproduced" / "printed.md"
    assert repeated.stdout == text == kept.read_text() and f"made before, in {kept}" in repeated.stderr
    assert "made before" not in call("reproduce", "printed", "--again").stderr


def test_a_study_is_told_where_the_logs_are(catalogue: Path, tables: None, tmp_path: Path) -> None:
    assert str(tmp_path) in succeed("reproduce", "of-logs", "--logs", tmp_path)


def test_a_program_that_fails(catalogue: Path, tables: None) -> None:
    failed = call("reproduce", "broken")
    assert failed.exit_code == 1 and "Error: python -m timeit --nothing ended with status 2" in failed.stderr
