"""What breaks the checks of the leaderboard, of operations, of predicted waits, of policies and of launches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sql
from assets.common.checks import broken_rows
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse, replace_partition


def put(warehouse: Warehouse, table: str, rows: list[dict[str, Any]]) -> None:
    """Rows of a source `mine`, the columns that are not named filled with what fits their type."""
    fill = {"VARCHAR": "", "DOUBLE": 1.0, "BIGINT": 1, "BOOLEAN": False, "TIMESTAMP": "2026-01-01"}
    with warehouse.write() as connection:
        kinds: list[tuple[str, str]] = [
            (name, kind) for name, kind, *_ in connection.execute(f"DESCRIBE {table}").fetchall()
        ]
        whole = [{name: row.get(name, fill[kind]) for name, kind in kinds if name != "source"} for row in rows]
        frame = pl.DataFrame(whole).with_columns(
            pl.col(name).cast(pl.Utf8).str.to_datetime()
            for name, kind in kinds
            if kind == "TIMESTAMP" and name in whole[0]
        )
        replace_partition(connection, table, "mine", frame)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return warehouse_of(tmp_path, busy_log(40))


FCFS = {"policy": "FCFS", "estimates": "requested", "verdict": "no difference", "rank": 2}
BEST = {"policy": "EASY-SJBF", "estimates": "requested", "verdict": "dominates, certain", "rank": 1}


@pytest.mark.parametrize(
    ("rows", "broken"),
    [
        ([BEST, FCFS], []),
        ([FCFS, BEST | {"rank": 3}], ["EASY-SJBF"]),  # a better verdict behind a worse one
        ([BEST, FCFS | {"wait_ratio": 0.9}], ["FCFS"]),
        ([BEST | {"verdict": "wins"}, FCFS], ["EASY-SJBF"]),
        ([FCFS | {"rank": None}], []),  # nobody waits under any
    ],
)
def test_ranks_follow_verdicts(warehouse: Warehouse, rows: list[dict[str, Any]], broken: list[str]) -> None:
    put(warehouse, "marts.leaderboard", rows)
    assert [row["policy"] for row in broken_rows(warehouse, "checks.ranks_follow_verdicts", "mine")] == broken


def test_every_job_is_counted(warehouse: Warehouse) -> None:
    assert broken_rows(warehouse, "checks.every_job_is_counted", "mine") == []
    with warehouse.write() as connection:  # as a fault in a view would
        text = connection.execute("SELECT sql FROM duckdb_views() WHERE view_name = 'job_facts'").fetchall()[0][0]
        connection.execute(
            text.replace("CREATE VIEW", "CREATE OR REPLACE VIEW").rstrip("; \n") + " WHERE job_index > 0"
        )
        rows = connection.sql(sql.load("checks.every_job_is_counted"), params={"source": "mine"}).fetchall()
    assert [(what, jobs - counted) for what, jobs, counted in rows] == [("all jobs", 1), ("jobs with a known wait", 1)]


@pytest.mark.parametrize(
    ("quantiles", "is_broken"),
    [((0, 1, 2, 3, 4), False), ((5, 5, 5, 5, 5), False), ((-1, 1, 2, 3, 4), True), ((0, 3, 2, 3, 4), True)],
)
def test_wait_quantiles_ascend(warehouse: Warehouse, quantiles: tuple[int, ...], is_broken: bool) -> None:
    names = [f"wait_p{level}_s" for level in (10, 25, 50, 75, 90)]
    put(warehouse, "predictions.wait_predictions", [dict(zip(names, map(float, quantiles), strict=True))])
    assert bool(broken_rows(warehouse, "checks.wait_quantiles_ascend", "mine")) == is_broken


@pytest.mark.parametrize(
    ("cards", "broken"),
    [
        ([("kernel", True), ("kernel", False), ("picking", True)], []),
        ([("kernel", False), ("inspecting", True)], [("ordering", 0)]),
        ([("kernel", True), ("rlscheduler", True)], [("ordering", 2)]),  # both order the queue
    ],
)
def test_one_policy_is_in_use(
    warehouse: Warehouse, cards: list[tuple[str, bool]], broken: list[tuple[str, int]]
) -> None:
    put(warehouse, "policies.scheduling_policies", [{"layout": layout, "champion": used} for layout, used in cards])
    rows = broken_rows(warehouse, "checks.one_policy_is_in_use", "mine")
    assert [(row["layout"], row["in_use"]) for row in rows] == broken
    put(
        warehouse,
        "policies.scheduling_policies",
        [{"layout": "kernel", "champion": True, "validation_cost": float("nan")}],
    )
    assert not broken_rows(warehouse, "checks.one_policy_is_in_use", "mine")[0]["finite"]


def test_launches_fit_their_jobs(warehouse: Warehouse) -> None:
    link = {"folder": "a", "outcar": "OUTCAR", "accounting": "mine", "job_index": 3}
    put(warehouse, "core.vasp_jobs", [link, link | {"folder": "b"}])
    assert broken_rows(warehouse, "checks.launches_fit_their_jobs", "mine") == []
    put(warehouse, "core.vasp_jobs", [link, link | {"job_index": 4}, link | {"folder": "b", "job_index": 999}])
    rows = broken_rows(warehouse, "checks.launches_fit_their_jobs", "mine")
    assert [(row["folder"], row["links"], row["jobs"]) for row in rows] == [("a", 2, 2), ("b", 1, 0)]
