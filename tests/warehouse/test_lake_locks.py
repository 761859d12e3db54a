"""Names of locks and texts in statements. tests/warehouse/test_lake_door.py takes real locks."""

from __future__ import annotations

import gc
import os
import weakref

import duckdb
import pytest

from warehouse.lake_locks import ALL, COMMIT, GATE, close, key_of, literal, name_this_process


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
