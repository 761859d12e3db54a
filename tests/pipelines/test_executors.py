"""What executes the steps of a run: chosen by name, and told to other machines."""

import os

import dagster as dg
import pytest

from pipelines.definitions import defs
from pipelines.executors import WANTED, wanted_executor
from pipelines.processes import this_process
from pipelines.resources import WarehouseResource
from warehouse import Warehouse, door


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
