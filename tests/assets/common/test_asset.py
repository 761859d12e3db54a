"""What our assets do besides Dagster's own: plain failures, another try where the warehouse is busy, small sources."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.common import asset as assets
from assets.common.asset import FROM_COMMAND_LINE, LEAST_JOBS, PASSED_OVER, asset
from assets.common.partitions import SOURCES
from tests.tiny import busy_log, warehouse_of
from traces.common.log import LogError
from warehouse import Warehouse, WarehouseBusy


def materialized(
    function: Any, warehouse: Warehouse, tags: dict[str, str] | None = None, **options: Any
) -> dg.ExecuteInProcessResult:
    """A run of an asset of that function."""
    assert SOURCES.name is not None
    made = asset(key="made", partitions_def=SOURCES, **options)(function)
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions(SOURCES.name, ["mine"])
        return dg.materialize(
            [made],
            instance=instance,
            partition_key="mine",
            resources={"warehouse": warehouse},
            tags=tags,
            raise_on_error=False,
        )


def failure_of(result: dg.ExecuteInProcessResult) -> Any:
    (event,) = (event for event in result.all_events if event.is_step_failure)
    return event.step_failure_data


@pytest.mark.parametrize("error", [ValueError("give a log"), LogError("line 3: no number")])
def test_what_is_expected_fails_with_one_sentence(error: Exception, tmp_path: Path) -> None:
    def function(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
        raise error

    failure = failure_of(materialized(function, Warehouse(tmp_path / "w.duckdb")))
    assert failure.user_failure_data.description == str(error)
    assert failure.error.cause is None and failure.error.context is None  # no second traceback in the UI


def test_a_fault_of_ours_keeps_its_traceback(tmp_path: Path) -> None:
    def function(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
        raise KeyError("fault")

    failure = failure_of(materialized(function, Warehouse(tmp_path / "w.duckdb")))
    assert failure.user_failure_data is None and "raise KeyError" in str(failure.error.cause.stack)


@pytest.mark.parametrize(("tags", "calls"), [({}, 3), ({FROM_COMMAND_LINE: "1"}, 1)])
def test_a_busy_warehouse_is_tried_again_where_nobody_waits(
    tags: dict[str, str], calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "RETRY_AFTER_S", 0)
    called = []

    def function(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
        called.append(context.retry_number)
        raise WarehouseBusy("process 7 writes")

    failure = failure_of(materialized(function, Warehouse(tmp_path / "w.duckdb"), tags))
    assert called == list(range(calls))
    assert failure.user_failure_data.description == "process 7 writes"


def test_a_busy_warehouse_may_be_free_the_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "RETRY_AFTER_S", 0)

    def function(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
        if context.retry_number == 0:
            raise WarehouseBusy("process 7 writes")
        return dg.MaterializeResult()

    assert materialized(function, Warehouse(tmp_path / "w.duckdb")).success


@pytest.mark.parametrize("jobs", [LEAST_JOBS - 1, LEAST_JOBS])
def test_a_small_source_is_passed_over(jobs: int, tmp_path: Path) -> None:
    def function(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
        return dg.MaterializeResult(metadata={"learned": True})

    result = materialized(function, warehouse_of(tmp_path, busy_log(jobs)), least_jobs=LEAST_JOBS)
    (event,) = result.get_asset_materialization_events()
    metadata = event.materialization.metadata
    assert result.success and ("learned" in metadata) == (jobs == LEAST_JOBS)
    if jobs < LEAST_JOBS:
        assert "299 jobs with a known run time are too few to learn" in str(metadata[PASSED_OVER].value)
