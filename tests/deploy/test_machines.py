"""One Dagster instance on PostgreSQL, whose runs are done on two machines: a run whose process is killed is repeated.

The instance has the settings of docs/deploy/dagster.yaml. The machines are code locations with homes of their own. They share a warehouse
where TRACEHOUSE_WAREHOUSE names one.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from tests.deploy.postgres import running_postgres, why_not
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

pytest.importorskip("dagster_postgres", reason="Dagster's PostgreSQL storage is not installed (the extra `deploy`)")
pytestmark = [pytest.mark.postgres, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

from tests.deploy.machines import running_machines  # noqa: E402

NORTH, SOUTH = "north", "south"
"""Machines, and the source of each."""
JOBS = 20_000
TABLES = ("raw.swf_jobs", "core.jobs")


def rows(warehouse: Warehouse, source: str, table: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(f"FROM {table} WHERE source = '{source}' ORDER BY ALL").pl()


def kill_and_compare(folder: Path, monkeypatch: pytest.MonkeyPatch, jobs: int = JOBS) -> None:
    """Ingests two sources at once on two machines, kills one run, and replays meanwhile. Asserts that the killed run is repeated, and that
    rows are those of undisturbed runs. folder: of homes and logs. jobs: of each source."""
    texts = {NORTH: busy_log(jobs, seed=1, days=1500), SOUTH: busy_log(jobs, seed=2, days=1500)}
    undisturbed = {name: warehouse_of(folder / "alone", text, name) for name, text in texts.items()}
    catalogues = {name: f'[sources.{name}]\nformat = "swf"\npath = "{folder}/alone/{name}.swf"\n' for name in texts}
    with running_postgres() as postgres, running_machines(folder, postgres, catalogues) as machines:
        machines.instance.add_dynamic_partitions("sources", list(texts))
        killed = machines.launch("ingest", NORTH, NORTH)
        others = machines.launch("ingest", SOUTH, SOUTH)
        machines.kill_at(killed, "raw__log")
        machines.wait_for(others, dg.DagsterRunStatus.SUCCESS)
        replays = machines.launch("replay_runs", SOUTH, SOUTH)
        machines.wait_for(killed, dg.DagsterRunStatus.FAILURE)
        repeated = machines.repeated(killed)
        machines.wait_for(replays, dg.DagsterRunStatus.SUCCESS)
        assert repeated.tags["dagster/retry_number"] == "1"
        runs = machines.instance.get_runs()
        assert len(runs) == 4, "no run but the killed one is repeated, and that once"
        for name in texts:
            monkeypatch.setenv("TRACEHOUSE_HOME", str(machines.home(name)))
            warehouse = open_warehouse()
            for table in TABLES:
                expected = rows(undisturbed[name], name, table)
                assert expected.height == jobs and rows(warehouse, name, table).equals(expected), f"{name}: {table}"
        assert rows(warehouse, SOUTH, "replay.runs").height == 4


def test_a_run_that_is_killed_is_repeated_on_its_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kill_and_compare(tmp_path, monkeypatch)
