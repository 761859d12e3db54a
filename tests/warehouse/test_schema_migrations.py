"""Tests of warehouse: schema.

Warehouses of every released version are brought up to date with all their rows; others are refused and left as they are.
"""

from __future__ import annotations

import lzma
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

import sql
import warehouse.schema
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from tests.lake.doors import server_of_tests, unguarded
from tests.warehouse.released import RELEASED, make_warehouse, packed, versions, write_packed
from traces.catalogue.sources import Source
from warehouse import Warehouse, WarehouseError
from warehouse.schema import CURRENT_VERSION, columns_hash, stored_columns, table_columns

SOURCES = [Source(f"my{name}", name, RELEASED / "logs" / name, procs=64) for name in ("pbs", "slurm")]
OWN = {"raw.log_files": ["modified_ns", "settings", "version"], "core.schema_version": ["version", "fingerprint"]}
"""Columns that tell of the checkout and of the code, not of the log."""
GONE = {"policies.priority_keys": ["verdict", "bounded_slowdown_ratio", "wait_ratio"]}
"""Columns that a migration drops: the evaluation says so of the key on the site."""
COMPUTED_AGAIN = ("replay.window_scores", "marts.leaderboard", "replay.prediction_search")
"""Tables that a migration drops: the next evaluation computes what stands for the first two now, and searches are a study's."""


@pytest.fixture(params=versions())
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Warehouse:
    """A warehouse as a released version has left it."""
    make_warehouse(request.param, tmp_path / "w.duckdb")
    return Warehouse(tmp_path / "w.duckdb")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """All tables of a new warehouse into which the logs were ingested."""
    warehouse = Warehouse(tmp_path_factory.mktemp("fresh") / "fresh.duckdb")
    ingest(warehouse)
    return tables(warehouse)


def tables(warehouse: Warehouse) -> dict[str, pl.DataFrame]:
    """All tables, by name, without opening the warehouse by its door."""
    with unguarded(warehouse, read_only=True) as connection:
        names = connection.execute("SELECT schema_name || '.' || table_name FROM duckdb_tables()").fetchall()
        return {name: connection.sql(f"FROM {name} ORDER BY ALL").pl() for (name,) in names}


def ingest(warehouse: Warehouse) -> None:
    for source in SOURCES:
        update_raw_log(warehouse, source)
        write_jobs(warehouse, source.name)


def assert_jobs_like_fresh(warehouse: Warehouse, fresh: dict[str, pl.DataFrame]) -> None:
    """What was made of the logs is what this tracehouse makes of them."""
    found = tables(warehouse)
    for name in (name for name in fresh if name.startswith(("raw.", "core.")) and name != "core.schema_version"):
        ours = found[name].filter(pl.col("source").is_in([source.name for source in SOURCES])).drop(OWN.get(name, []))
        theirs = fresh[name].drop(OWN.get(name, []))
        assert ours.sort(pl.all()).equals(theirs.sort(pl.all())), name


