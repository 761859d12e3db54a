"""Tests of assets/common: asset, checks_statements, describe, partitions, plots."""

from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
import pytest

import sql
from assets.common import asset as assets
from assets.common.asset import FROM_COMMAND_LINE, PASSED_OVER, asset
from assets.common.checks import broken_rows
from assets.common.describe import ASSETS, column_lineage, lineage_metadata, plot, table, table_metadata
from assets.common.learnable import LEAST_JOBS
from assets.common.partitions import OWNERS, SOURCES, VASP
from assets.common.plots import BLUE, daily_load, figure, gantt, log_axis
from models import NothingToLearn
from pipelines.definitions import build_definitions
from tests.tiny import busy_log, swf_line, warehouse_of
from traces.common.log import LogError
from warehouse import Warehouse, WarehouseBusy, replace_partition
from warehouse.schema import column_comments, table_columns

# asset: What our assets do besides Dagster's own: plain failures, another try where the warehouse is busy, small
# sources.


def materialized(
    function: Any, warehouse: Warehouse, tags: dict[str, str] | None = None, **options: Any
) -> dg.ExecuteInProcessResult:
    """A run of an asset of that function."""
    assert SOURCES.name is not None
    made = asset("made", table=None, **options)(function)
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


def test_a_source_of_which_no_job_had_ended_in_time_is_passed_over(tmp_path: Path) -> None:
    """An accounting tool writes who ended: a log of one morning begins with jobs that ended in the evening."""

    def function(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
        raise AssertionError("there is nothing to learn from")

    log = "".join(swf_line(number, 60 * number, 0, 90_000, 1, 100_000) for number in range(LEAST_JOBS))
    result = materialized(function, warehouse_of(tmp_path, log), least_jobs=LEAST_JOBS)
    (event,) = result.get_asset_materialization_events()
    why = str(event.materialization.metadata[PASSED_OVER].value)
    assert "no job had ended when half of its 300 jobs had been submitted" in why and "tracehouse replay" in why


def test_an_asset_that_has_nothing_to_learn_from_is_passed_over(tmp_path: Path) -> None:
    def function(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
        raise NothingToLearn("needs 20 finished runs, there are 3")

    result = materialized(function, Warehouse(tmp_path / "w.duckdb"))
    (event,) = result.get_asset_materialization_events()
    assert result.success
    assert event.materialization.metadata[PASSED_OVER].value == "needs 20 finished runs, there are 3"


# checks_statements: What breaks the checks of the leaderboard, of operations, of predicted waits, of policies and
# of launches.


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


FCFS = {"policy": "FCFS", "cluster": None, "estimates": "requested", "verdict": "no difference", "rank": 2}
BEST = {"policy": "EASY-SJBF", "cluster": None, "estimates": "requested", "verdict": "dominates, certain", "rank": 1}


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


# describe: What a person sees in the UI: schemas from the statements, tables and pictures.


def test_a_table_has_the_columns_and_comments_of_its_statement() -> None:
    metadata = table_metadata("replay.runs")
    columns = {column.name: column for column in metadata["dagster/column_schema"].columns}
    assert columns["average_wait_s"].type == "DOUBLE"
    assert columns["average_wait_s"].description == "mean wait, seconds: start minus submission"
    assert metadata["about"].value.startswith("What-if replays of a source")


def test_a_markdown_table_shows_the_first_rows() -> None:
    rows = pl.DataFrame({"name": ["a|b", None], "value": [0.1234, 123456.7]})
    assert table(rows).value.splitlines() == [
        "| name | value |",
        "| --- | --- |",
        "| a\\|b | 0.123 |",
        "|  | 123,457 |",
    ]
    assert table(rows, most=1).value.endswith("… and 1 more rows")


def test_a_picture_is_inside_the_text() -> None:
    assert plot(figure()[0]).value.startswith("![plot](data:image/png;base64,")


def test_what_a_log_says_is_no_markup() -> None:
    """The UI would load a picture from the network, or show a link of somebody else."""
    rows = pl.DataFrame(
        {"queue": ["![x](http://a.b/c.png)", "<img src=x onerror=alert(1)>", "a\nb | `c` *d*", "a_b-c.d"]}
    )
    assert table(rows).value.splitlines()[2:] == [
        r"| \!\[x\](http://a.b/c.png) |",
        r"| \<img src=x onerror=alert(1)\> |",
        r"| a b \| \`c\` \*d\* |",
        "| a_b-c.d |",
    ]


# lineage: Columns of views are traced to the columns that they are computed from.


def deps(statement: str, column: str) -> set[tuple[str, str]]:
    return {
        (dep.asset_key.to_user_string(), dep.column_name) for dep in column_lineage(statement).deps_by_column[column]
    }


def test_columns_that_are_computed_from_several() -> None:
    assert deps("marts.job_facts", "core_hours") == {("core/jobs", "procs"), ("core/jobs", "runtime_s")}
    assert deps("marts.job_facts", "month") == {("core/jobs", "submit_time"), ("core/jobs", "time_zone")}


def test_a_table_that_is_joined_with_itself_counts_once() -> None:
    column = deps("marts.prediction_error", "error_over_last_two")
    assert column == {("predictions/runtime_evaluation", "mean_absolute_error_s")}


def test_launches_come_from_runs_and_jobs() -> None:
    assert deps("core.vasp_jobs_of_source", "job_index") == {("core/jobs", "job_index")}
    assert deps("core.vasp_jobs_of_source", "folder") == {("raw/vasp_runs", "folder")}


@pytest.mark.parametrize(
    ("log_format", "table"), [("swf", "swf_jobs"), ("pbs", "pbs_records"), ("slurm", "slurm_jobs")]
)
def test_canonical_jobs_come_from_the_raw_log(log_format: str, table: str) -> None:
    """Also through stars, tables that are there for a while, and unions by name."""
    columns = column_lineage(f"core.jobs_from_{log_format}").deps_by_column
    assert {"submit_time", "start_time", "runtime_s", "procs", "user_name"} <= set(columns)
    raw = {name for name, _ in table_columns(sql.load(f"raw.{table}"))}
    for column in ("procs", "user_name", "queue"):
        assert {dep.asset_key for dep in columns[column]} == {dg.AssetKey(["raw", "log"])}
        assert {dep.column_name for dep in columns[column]} <= raw
    if log_format != "swf":
        assert {dep.column_name for dep in columns["user_name"]} == {"user_name"}


def test_findings_come_from_what_they_count() -> None:
    found = deps("marts.trace_health_of_source", "found")
    assert {asset for asset, _ in found} == {"core/jobs", "raw/log"}
    assert {("core/jobs", "runtime_s"), ("raw/log", "rejected")} <= found


@pytest.mark.parametrize("view", ["marts.job_facts", "marts.prediction_error"])
def test_every_column_of_a_view_has_a_lineage(view: str) -> None:
    assert set(column_lineage(view).deps_by_column) == set(column_comments(sql.load(view)))


def test_the_assets_are_there() -> None:
    with dg.instance_for_test():
        keys = {spec.key for spec in build_definitions().resolve_all_asset_specs()}
    assert {dg.AssetKey(path) for path in ASSETS.values()} <= keys
    assert set(lineage_metadata("marts.job_facts")) == {"dagster/column_lineage"}


# partitions: Sources and folders of VASP runs are two kinds of partitions.


def test_partitions_are_called_as_the_catalogues_sections() -> None:
    assert (SOURCES.name, VASP.name) == ("sources", "vasp")
    assert OWNERS


# plots: What all figures share.


def test_a_figure_has_as_many_axes_as_rows() -> None:
    canvas, axes = figure(rows=3, share_x=True)
    assert len(axes) == len(canvas.axes) == 3
    log_axis(axes[0].xaxis)
    assert axes[0].get_xscale() == "log" and axes[0].get_yscale() == "linear"


def test_daily_load_has_a_bar_for_every_day() -> None:
    days = pl.DataFrame({"day": [1, 2, 3], "jobs": [4, 5, 6], "offered_load": [0.1, 0.5, 0.9]})
    jobs, load = daily_load(days).axes
    assert [bar.get_height() for bar in jobs.patches] == [4, 5, 6]
    assert [bar.get_height() for bar in load.patches] == [10, 50, 90]
    assert jobs.patches[0].get_facecolor()[:3] == tuple(int(BLUE[k : k + 2], 16) / 255 for k in (1, 3, 5))


def test_a_gantt_chart_of_two_jobs() -> None:
    start, runtime, procs = np.array([0, 10]), np.array([20, 5]), np.array([1, 3])
    canvas = gantt("mine", start, runtime, procs, np.array([0, 2]), 4, 0, 30)
    assert len(canvas.axes) == 1
