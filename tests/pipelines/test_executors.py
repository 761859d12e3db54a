"""Tests of pipelines: executors, step_log, worker."""

import json
import os
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pytest
from dagster_pipes import PipesContext, encode_param

from assets.common.progress import WorkDone
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import Launcher, PPOOptions, WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.task_folder import write_task
from models.scheduling.workers.worker import raise_failure
from pipelines import worker
from pipelines.definitions import WarehouseResource, defs
from pipelines.executors import WANTED, wanted_executor
from pipelines.processes import this_process
from pipelines.step_log import SILENT_S, StepWatch, asset_name, step_logger
from simulator.jobs.jobs import jobs_from_log
from warehouse import Warehouse, door

# executors: What executes the steps of a run: chosen by name, and told to other machines.


@dg.op
def little() -> None:
    assert door._is_confined[-1], "a run opens the warehouse without other files"


@dg.job(executor_def=defs.executor)
def launched() -> None:
    little()


@dg.op
def in_a_process(context: dg.OpExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> int:
    assert door._is_confined[-1], "every process of a run opens the warehouse without other files"
    return os.getpid()


@dg.op
def apart(first: int, second: int) -> None:
    assert len({first, second, os.getpid()}) == 3


with pytest.MonkeyPatch.context() as patch:
    patch.setenv(WANTED, "multiprocess")
    SIDE_BY_SIDE = wanted_executor()


@dg.job(executor_def=SIDE_BY_SIDE, resource_defs={"warehouse": WarehouseResource.of_environment()})
def spread() -> None:
    apart(in_a_process.alias("first")(), in_a_process.alias("second")())


def test_a_launched_run_tells_host_and_process() -> None:
    """Dagster notes a number only, which says nothing to another host."""
    assert defs.executor is not None and defs.executor.name == "in_process"
    with dg.instance_for_test() as instance:
        result = dg.execute_job(dg.reconstructable(launched), instance)
        assert result.success
        run = instance.get_run_by_id(result.run_id)
        assert run is not None and this_process().items() <= run.tags.items()


def test_steps_have_processes_of_their_own() -> None:
    with dg.instance_for_test() as instance:
        result = dg.execute_job(
            dg.reconstructable(spread), instance, run_config={"execution": {"config": {"max_concurrent": 2}}}
        )
        assert result.success
        run = instance.get_run_by_id(result.run_id)
        assert run is not None and this_process().items() <= run.tags.items()


def test_any_executor_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WANTED, "dagster:multiprocess_executor")
    assert wanted_executor().name == "multiprocess"
    monkeypatch.setenv(WANTED, "")
    assert wanted_executor().name == "in_process"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("parallel", "expected in_process, multiprocess or MODULE:NAME"),
        ("dagster_nowhere:executor", "Is its package installed"),
        ("dagster:no_such_executor", "there is no such executor"),
        ("dagster:job", "no executor of Dagster"),
    ],
)
def test_a_name_without_an_executor_is_refused(name: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WANTED, name)
    with pytest.raises(ValueError, match=says):
        wanted_executor()


# step_log: What a run prints: one line per asset, warnings, and failed checks.


@dg.asset
def numbers(context: dg.AssetExecutionContext) -> None:
    context.log.info("not shown")
    context.log.warning("look here")
    context.log.warning("queue \x1b[2J")


@dg.asset_check(asset=numbers)
def are_small() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description="they are large: \x1b[2J")


@dg.asset_check(asset=numbers)
def are_there() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, description="there are none")


def test_one_line_an_asset_and_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    Context().run(_run_all)  # Dagster keeps the instance of an earlier test, if there was one, in a context variable
    printed = capsys.readouterr().err
    assert "not shown" not in printed
    assert "  ! look here\n" in printed
    assert "  numbers " in printed and printed.rstrip().count("\n") == 4
    assert "  ! check are_small: they are large: \\x1b[2J\n" in printed
    assert "  ! queue \\x1b[2J\n" in printed and "\x1b[2J" not in printed, "a log steers no terminal"
    assert "  check are_there FAILED: there are none\n" in printed


def _run_all() -> None:
    job = dg.Definitions(
        assets=[numbers],
        asset_checks=[are_small, are_there],
        jobs=[dg.define_asset_job("all", "*")],
        loggers={"steps": step_logger},
        executor=dg.in_process_executor,
    ).resolve_job_def("all")
    with dg.DagsterInstance.ephemeral() as instance:
        job.execute_in_process(
            instance=instance, run_config={"loggers": {"steps": {"config": {}}}}, raise_on_error=False
        )


