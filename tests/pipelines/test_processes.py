"""Runs whose process has died are closed; living ones, and those of other machines, are left alone."""

from __future__ import annotations

import os
import subprocess
import sys

import dagster as dg
import pytest
from dagster._core.events import EngineEventData

from pipelines.processes import HOST_TAG, PROCESS_TAG, close_dead_runs, this_process


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


@pytest.mark.parametrize("dead", [True, False])
def test_a_run_of_the_ui_has_its_process_in_its_events(dead: bool) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        run_id = started_run(instance, {})
        assert close_dead_runs(instance) == 0, "nothing is known yet: it may be about to begin"
        run = instance.get_run_by_id(run_id)
        assert run is not None
        instance.report_engine_event(
            "Started process for run",
            run,
            EngineEventData({"pid": dg.MetadataValue.text(str(dead_pid() if dead else os.getpid()))}),
        )
        assert close_dead_runs(instance) == int(dead)
