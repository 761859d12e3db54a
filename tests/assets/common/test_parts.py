"""Assets that are made in parts: the order of parts, small sources, faults, and a part whose process is killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from assets.common.learnable import LEAST_JOBS
from assets.common.partitions import SOURCES
from assets.common.parts import asset_of_parts
from assets.common.storage import KEPT_UNUSED_S, data_folder
from assets.core.jobs import jobs
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse


class SweepConfig(dg.Config):
    parts: int = 3
    killed: int = -1
    faulty: int = -1


def number_of_parts(config: SweepConfig, warehouse: Warehouse, source: str) -> int:
    return config.parts


def square(context: dg.OpExecutionContext, config: SweepConfig, warehouse: Warehouse, number: int) -> pl.DataFrame:
    """Notes every attempt; the first of one part ends as by the kernel's killer, and another part has a fault."""
    with (data_folder() / "attempts").open("a") as attempts:
        attempts.write(f"{number} {os.getpid()}\n")
    if number == config.killed and context.retry_number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == config.faulty:
        raise ValueError(f"part {number} has a fault")
    return pl.DataFrame({"number": [number], "square": [number**2]})


@asset_of_parts("replay.squares", table=None, deps=[jobs], count=number_of_parts, part=square)
def squares(
    context: dg.OpExecutionContext, config: SweepConfig, warehouse: Warehouse, parts: list[pl.DataFrame]
) -> dg.MaterializeResult:
    """The squares of the numbers of the parts, and nothing else, in their order."""
    return dg.MaterializeResult(metadata={"squares": str([part["square"][0] for part in parts])})


def job_of_squares(log_jobs: int, executor: str) -> dg.JobDefinition:
    """The asset on a source of so many jobs, in TRACEHOUSE_HOME, which exists or is made."""
    folder = data_folder()
    warehouse = Warehouse(folder / "w.duckdb")
    if not (folder / "w.duckdb").exists():
        warehouse = warehouse_of(folder, busy_log(log_jobs))
    return dg.Definitions(
        assets=[squares],
        jobs=[dg.define_asset_job("squares_job", [squares], partitions_def=SOURCES)],
        resources={"warehouse": warehouse},
        executor=getattr(dg, f"{executor}_executor"),
    ).resolve_job_def("squares_job")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(monkeypatch, tmp_path)
    return tmp_path


def run_squares(
    instance: dg.DagsterInstance, executor: str, log_jobs: int = LEAST_JOBS, **config: Any
) -> dg.JobExecutionResult:
    assert SOURCES.name is not None
    instance.add_dynamic_partitions(SOURCES.name, ["mine"])
    job_of_squares(log_jobs, executor)  # before several processes would make the log
    run_config: dict[str, Any] = {"ops": {"replay__squares": {"config": config}}}
    if executor == "multiprocess":
        run_config["execution"] = {"config": {"max_concurrent": 2}}
    return dg.execute_job(
        dg.build_reconstructable_job(__name__, "job_of_squares", (log_jobs, executor), {}, str(Path.cwd())),  # type: ignore[arg-type]
        instance,
        run_config=run_config,
        tags={"dagster/partition": "mine"},
    )


def attempts() -> list[int]:
    """The number of the part of every attempt."""
    lines = (data_folder() / "attempts").read_text().splitlines()
    return [int(line.split()[0]) for line in lines]


def squares_of(result: dg.JobExecutionResult) -> Any:
    (event,) = (event for event in result.all_events if event.event_type == dg.DagsterEventType.ASSET_MATERIALIZATION)
    return event.step_materialization_data.materialization.metadata["squares"].value


def test_parts_are_put_together_in_their_order(home: Path) -> None:
    with dg.instance_for_test() as instance:
        result = run_squares(instance, "in_process", parts=12)
        assert squares_of(result) == str([number**2 for number in range(12)])
        assert attempts() == list(range(12)), "no part is made twice"


def test_a_part_that_is_killed_is_repeated_alone(home: Path) -> None:
    with dg.instance_for_test() as instance:
        result = run_squares(instance, "multiprocess", parts=2, killed=1)
        assert result.success and squares_of(result) == "[0, 1]"
        assert sorted(attempts()) == [0, 1, 1]
        pids = {line.split()[1] for line in (data_folder() / "attempts").read_text().splitlines()}
        assert len(pids) == 3, "every attempt has a process of its own"


def test_a_run_that_is_repeated_takes_up_what_was_done(home: Path) -> None:
    with dg.instance_for_test() as instance:
        first = run_squares(instance, "in_process", parts=3, faulty=1)
        assert not first.success
        (failure,) = (event for event in first.all_events if event.is_step_failure)
        description = failure.step_failure_data.user_failure_data
        assert description is not None and description.description == "part 1 has a fault"
        assert attempts() == [0, 1, 2], "a fault that is expected is not tried again, and the other parts go on"
        again = dg.execute_job(
            dg.build_reconstructable_job(__name__, "job_of_squares", (LEAST_JOBS, "in_process"), {}, str(Path.cwd())),  # type: ignore[arg-type]
            instance,
            run_config={"ops": {"replay__squares": {"config": {"parts": 3}}}},
            tags={"dagster/partition": "mine"},
            reexecution_options=dg.ReexecutionOptions.from_failure(first.run_id, instance),
        )
        assert again.success and squares_of(again) == "[0, 1, 4]"
        assert attempts() == [0, 1, 2, 1]


def test_files_of_old_runs_are_removed(home: Path) -> None:
    old, new = data_folder() / "parts" / "old", data_folder() / "parts" / "new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "result.parquet").touch()
    long_ago = time.time() - KEPT_UNUSED_S - 60
    os.utime(old, (long_ago, long_ago))
    with dg.instance_for_test() as instance:
        assert run_squares(instance, "in_process", parts=1).success
    assert new.exists() and not old.exists()