def test_every_row_is_kept(released: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    before = tables(released)
    with released.read() as connection:  # a reader upgrades, too
        columns = {name: stored_columns(connection, name) for name in sql.names("tables")}
    after = tables(released)
    assert after.keys() == set(sql.names("tables")), "what is gone is dropped"
    assert columns == {name: table_columns(sql.load(name)) for name in sql.names("tables")}
    for name, rows in before.items():
        if name == "core.schema_version" or name in COMPUTED_AGAIN:
            continue
        kept = rows.drop([*OWN.get(name, []), *GONE.get(name, [])], strict=False)
        assert after[name].select(kept.columns).sort(pl.all()).equals(kept.sort(pl.all())), name
    assert sum(rows.height for name, rows in before.items() if name.endswith(("_events", "_versions"))) >= 3
    told = capsys.readouterr().err
    versions_before = before["core.schema_version"].get_column("version", default=pl.Series([1]))
    assert ("all rows are kept" in told) == (versions_before[0] < CURRENT_VERSION)
    with released.write():
        pass
    assert capsys.readouterr().err == "", "the second time there is nothing to do"


def test_an_upgraded_warehouse_is_like_a_fresh_one(released: Warehouse, fresh: dict[str, pl.DataFrame]) -> None:
    """Readers have become better since: they read the logs again."""
    ingest(released)
    assert_jobs_like_fresh(released, fresh)


def test_the_newest_release_has_the_tables_of_today(tmp_path: Path) -> None:
    """Else a definition has changed: it needs a file in sql/migrations, and the text of a warehouse of the new version."""
    assert versions() == list(range(1, CURRENT_VERSION + 1))
    make_warehouse(CURRENT_VERSION, tmp_path / "newest.duckdb")
    with Warehouse(tmp_path / "fresh.duckdb").write() as connection:
        today = columns_hash(connection)
    with unguarded(Warehouse(tmp_path / "newest.duckdb")) as connection:
        assert columns_hash(connection) == today


@pytest.mark.skipif(server_of_tests() is not None, reason="versions are packed from files")
def test_a_version_is_packed_again_as_it_was(tmp_path: Path) -> None:
    """So git sees no change. The packed bytes may differ between versions of the compressor, what is in them does not."""
    make_warehouse(CURRENT_VERSION, tmp_path / "w.duckdb")
    again = [tmp_path / "first.tar.xz", tmp_path / "second.tar.xz"]
    for file in again:
        write_packed(tmp_path / "w.duckdb", file)
    assert again[0].read_bytes() == again[1].read_bytes()
    assert lzma.decompress(again[0].read_bytes()) == lzma.decompress(packed(CURRENT_VERSION).read_bytes())


def test_a_new_column_of_jobs_is_filled_at_the_next_ingest(tmp_path: Path) -> None:
    """Also for jobs of a file that is gone: its records are in the warehouse."""
    older, logs = Warehouse(tmp_path / "w.duckdb"), tmp_path / "logs"
    shutil.copytree(RELEASED / "logs" / "pbs", logs)
    source = Source("mine", "pbs", logs, procs=64)
    update_raw_log(older, source)
    write_jobs(older, "mine")
    before = tables(older)["core.jobs"]
    with unguarded(older) as connection:  # as if an older version had no column `nodes`
        connection.execute("ALTER TABLE core.jobs DROP COLUMN nodes")
        connection.execute("UPDATE core.schema_version SET version = 1")
        connection.execute("UPDATE raw.log_files SET version = split_part(version, '/', 1) || '/jobs-of-then'")
    (logs / "20260301").unlink()
    with older.read() as connection:
        assert connection.execute("SELECT count(*), count(nodes) FROM core.jobs").fetchall() == [(12, 0)]
    update_raw_log(older, source)
    write_jobs(older, "mine")
    after = tables(older)["core.jobs"]
    assert after.equals(before) and after["nodes"].null_count() < 12


def test_a_newer_warehouse_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    newer = Warehouse(tmp_path / "w.duckdb")
    with newer.write() as connection:
        connection.execute("UPDATE core.schema_version SET version = version + 5")
    content = newer.path.read_bytes()
    for door in (newer.read, newer.write):
        with pytest.raises(WarehouseError, match=f"version {CURRENT_VERSION + 5}.*Update tracehouse"), door():
            pass
    assert newer.path.read_bytes() == content


def test_a_warehouse_before_the_first_release_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    make_warehouse(1, tmp_path / "w.duckdb")
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute("ALTER TABLE core.jobs DROP COLUMN gpus")
    content = (tmp_path / "w.duckdb").read_bytes()
    older = Warehouse(tmp_path / "w.duckdb")
    for door in (older.read, older.write):
        with pytest.raises(WarehouseError, match=r"before the first release.*Nothing was changed"), door():
            pass
    assert (tmp_path / "w.duckdb").read_bytes() == content


def test_a_reader_who_may_not_write_is_told_to_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_warehouse(1, tmp_path / "w.duckdb")
    older = Warehouse(tmp_path / "w.duckdb")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(older, "_exclusive_lock", refuse)  # the suite may run as root, who may write everything
    with pytest.raises(WarehouseError, match=r"older tracehouse.*Permission denied.*may write this file"), older.read():
        pass


@pytest.fixture
def rejects(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if raw.rejects of a next version had a renamed, a wider and a new column, which must not be empty."""
    text = sql.load("raw.rejects")
    next_text = (
        text.replace("    text VARCHAR", "    raw_text VARCHAR")
        .replace("    line BIGINT", "    line HUGEINT")
        .replace("    file VARCHAR", "    kind VARCHAR NOT NULL, -- new\n    file VARCHAR")
    )
    migration = (
        "ALTER TABLE raw.rejects RENAME COLUMN text TO raw_text; ALTER TABLE raw.rejects ADD COLUMN kind VARCHAR; "
        "UPDATE raw.rejects SET kind = 'line';"
    )
    load = sql.load
    monkeypatch.setattr(sql, "load", lambda name: next_text if name == "raw.rejects" else load(name))
    monkeypatch.setattr(sql, "migrations", lambda: {CURRENT_VERSION + 1: migration})
    for module in ("schema", "door"):
        monkeypatch.setattr(f"warehouse.{module}.CURRENT_VERSION", CURRENT_VERSION + 1)
    warehouse.schema.wanted.cache_clear()
    yield
    monkeypatch.undo()
    warehouse.schema.wanted.cache_clear()


def test_columns_are_renamed_widened_and_added(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    older = Warehouse(tmp_path / "w.duckdb")
    ingest(older)
    with older.read() as connection:
        (row,) = connection.execute("SELECT source, file, line, reason, text FROM raw.rejects").fetchall()
    request.getfixturevalue("rejects")
    with older.write() as connection:
        columns = [(name, kind) for name, kind, *_ in connection.execute("DESCRIBE raw.rejects").fetchall()]
        assert connection.execute("SELECT source, file, line, reason, raw_text FROM raw.rejects").fetchall() == [row]
        assert connection.execute("SELECT kind FROM raw.rejects").fetchall() == [("line",)]
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("UPDATE raw.rejects SET kind = NULL")
    assert [name for name, _ in columns][:3] == ["source", "kind", "file"] and ("line", "HUGEINT") in columns


def test_a_column_that_no_migration_mentions_is_not_lost(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = Warehouse(tmp_path / "w.duckdb")
    ingest(older)
    before = tables(older)
    request.getfixturevalue("rejects")
    monkeypatch.setattr(sql, "migrations", lambda: {})
    with (
        pytest.raises(
            WarehouseError, match=r"raw.rejects: no migration says what becomes of text.*Nothing was changed"
        ),
        older.write(),
    ):
        pass
    assert all(rows.equals(before[name]) for name, rows in tables(older).items())


def test_killed_in_the_middle_of_an_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_warehouse(1, tmp_path / "w.duckdb")
    older = Warehouse(tmp_path / "w.duckdb")
    before = tables(older)
    child = os.fork()
    if not child:
        adopt = warehouse.schema._adopt_definition

        def die_at_jobs(connection: duckdb.DuckDBPyConnection, name: str, statement: str) -> None:
            adopt(connection, name, statement)
            if name == "policies.policy_events":
                os._exit(9)

        monkeypatch.setattr(warehouse.schema, "_adopt_definition", die_at_jobs)
        with older.write():
            pass
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert all(rows.equals(before[name]) for name, rows in tables(older).items())
    with older.write():
        pass
    assert tables(older)["predictions.model_events"].equals(before["predictions.model_events"])
