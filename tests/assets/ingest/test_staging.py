"""Rows wait outside of the warehouse: readers are kept out for the insertion alone, and see whole files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import polars as pl
import pytest

from assets.features.job_features import job_features
from assets.ingest import canonical_jobs, reading, rows, staging
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.staging import StagedRows, overlay, replace_rows_of_query, source_lock, staging_folder
from assets.ingest.update import update_raw_log
from assets.marts.trace_health import trace_health
from tests.assets.ingest.incremental import OpenWarehouse, ended
from traces.catalogue.sources import Source
from warehouse import Warehouse, WarehouseBusy

READER_WAITS_S = 2.0


def counting(warehouse: Warehouse, query: str, seen: list[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; each call first asks the warehouse, as another user may."""

    def asked(*arguments: Any) -> Any:
        with Warehouse(warehouse.place, READER_WAITS_S).read() as connection:
            seen.append(connection.execute(query).fetchall()[0][0])
        return function(*arguments)

    return asked


def test_others_read_while_logs_are_parsed_and_jobs_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One large file, of which nothing is seen before all of it is there, and small ones that appear one by one."""
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "0").write_text("".join(ended(job, job, job + 10, 90_000 + job) for job in range(50)))
    warehouse, source = Warehouse(tmp_path / "w.duckdb"), Source("mine", "pbs", folder)
    update_raw_log(warehouse, source)
    write_jobs(warehouse, "mine")
    (folder / "0").write_text("".join(ended(job, job, job + 10, 90_000 + job) for job in range(80)))
    for day in range(1, 5):
        (folder / f"{day}").write_text(ended(f"1{day}0", day * 1000, day * 1000 + 5, 90_000))
    parsing: list[int] = []
    computing: list[int] = []
    monkeypatch.setattr("traces.common.blocks.BLOCK_BYTES", 4000)
    monkeypatch.setattr(staging, "SPILL_ROWS", 10)
    monkeypatch.setattr(rows, "COMMIT_BYTES", 1)
    monkeypatch.setattr(reading, "THREADS", 1)
    monkeypatch.setattr(reading, "_MOST_WAITING", 1)
    query = "SELECT count(*) FROM raw.pbs_records"
    monkeypatch.setattr(reading, "parse_block", counting(warehouse, query, parsing, reading.parse_block))
    update_raw_log(warehouse, source)
    assert len(parsing) > 5 and set(parsing) <= {50, 80, 81, 82, 83} and parsing[0] == 50
    query = "SELECT count(*) FROM core.jobs"
    computation = canonical_jobs._Computation
    monkeypatch.setattr(computation, "_slices", counting(warehouse, query, computing, computation._slices))
    monkeypatch.setattr(computation, "_capacity", counting(warehouse, query, computing, computation._capacity))
    assert write_jobs(warehouse, "mine") == 84
    assert computing == [50, 50]


def test_many_rows_go_through_files_and_few_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = OpenWarehouse(tmp_path)
    monkeypatch.setattr(staging, "SPILL_ROWS", 4)
    with staging_folder(warehouse, "mine") as folder:
        staged = StagedRows(folder, "mine")
        for file in ("b", "a"):
            staged.add(
                "raw.line_counts",
                file,
                pl.DataFrame({"outcome": ["kept"] * 3, "reason": ["x"] * 3, "lines": [1, 2, 3]}),
            )
        assert len(list(folder.iterdir())) == 1
        staged.add("raw.rejects", "a", pl.DataFrame({"line": [7], "reason": ["odd"], "text": ["é"]}))
        with warehouse.write() as connection:
            staged.insert(connection)
            staged.forget()
            staged.insert(connection)
            counts = connection.execute(
                "SELECT source, file, sum(lines) FROM raw.line_counts GROUP BY ALL ORDER BY ALL"
            )
            assert counts.fetchall() == [("mine", "a", 6), ("mine", "b", 6)]
            rejects = connection.execute("FROM raw.rejects").fetchall()
        assert rejects == [("mine", "a", 7, "odd", "é")]
        assert not list(folder.iterdir())
    assert not folder.exists()


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    warehouse = OpenWarehouse(tmp_path)
    left = tmp_path / "staging" / "mine" / "0.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    with staging_folder(warehouse, "mine"):
        assert not left.exists()


def test_one_process_at_a_time_changes_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = OpenWarehouse(tmp_path)
    monkeypatch.setenv("TRACEHOUSE_TIMEOUT_S", "0.2")
    with source_lock(warehouse, "mine"):
        with source_lock(warehouse, "other"):
            pass
        with pytest.raises(WarehouseBusy), source_lock(warehouse, "mine"):
            pass


def test_an_overlay_hides_tables_and_leaves_them(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.write() as connection:
        connection.execute("INSERT INTO core.changed_files VALUES ('mine', 'a', 1), ('mine', 'b', 2)")
    query = "SELECT count(*) FROM core.changed_files"
    with warehouse.read() as connection:
        with overlay(connection) as views:
            assert connection.execute(query).fetchall() == [(2,)]
            views.make_view(
                "core.changed_files", f"SELECT * FROM {views.warehouse}.core.changed_files WHERE file = 'a'"
            )
            assert connection.execute(query).fetchall() == [(1,)]
            views.make_table("core.changed_files")
            connection.execute("INSERT INTO core.changed_files SELECT 'mine', 'c', i FROM range(5) AS t (i)")
            assert connection.execute(query).fetchall() == [(5,)]
        assert connection.execute(query).fetchall() == [(2,)]


class _Watched(Warehouse):
    """Notes, before each write, how many rows wait for it in files."""

    waiting: list[int]

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        self._look()
        with super().write() as connection:
            yield connection

    def transact(self, partition: str, function: Callable[[duckdb.DuckDBPyConnection], Any]) -> Any:
        if self.lake is not None:  # a file's are written by `write`
            self._look()
        return super().transact(partition, function)

    def _look(self) -> None:
        files = (self.staging / "mine").glob("*.parquet")
        self.waiting.append(sum(pl.read_parquet(file).height for file in files))


def test_rows_of_a_query_are_computed_while_others_read(tmp_path: Path) -> None:
    """All of them are in a file when the warehouse is closed to readers; those of other sources stay."""
    warehouse = _Watched(tmp_path / "w.duckdb")
    warehouse.waiting = []
    with warehouse.write() as connection:
        connection.execute("INSERT INTO core.changed_files SELECT unnest(['mine', 'other']), 'before', 0")
    query = "SELECT $source AS source, 'f' AS file, unnest([1, 2, 3]) AS from_s"
    for _ in range(2):
        assert replace_rows_of_query(warehouse, "core.changed_files", "mine", query) == 3
    assert warehouse.waiting == [0, 3, 3]
    with warehouse.read() as connection:
        rows = connection.execute("SELECT * FROM core.changed_files ORDER BY ALL").fetchall()
    assert rows == [("mine", "f", 1), ("mine", "f", 2), ("mine", "f", 3), ("other", "before", 0)]


@pytest.mark.parametrize(("asset", "rows"), [(trace_health, 20), (job_features, 9)])
def test_assets_compute_while_others_read(tmp_path: Path, asset: dg.AssetsDefinition, rows: int) -> None:
    """A health report of two million jobs kept readers out for nine seconds."""
    log = tmp_path / "log"
    log.write_text("".join(ended(job, job, job + 10, 90_000 + job) for job in range(9)))
    warehouse = _Watched(tmp_path / "w.duckdb")
    warehouse.waiting = []
    update_raw_log(warehouse, Source("mine", "pbs", log))
    write_jobs(warehouse, "mine")
    asset(dg.build_asset_context(partition_key="mine"), warehouse=warehouse)
    assert warehouse.waiting[-1] == rows
