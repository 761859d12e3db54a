"""Tests of pipelines: faults, first_use, jobs, nights, processes, terminal."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner, Result
from dagster._core.definitions.freshness import TimeWindowFreshnessPolicy
from dagster._core.events import DagsterEvent, DagsterEventType, EngineEventData
from dagster._core.test_utils import create_run_for_test

import pipelines.nights
import tracehouse.cli.commands.sources as sources_command
from assets.common.storage import artefacts_folder
from assets.core import jobs as core_jobs
from assets.raw.log import raw_log
from pipelines import processes
from pipelines.definitions import WarehouseResource
from pipelines.faults import EXIT_CODE, FAULT, MOST_KEPT, kept_fault, show_tracebacks
from pipelines.first_use import FIRST_COMMANDS, TINY_SOURCES, compile_for_first_use
from pipelines.jobs import JOBS
from pipelines.nights import freshness, nightly_schedule
from pipelines.processes import HOST_TAG, OLD_TAGS, PROCESS_TAG, RUN_TAG, close_dead_runs, this_process
from pipelines.terminal import printable, printable_output
from tests.pipelines.command_line import in_brief
from tests.pipelines.test_automation import JOB, drop
from tests.tiny import busy_log
from tracehouse.cli.main import main
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.places import home
from warehouse import Warehouse, door

# faults: No command shows a traceback, whatever goes wrong in it: it is kept in a file, and --debug shows it.


class PanicException(BaseException):
    """As polars raises it."""


def run(*arguments: str | Path) -> Result:
    with in_brief():
        return CliRunner().invoke(main, [str(argument) for argument in arguments])


def kept() -> list[Path]:
    return sorted((home() / "warehouse" / "data" / "faults").glob("*.txt"))


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError("deep"), MemoryError("2 PiB"), PanicException("date")])
def test_a_fault_is_kept_and_said(catalogue: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fault() -> None:
        raise error

    monkeypatch.setattr(sources_command, "load_catalogue", fault)
    result = run("sources")
    assert result.exit_code == EXIT_CODE and "Traceback" not in result.output
    assert FAULT in result.stderr and type(error).__name__ in result.stderr
    (file,) = kept()
    assert str(file) in result.stderr and file.stat().st_mode & 0o777 == 0o600
    assert "Traceback (most recent call last)" in file.read_text() and "duckdb" in file.read_text()
    try:
        with pytest.raises(type(error)):
            CliRunner().invoke(main, ["--debug", "sources"], catch_exceptions=False)
    finally:
        show_tracebacks(False)


def test_a_fault_in_a_step_of_one_source_lets_the_others_run(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a source that has just been added leaves nothing behind."""
    log = catalogue.with_name("busy.swf")
    log.write_text(busy_log())

    def fault(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(core_jobs, "write_jobs", fault)
    result = run("ingest", log, "--name", "mine")
    assert result.exit_code == 1 and FAULT in result.stderr and "Traceback" not in result.output
    assert "[sources" not in catalogue.read_text() and len(kept()) == 1


def test_few_are_kept_and_a_folder_that_takes_none_is_no_fault(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(MOST_KEPT + 3):
        kept_fault(ValueError())
    assert len(kept()) == MOST_KEPT
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "file"))
    assert "could not be kept" in kept_fault(ValueError())


# first_use: What `make setup` compiles.


def test_the_tiny_logs_are_sources_of_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sources.local.toml").write_text(TINY_SOURCES, encoding="utf-8")
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")

    sources = load_catalogue().sources

    assert {command[1] for command in FIRST_COMMANDS} == {name for name in sources if name.startswith("tiny")}
    assert {sources[command[1]].format for command in FIRST_COMMANDS} == {"slurm", "pbs"}


def test_a_failed_command_is_reported_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    failed = compile_for_first_use([("--version",), ("no-such-command",)])

    assert len(failed) == 1
    assert "no-such-command" in failed[0]
    assert not list(tmp_path.iterdir())


def test_afterwards_the_pipeline_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compile_for_first_use() == []
    files = {path for path in tmp_path.rglob("*") if path.is_file()}

    assert compile_for_first_use([("run", "birch"), ("run", "larch")]) == []

    assert files
    loops = sorted(
        path.name.rpartition("-")[0] for path in files if ".loop.run_" in path.name and path.suffix == ".nbc"
    )
    assert loops == sorted(set(loops))  # each for one kind of arrays
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - files
    # a log decides which predictor is the best
    assert not [path for path in new if "models.runtime.predictors" not in path.name]


# jobs: Which assets and checks each job runs, held to a snapshot: selections by group must survive a renamed group.

SNAPSHOT = Path(__file__).with_name("jobs_snapshot.json")


def test_every_job_runs_the_assets_and_checks_of_the_snapshot() -> None:
    from pipelines.definitions import build_definitions

    with dg.instance_for_test():
        definitions = build_definitions()
        jobs = {}
        for job in JOBS:
            job_definition = definitions.resolve_job_def(job.name)
            layer = job_definition.asset_layer
            jobs[job.name] = {
                "partitions": getattr(job_definition.partitions_def, "name", None),
                "assets": sorted(key.to_user_string() for key in layer.selected_asset_keys),
                "checks": sorted(
                    f"{key.asset_key.to_user_string()}: {key.name}" for key in layer.asset_graph.asset_check_keys
                ),
            }
    assert jobs == json.loads(SNAPSHOT.read_text())


