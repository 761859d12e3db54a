"""The table of what kept each job waiting, its view, and what is read back from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import sql
from assets.common.checks import broken_rows
from assets.common.partitions import SOURCES
from assets.common.storage import open_warehouse
from assets.marts import job_wait_causes as module
from assets.marts.job_wait_causes import job_wait_causes
from assets.replaying.own.wait_causes import stored_causes, wait_causes
from tests.assets.replaying.own.homes import CLUSTER, own_home
from tests.assets.replaying.own.test_wait_causes import JOBS, ONE_NODE
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse


def materialized(warehouse: Warehouse) -> dict[str, Any]:
    """Makes the asset of the source `mine`. Returns its metadata."""
    assert SOURCES.name is not None
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions(SOURCES.name, ["mine"])
        result = dg.materialize(
            [job_wait_causes], instance=instance, partition_key="mine", resources={"warehouse": warehouse}
        )
        (made,) = result.asset_materializations_for_node("marts__job_wait_causes")
        return {name: value.value for name, value in made.metadata.items()}


def rows_of(warehouse: Warehouse, query: str) -> list[tuple[Any, ...]]:
    with warehouse.read() as connection:
        return connection.execute(query).fetchall()


def test_rows_of_the_log_and_of_a_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    warehouse = open_warehouse()
    for _ in range(2):  # a second time replaces the first
        assert materialized(warehouse)["dagster/row_count"] == 8
    query = "SELECT job_index, cause, waited_s, behind_job FROM marts.job_wait_causes WHERE starts = '{}' ORDER BY ALL"
    of_log = [(1, "memory", 95, None), (2, "behind_earlier", 90, "2"), (2, "memory", 100, None)]
    assert rows_of(warehouse, query.format("log")) == of_log
    # Slurm looks again some seconds after a job has ended
    assert rows_of(warehouse, query.format("replay")) == sorted([*of_log, (1, "pace", 5, None), (2, "pace", 8, None)])
    basis = dict(rows_of(warehouse, "SELECT DISTINCT starts, basis FROM marts.job_wait_causes"))
    assert "cluster two" in basis["log"] and basis["replay"] == f"a replay under {basis['log']}"
    sums = "SELECT queue, cause, meaning, jobs, hours FROM marts.waits_by_cause WHERE starts = 'log' ORDER BY cause"
    behind, memory = rows_of(warehouse, sums)
    assert behind == ("main", "behind_earlier", "behind jobs submitted earlier", 1, 90 / 3600)
    assert memory[1:] == ("memory", "memory is missing", 2, 195 / 3600)


def test_what_is_read_back_is_what_was_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = '[[limits]]\nowner = "partition"\nowner_name = "main"\ncounts = "running"\neach = "user"\nresource = "jobs"\nbound = 1\n'
    own_home(tmp_path / "home", JOBS, monkeypatch, CLUSTER + few)
    warehouse, computed = open_warehouse(), wait_causes(open_warehouse(), "mine")
    materialized(warehouse)
    stored = stored_causes(warehouse, "mine")
    assert stored is not None and stored.basis == computed.basis
    assert stored.of().equals(computed.of()) and "limit" in stored.of()["cause"]
    assert stored.by_group(stored.jobs, "user").equals(computed.by_group(computed.jobs, "user"))
    limits = stored.limits(stored.jobs)
    assert limits.equals(computed.limits(computed.jobs)) and "jobs of a user" in limits["limit"][0]


def test_a_check_holds_of_a_log_of_a_row_of_processors(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(400))
    assert stored_causes(warehouse, "mine") is None and broken_rows(warehouse, "checks.causes_add_up", "mine") == []
    materialized(warehouse)
    assert broken_rows(warehouse, "checks.causes_add_up", "mine") == []
    with warehouse.write() as connection:
        connection.execute(
            "DELETE FROM marts.job_wait_causes WHERE job_index = (SELECT max(job_index) FROM marts.job_wait_causes)"
        )
        rows = connection.sql(sql.load("checks.causes_add_up"), params={"source": "mine"}).pl()
    assert rows["explained_s"].to_list() == [0] and rows["wait_s"][0] > 0


def test_logs_that_are_passed_over_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE.replace('"main"', '"other"'))
    assert "main" in materialized(open_warehouse())["passed over"]
    with monkeypatch.context() as patch:
        patch.setattr(module, "MOST_EXPLAINED_JOBS", 2)
        assert "more than 2 jobs" in materialized(open_warehouse())["passed over"]
    assert rows_of(open_warehouse(), "FROM marts.job_wait_causes") == []