def test_a_silent_run_says_what_runs_and_how_long_the_rest_takes() -> None:
    watch = StepWatch(
        ["raw/log", "core/jobs", "marts/report"], {"raw/log": 20, "core/jobs": 10, "marts/report": 30}, True, 0
    )
    watch.start("raw/log", 0)
    assert watch.line(SILENT_S - 1) is None, "it begins with a line of its own"
    assert watch.line(12) == "raw/log has been running for 12 s: step 1 of 3, about 48 s left"
    assert watch.line(13) is None, "a line has just been there"
    watch.finish("raw/log", 15)
    watch.start("core/jobs", 15)
    assert watch.line(16) is None
    assert watch.line(45) == "core/jobs has been running for 30 s: step 2 of 3, longer than expected"
    work = WorkDone("jobs", 3000, 9000, 60.0)
    assert watch.line(55, work) == (
        "core/jobs has been running for 40 s (jobs: 3,000 of 9,000, about 60 s left): step 2 of 3"
    ), "where it has a bar, that knows how long it still takes"


def test_a_first_run_estimates_by_what_is_done() -> None:
    watch = StepWatch(["raw/log", "predictions/runtime_evaluation", "x"], {}, False, 0)
    watch.start("raw/log", 0)
    assert watch.line(10) == "raw/log has been running for 10 s: step 1 of 3"
    watch.finish("raw/log", 20)
    watch.start("predictions/runtime_evaluation", 20)
    assert watch.line(30) == "predictions/runtime_evaluation has been running for 10 s: step 2 of 3, about 2 min left"


def test_steps_of_parts_are_of_their_asset() -> None:
    assert asset_name("replay__runs.replay_part[3]") == "replay/runs"


# worker: The entry of a worker process: it works under torchrun, has Ray start workers, and reports to Dagster if
# that has started it.


def task_folder(folder: Path, launcher: Launcher) -> Path:
    submit, ones = np.arange(40) * 10, np.ones(40, dtype=np.int64)
    arena = Arena(jobs_from_log(submit, ones * 60, ones, ones * 60), 2, parse_goal("bsld"))
    windows = Windows(np.array([0]), 8)
    options = WorkerOptions(workers=3, launcher=launcher)
    write_task(folder, WorkerTask(arena, Lessons(windows, windows, windows), PPOOptions(), 1, workers=options))
    return folder


@pytest.mark.parametrize("launcher", ["torchrun", "ray"])
def test_it_works_or_has_ray_start_workers(launcher: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    folder = task_folder(tmp_path, launcher)
    monkeypatch.setattr(worker, "die_with_parent", lambda: calls.append("tied"))
    monkeypatch.setattr(worker, "run_on_ray", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(worker, "work_and_report", calls.append)
    monkeypatch.setattr(worker, "die_with_run", lambda *arguments: calls.append(arguments))
    options = WorkerOptions(workers=3, launcher="ray")
    working = folder if launcher == "torchrun" else (folder, options, calls.append)
    monkeypatch.setattr("sys.argv", ["worker", str(folder)])
    worker.start()
    assert calls == ["tied", working]
    monkeypatch.setattr("sys.argv", ["worker", str(folder), "run"])
    worker.start()
    assert calls[2:] == ["tied", (folder, "run"), working]


def test_a_cluster_that_lets_nobody_in_ends_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise ValueError("no Ray cluster")

    monkeypatch.setattr(worker, "die_with_parent", lambda: None)
    monkeypatch.setattr(worker, "run_on_ray", refuse)
    monkeypatch.setattr("sys.argv", ["worker", str(task_folder(tmp_path, "ray"))])
    with pytest.raises(ValueError, match="no Ray cluster"):
        worker.start()
    with pytest.raises(ValueError, match="no Ray cluster"):
        raise_failure(tmp_path)


@pytest.mark.parametrize(
    ("rank", "lines"), [("0", ["epoch 2: 900 decisions, cost 1.235", "epoch 3: 800 decisions"]), ("1", [])]
)
def test_worker_0_alone_reports_to_dagster(
    rank: str, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(folder: Path, on_epoch: Callable[[EpochReport], None] = lambda report: None) -> None:
        on_epoch(EpochReport(2, "all", 900, 3.0, 1.23456, 0.1, 0.1, 4))
        on_epoch(EpochReport(3, "all", 800, 3.0, None, 0.1, 0.1, 4))

    context, messages = tmp_path / "context", tmp_path / "messages"
    names = (
        "asset_keys",
        "code_version_by_asset_key",
        "provenance_by_asset_key",
        "partition_key",
        "partition_key_range",
    )
    empty = dict.fromkeys((*names, "partition_time_window", "job_name"))
    context.write_text(json.dumps(empty | {"run_id": "r", "retry_number": 0, "extras": {}}))
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("DAGSTER_PIPES_CONTEXT", encode_param({"path": str(context)}))
    monkeypatch.setenv("DAGSTER_PIPES_MESSAGES", encode_param({"path": str(messages)}))
    monkeypatch.setattr(worker, "work", work)
    monkeypatch.setattr(PipesContext, "_instance", None)
    worker.work_and_report(tmp_path)
    sent = [json.loads(line) for line in messages.read_text().splitlines()] if messages.exists() else []
    assert [message["params"]["message"] for message in sent if message["method"] == "log"] == lines
