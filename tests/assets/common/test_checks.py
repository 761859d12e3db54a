"""A check passes when its statement gives no row, and says which rows break it."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.common.checks import broken_rows, row_check
from assets.common.partitions import SOURCES
from tests.tiny import swf_line, warehouse_of
from warehouse import Warehouse


@dg.asset(partitions_def=SOURCES)
def something() -> None:
    pass


def outcome(warehouse: Warehouse, warns: bool) -> dg.AssetCheckEvaluation:
    check = row_check(something, "checks.times_are_ordered", "a job ends after it starts", warns=warns)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("sources", ["mine"])
        run = dg.materialize(
            [something, check],
            partition_key="mine",
            resources={"warehouse": warehouse},
            instance=instance,
            raise_on_error=False,
        )
        (evaluation,) = run.get_asset_check_evaluations()
        assert run.success == (evaluation.passed or warns)
    return evaluation


@pytest.mark.parametrize("warns", [False, True])
def test_what_a_check_finds(tmp_path: Path, warns: bool) -> None:
    warehouse = warehouse_of(tmp_path, swf_line(1, 0, 5, 60, 1))
    assert outcome(warehouse, warns).passed and broken_rows(warehouse, "checks.times_are_ordered", "mine") == []
    with warehouse.write() as connection:
        connection.execute("UPDATE core.jobs SET start_time = submit_time - INTERVAL 1 HOUR")
    evaluation = outcome(warehouse, warns)
    assert not evaluation.passed
    assert evaluation.severity == (dg.AssetCheckSeverity.WARN if warns else dg.AssetCheckSeverity.ERROR)
    assert evaluation.metadata["broken_rows"].value == 1
    assert evaluation.description is not None and evaluation.description.startswith(
        "not so: a job ends after it starts"
    )
