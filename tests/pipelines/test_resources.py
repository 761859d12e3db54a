"""What the UI shows of the warehouse, and what a run gets."""

from pathlib import Path

import dagster as dg
import pytest

from pipelines.resources import WarehouseResource
from warehouse import Warehouse, door


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
