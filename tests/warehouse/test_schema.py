"""Every table and column explains itself in the database, and a changed definition is taken up."""

from __future__ import annotations

from pathlib import Path

import pytest

import sql
from warehouse import Warehouse, first_row
from warehouse.schema import SCHEMAS, column_comments, relation_comment, relations


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
    assert row == ("start minus submission, seconds; of the last attempt, where a job was requeued",)


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
