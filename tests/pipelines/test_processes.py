"""Runs whose process has died are closed; living ones, and those of other machines, are left alone."""

from __future__ import annotations

import os
import subprocess
import sys

import dagster as dg
import pytest
from dagster._core.events import DagsterEvent, DagsterEventType, EngineEventData

from pipelines import processes
from pipelines.processes import HOST_TAG, OLD_TAGS, PROCESS_TAG, RUN_TAG, close_dead_runs, this_process


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