# nights: The nightly schedules, against an ephemeral Dagster instance.


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


def test_every_night_every_source_is_retrained(inbox: Path) -> None:
    night = dt.datetime(2026, 11, 22, 3, 0, tzinfo=dt.UTC)
    with dg.instance_for_test() as instance:
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=night)
        requests = nightly_schedule()(context)
    assert {request.partition_key for request in requests} == {"birch", "larch"}
    assert len({request.run_key for request in requests}) == 2


def test_a_night_leaves_what_has_not_changed(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the log of such a source is looked at. Anything that happens to the source makes the next night a whole one."""
    drop(inbox, "a.swf")
    night = dt.datetime(2026, 11, 22, 3, 0, tzinfo=dt.UTC)

    def nights(number: int, code: str = "") -> dict[str | None, bool]:
        """By source, whether the whole job is asked for. Its runs end well."""
        due = night + dt.timedelta(days=number)
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=due)
        requests = nightly_schedule(code)(context)
        for request in requests:
            ran(str(request.partition_key), request.tags)
        assert all(request.asset_selection in (None, [raw_log.key]) for request in requests)
        return {request.partition_key: request.asset_selection is None for request in requests}

    def ran(source: str, tags: dict[str, str], status: dg.DagsterRunStatus = dg.DagsterRunStatus.SUCCESS) -> None:
        create_run_for_test(instance, job_name="everything", status=status, tags=tags | {"dagster/partition": source})

    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("sources", ["a"])
        everything = dict.fromkeys(("birch", "larch", "a"), True)
        nothing = dict.fromkeys(everything, False)
        assert nights(0) == everything
        assert nights(1) == nights(2) == nothing
        drop(inbox, "a.swf", JOB + JOB)
        assert nights(3) == nothing | {"a": True}
        assert nights(4, "other code") == everything
        ran("larch", {})
        assert nights(5, "other code") == nothing | {"larch": True}
        ran("a", {}, dg.DagsterRunStatus.FAILURE)
        assert nights(6, "other code") == nothing | {"a": True}
        (artefacts_folder() / "models" / "a").mkdir(parents=True)
        (artefacts_folder() / "models" / "a" / "agent-1.json").touch()
        assert nights(7, "other code") == nothing | {"a": True}

        def gone(path: Path) -> list[Path]:
            raise FileNotFoundError(path)

        monkeypatch.setattr(pipelines.nights, "_files", gone)
        assert nights(8, "other code") == nothing | {"a": True}, "a file that goes away during the look stops no other"


@pytest.mark.parametrize(
    ("cron", "due_h", "failed_h"),
    [("0 3 * * *", 26, 50), ("0 3 * * 1", 170, 338), ("0 3 * * 1-5", 74, 146), ("0 * * * *", 3, 4)],
)
def test_assets_are_due_when_the_schedule_should_have_made_them(cron: str, due_h: int, failed_h: int) -> None:
    policy = freshness(cron, "UTC")
    assert isinstance(policy, TimeWindowFreshnessPolicy)
    assert policy.warn_window is not None and policy.warn_window.to_timedelta() == dt.timedelta(hours=due_h)
    assert policy.fail_window.to_timedelta() == dt.timedelta(hours=failed_h)


# resources: What the UI shows of the warehouse, and what a run gets.


@dg.asset
def where(warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    assert door._is_confined[-1]
    return dg.MaterializeResult(metadata={"path": str(warehouse.path), "timeout_s": warehouse.timeout_s})


def test_the_resource_shows_what_a_run_gets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_TIMEOUT_S", "7")
    shown = WarehouseResource.of_environment()
    with dg.DagsterInstance.ephemeral() as instance:
        (made,) = dg.materialize(
            [where], resources={"warehouse": shown}, instance=instance
        ).asset_materializations_for_node("where")
    got = {name: value.value for name, value in made.metadata.items()}
    assert got == {"path": shown.path, "timeout_s": shown.timeout_s} and shown.timeout_s == 7
    assert not shown.is_lake and shown.path.startswith(str(tmp_path))


# terminal: What a log says reaches a terminal as text, whatever it holds.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tab\tand\nline", "tab\tand\nline"),
        ("Zürich 東京", "Zürich 東京"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("said\rdone", "said\\x0ddone"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb\u2066", "a\\u202eb\\u2066"),
    ],
)
def test_what_steers_a_terminal_is_shown_as_its_number(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_all_output_is_printable_for_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    with printable_output():
        print("\x1b[31mred")
        sys.stdout.flush()
    print("\x1b[31mred")
    assert capsys.readouterr().out == "\\x1b[31mred\n\x1b[31mred\n"


# processes: Runs whose process has died are closed; living ones, and those of other machines, are left alone.


@dg.job
def nothing() -> None:
    pass


def dead_pid() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def started_run(instance: dg.DagsterInstance, tags: dict[str, str]) -> str:
    run = instance.create_run_for_job(nothing, tags=tags, status=dg.DagsterRunStatus.STARTED)
    return run.run_id


def status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


@pytest.mark.parametrize(
    ("tags", "dead"),
    [
        ({PROCESS_TAG: "gone"}, True),
        ({}, False),  # as it is: this very process
        ({HOST_TAG: "another-machine/boot"}, False),
        ({HOST_TAG: "reboot"}, True),
        ({PROCESS_TAG: f"{os.getpid()}-1"}, True),  # the number lives on in another process
    ],
)
def test_only_runs_of_processes_known_to_be_gone_are_closed(tags: dict[str, str], dead: bool) -> None:
    if tags.get(PROCESS_TAG) == "gone":
        tags = {PROCESS_TAG: f"{dead_pid()}-12345"}
    if tags.get(HOST_TAG) == "reboot":
        tags = {HOST_TAG: this_process()[HOST_TAG].partition("/")[0] + "/an-earlier-boot"}
    with dg.DagsterInstance.ephemeral() as instance:
        run_id = started_run(instance, this_process() | tags)
        assert close_dead_runs(instance) == int(dead)
        wanted = dg.DagsterRunStatus.FAILURE if dead else dg.DagsterRunStatus.STARTED
        assert status(instance, run_id) == wanted


def report_process(instance: dg.DagsterInstance, run_id: str, pid: int) -> None:
    """What Dagster itself notes when it launches a run: a number, and no host."""
    run = instance.get_run_by_id(run_id)
    assert run is not None
    data = EngineEventData({"pid": dg.MetadataValue.text(str(pid))})
    instance.report_engine_event("Started process for run", run, data)


@pytest.mark.parametrize("dead", [True, False])
def test_a_run_of_the_ui_has_its_process_in_its_events(dead: bool) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        run_id = started_run(instance, {HOST_TAG: this_process()[HOST_TAG]})
        assert close_dead_runs(instance) == 0, "nothing is known yet: it may be about to begin"
        report_process(instance, run_id, dead_pid() if dead else os.getpid())
        assert close_dead_runs(instance) == int(dead)


def test_a_run_of_an_unknown_host_is_left_alone() -> None:
    """On a shared home, the number may be that of a living process of another machine."""
    with dg.DagsterInstance.ephemeral() as instance:
        run_id = started_run(instance, {})
        report_process(instance, run_id, dead_pid())
        by_tag = started_run(instance, {PROCESS_TAG: f"{dead_pid()}-12345"})
        assert close_dead_runs(instance) == 0
        assert {status(instance, run) for run in (run_id, by_tag)} == {dg.DagsterRunStatus.STARTED}


def test_a_dead_run_of_an_earlier_release_is_closed() -> None:
    """It has its process and its host under other names."""
    with dg.DagsterInstance.ephemeral() as instance:
        tags = {OLD_TAGS[name]: value for name, value in this_process().items()}
        alive = started_run(instance, tags)
        dead = started_run(instance, tags | {OLD_TAGS[PROCESS_TAG]: f"{dead_pid()}-12345"})
        assert close_dead_runs(instance) == 1
        assert status(instance, alive) == dg.DagsterRunStatus.STARTED
        assert status(instance, dead) == dg.DagsterRunStatus.FAILURE


def test_a_run_that_ends_well_meanwhile_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        run_id = started_run(instance, this_process() | {PROCESS_TAG: f"{dead_pid()}-12345"})
        has_died = processes._has_died

        def has_died_late(process: str, host: str | None) -> bool:
            run = instance.get_run_by_id(run_id)
            assert run is not None
            instance.report_dagster_event(DagsterEvent(DagsterEventType.RUN_SUCCESS.value, run.job_name), run_id=run_id)
            return has_died(process, host)

        monkeypatch.setattr(processes, "_has_died", has_died_late)
        assert close_dead_runs(instance) == 0
        assert status(instance, run_id) == dg.DagsterRunStatus.SUCCESS


def test_a_run_of_another_machine_of_the_same_name_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        with monkeypatch.context() as there:
            there.setattr(processes, "_text_of", lambda path: f"theirs: {path}")
            tags = this_process()
        assert tags[HOST_TAG].split(".")[0] == this_process()[HOST_TAG].split(".")[0]
        started_run(instance, tags)
        assert close_dead_runs(instance) == 0


def test_a_run_that_repeats_a_dead_one_is_left_alone_until_it_begins() -> None:
    """Dagster copies the tags of the run that is repeated. It was closed before it had begun, and so was the next try."""
    with dg.instance_for_test() as instance:
        dead = this_process() | {PROCESS_TAG: f"{dead_pid()}-1"}
        first = started_run(instance, dead)
        assert close_dead_runs(instance) == 1
        again = instance.create_run_for_job(
            nothing, tags=dead, parent_run_id=first, root_run_id=first, status=dg.DagsterRunStatus.STARTING
        )
        assert close_dead_runs(instance) == 0
        instance.add_run_tags(again.run_id, dead | {RUN_TAG: again.run_id})
        assert close_dead_runs(instance) == 1, "it had begun, and its own process is dead"
