"""Tests of warehouse: lake_locks, lake_place, schema, upkeep.

Every table and column explains itself in the database, and a changed definition is taken up.

Upkeep of a lake is tested with a lake in tests/warehouse/test_lake_door.py.
"""

from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path

import duckdb
import pytest

import sql
from warehouse import Warehouse, WarehouseError, first_row
from warehouse.lake_locks import ALL, COMMIT, GATE, close, key_of, literal, name_this_process
from warehouse.lake_place import LakePlace, lake_of_text
from warehouse.schema import SCHEMAS, column_comments, relation_comment, relations
from warehouse.upkeep import Tidied, tidy_tables


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    made = Warehouse(tmp_path / "w.duckdb")
    with made.write():
        pass
    return made


def test_every_table_view_and_column_has_a_comment(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        bare_columns = connection.execute(
            "SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
        ).fetchall()
        bare_tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE comment IS NULL "
            "UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL"
        ).fetchall()
        schemas = connection.execute("SELECT DISTINCT schema_name FROM duckdb_tables()").fetchall()
    assert bare_columns == []
    assert bare_tables == []
    assert {name for (name,) in schemas} == set(SCHEMAS)


def test_comments_in_the_database_are_those_of_the_files(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        row = first_row(
            connection,
            "SELECT comment FROM duckdb_columns() WHERE schema_name = 'core' AND table_name = 'jobs' "
            "AND column_name = 'wait_s'",
        )
    assert row == (
        "start minus submission of the last attempt, seconds; of a job that left the queue without a start, end minus submission",
    )


def test_a_changed_comment_or_view_is_taken_up(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute("COMMENT ON COLUMN core.jobs.wait_s IS 'older'")
        connection.execute("UPDATE core.schema_version SET fingerprint = 'older'")
    with warehouse.write() as connection:
        row = first_row(connection, "SELECT count(*) FROM duckdb_columns() WHERE comment = 'older'")
    assert row == (0,)


def test_every_name_has_one_commented_statement() -> None:
    for name in sql.names():
        statement = sql.load(name)
        assert relation_comment(statement), f"{name} does not begin with a comment"
        assert statement.rstrip().rstrip(";").count(";") == sum(
            line.partition("--")[2].count(";") for line in statement.splitlines()
        ), f"{name} holds more than one statement"


def test_relations_are_created_tables_first() -> None:
    names = relations()
    assert {"core.jobs", "marts.leaderboard", "marts.waits"} <= set(names)
    assert names.index("marts.waits") > names.index("replay.schedules")
    assert column_comments(sql.load("marts.waits"))["p95_wait_s"] == "95th percentile of the wait, seconds"


# --- upkeep


def test_a_file_needs_none(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="a file needs no tidying"):
        tidy_tables(Warehouse(tmp_path / "x.duckdb"))


def test_it_says_what_was_done() -> None:
    assert str(Tidied(1200, 3, 4, 5)) == "1,200 files merged, 3 snapshots expired, 4 old files and 5 orphans removed"


# --- lake locks


# lake_locks: Names of locks and texts in statements. tests/warehouse/test_lake_door.py takes real locks.


def test_each_name_has_its_number() -> None:
    keys = {key_of(name) for name in (GATE, ALL, COMMIT, "kth-sp2", "ctc-sp2")}
    assert len(keys) == 5 and all(0 <= key < 1 << 63 for key in keys)
    assert key_of(GATE) == key_of("gate")


def test_a_text_in_a_statement() -> None:
    assert literal("host=db password='x'") == "'host=db password=''x'''"


def test_sessions_carry_the_number_of_their_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGAPPNAME", "")
    name_this_process()
    assert os.environ["PGAPPNAME"].endswith(f"process {os.getpid()}")


class Connection:
    """Notes whether it was closed, and may fail when it is rolled back."""

    def __init__(self, error: duckdb.Error | None) -> None:
        self.error, self.closed = error, False

    def execute(self, statement: str) -> None:
        assert statement == "ROLLBACK"
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("error", [None, duckdb.TransactionException("no transaction is active")])
def test_a_connection_is_rolled_back_and_closed(error: duckdb.Error | None) -> None:
    connection = Connection(error)
    close(connection)  # type: ignore[arg-type]
    assert connection.closed


@pytest.mark.parametrize("kind", [duckdb.FatalException, duckdb.InternalException])
def test_a_connection_that_broke_down_is_kept_and_not_closed(kind: type[duckdb.Error]) -> None:
    """DuckDB would abort the process."""
    connection = Connection(kind("database has been invalidated"))
    close(connection)  # type: ignore[arg-type]
    kept = weakref.ref(connection)
    del connection
    gc.collect()
    assert (still := kept()) is not None and not still.closed


# lake_place: Where a lake is. Places that are none are in tests/warehouse/test_lake_door.py.


def test_tables_and_models_of_a_folder_and_of_a_bucket(tmp_path: Path) -> None:
    shared = lake_of_text("ducklake:postgres:dbname=x host=db", "/srv/shared/", tmp_path)
    assert shared.name == "ducklake:postgres:dbname=x host=db"
    assert shared.tables == "/srv/shared/tables/" and shared.artefacts == Path("/srv/shared")
    bucket = LakePlace("dbname=x", "s3://bucket/logs", tmp_path)
    assert bucket.tables == "s3://bucket/logs/tables/" and bucket.artefacts == tmp_path and not bucket.is_folder


def test_a_password_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match=r"holds a password\. Take it out") as error:
        LakePlace("dbname=x password=secret", "/srv", tmp_path)
    assert "secret" not in str(error.value)
