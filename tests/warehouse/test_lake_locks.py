"""Tests of warehouse: lake_locks, lake_place."""

from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path

import duckdb
import pytest

from warehouse.errors import WarehouseError
from warehouse.lake_locks import ALL, COMMIT, GATE, close, key_of, literal, name_this_process
from warehouse.lake_place import LakePlace, lake_of_text

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
