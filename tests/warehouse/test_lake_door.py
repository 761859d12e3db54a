"""What only a lake has: writers side by side, conflicts, a catalogue that can be lost, and its upkeep. `make test-lake` runs these."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import duckdb
import polars as pl
import pytest

import sql
from tests.lake.doors import argument_of, new_lake, server_of_tests
from tests.lake.server import Server
from tests.shared import size
from warehouse import (
    LakePlace,
    NotCommitted,
    NoWarehouse,
    Warehouse,
    WarehouseError,
    confined,
    door,
    extensions,
    lake_of_environment,
    replace_partition,
    replace_partitions,
)
from warehouse.lake_door import LakeDoor
from warehouse.lake_place import DATA, PLACE, lake_of_text, scrubbed
from warehouse.schema import column_comments, relation_comment
from warehouse.upkeep import tidy_tables

COUNTS = pl.DataFrame({"file": ["f"] * 20, "outcome": ["kept"] * 20, "reason": ["x"] * 20, "lines": range(20)})
"""More rows than DuckLake keeps in its catalogue."""
NUMBERS = count(1)


@pytest.fixture(scope="module")
def server() -> Server:
    found = server_of_tests()
    if found is None:
        pytest.skip("needs PostgreSQL: make test-lake runs it")
    return found


@pytest.fixture
def empty(server: Server, tmp_path: Path) -> Iterator[LakePlace]:
    """A place whose catalogue and folder are empty."""
    name = f"own_{os.getpid()}_{next(NUMBERS)}"
    server.execute(f"CREATE DATABASE {name}")
    (tmp_path / "data").mkdir()
    yield LakePlace(f"dbname={name} {server.words}", str(tmp_path / "data"), tmp_path / "home")
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def lake(server: Server, tmp_path: Path) -> Iterator[Warehouse]:
    """A lake whose tables are empty."""
    with new_lake(tmp_path) as made:
        yield made


def rows(warehouse: Warehouse) -> list[tuple[str, int]]:
    with warehouse.read() as connection:
        query = "SELECT source, count(*) FROM raw.line_counts GROUP BY ALL ORDER BY ALL"
        return connection.execute(query).fetchall()


FIRST = """
import sys
import polars as pl
from tests.lake.doors import warehouse_of
from warehouse import replace_partitions
frame = pl.DataFrame({"file": ["f"], "outcome": ["kept"], "reason": ["x"], "lines": [1]})
replace_partitions(warehouse_of(sys.argv[1]), sys.argv[2], {"raw.line_counts": frame})
"""


def test_two_that_make_the_lake_at_once(empty: LakePlace) -> None:
    with pytest.raises(NoWarehouse, match="no warehouse yet"), Warehouse(empty).read():
        pass
    assert not Warehouse(empty).exists()
    argument = argument_of(Warehouse(empty))
    both = [subprocess.Popen([sys.executable, "-c", FIRST, argument, name]) for name in "ab"]
    assert [process.wait(timeout=300) for process in both] == [0, 0]
    assert rows(Warehouse(empty)) == [("a", 1), ("b", 1)]


def test_comments_are_those_of_the_files(lake: Warehouse) -> None:
    with lake.read() as connection:
        columns = connection.execute(
            "SELECT schema_name || '.' || table_name, column_name, comment FROM duckdb_columns()"
        )
        of_columns = {(table, column): comment for table, column, comment in columns.fetchall()}
        views = connection.execute(
            "SELECT schema_name || '.' || view_name, comment FROM duckdb_views() WHERE NOT internal"
        )
        of_views = dict(views.fetchall())
    for name in sql.names("tables"):
        for column, comment in column_comments(sql.load(name)).items():
            assert of_columns[name, column] == comment, f"{name}.{column}"
    for name in sql.names("views"):
        text = sql.load(name)
        lines = [relation_comment(text), *(f"{key}: {comment}" for key, comment in column_comments(text).items())]
        assert of_views[name].splitlines() == lines


def test_a_conflict_runs_the_whole_transaction_again(lake: Warehouse) -> None:
    other, calls = Warehouse(lake.place), []

    def write(connection: duckdb.DuckDBPyConnection) -> int:
        calls.append(1)
        replace_partition(connection, "raw.line_counts", "a", COUNTS)
        if len(calls) == 1:  # another machine comes first
            replace_partitions(other, "b", {"raw.line_counts": COUNTS})
        return len(calls)

    replace_partitions(lake, "b", {"raw.line_counts": COUNTS})
    assert lake.transact("a", write) == 2
    assert (lake.conflicts, other.conflicts) == (1, 0)
    assert rows(lake) == [("a", 20), ("b", 20)]


def test_after_a_number_of_conflicts_it_says_so(lake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that takes no locks of ours comes first each time."""
    monkeypatch.setattr(door, "ATTEMPTS", 3)
    monkeypatch.setattr(door, "ALONE_AFTER", 2)
    monkeypatch.setattr(door, "FIRST_WAIT_S", 0.0)

    def write(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("INSERT INTO core.changed_files VALUES ('a', 'f', 1)")
        foreign = lake._connect(read_only=False, deadline=0.0)
        foreign.execute("INSERT INTO core.changed_files VALUES ('b', 'f', 1); DELETE FROM core.changed_files")
        foreign.close()

    with pytest.raises(
        NotCommitted, match=r"another writer changed the same table first. Nothing was written. Try again"
    ):
        lake.transact("a", write)
    assert lake.conflicts == 2


def test_writers_of_one_partition_follow_one_another(lake: Warehouse) -> None:
    """DuckLake sees no conflict between two that insert into an empty table: both sets of rows would be there."""
    seen: list[int] = []

    def write() -> None:
        def replace(connection: duckdb.DuckDBPyConnection) -> None:
            ((stored,),) = connection.execute("SELECT count(*) FROM raw.line_counts").fetchall()
            seen.append(stored)
            replace_partition(connection, "raw.line_counts", "a", COUNTS)

        Warehouse(lake.place).transact("a", replace)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(lake) == [("a", 20)] and seen[0] == 0 and set(seen[1:]) == {20}


def test_readers_wait_for_nobody(lake: Warehouse) -> None:
    reader = Warehouse(lake.place, timeout_s=0.0)
    with lake.write() as connection:
        replace_partition(connection, "raw.line_counts", "a", COUNTS)
        assert rows(reader) == []
    assert rows(reader) == [("a", 20)]


def test_a_writer_that_lost_its_session_does_not_commit(server: Server, lake: Warehouse) -> None:
    def write(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("INSERT INTO core.changed_files VALUES ('a', 'f', 1)")
        if not ended:
            database = lake.lake.catalogue.split()[0].partition("=")[2] if lake.lake else ""
            server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
            ended.append(1)

    ended: list[int] = []
    lake.transact("a", write)
    with lake.read() as connection:
        assert connection.execute("SELECT count(*) FROM core.changed_files").fetchall() == [(1,)]
    assert lake.conflicts == 1


def test_a_commit_whose_answer_is_lost_is_kept(server: Server, lake: Warehouse) -> None:
    """DuckLake takes the commit for failed, and would remove its files."""
    assert lake.lake is not None
    replace_partitions(lake, "a", {"raw.line_counts": COUNTS})
    with server.one_lost_answer(lake.lake.catalogue.split()[0].partition("=")[2]) as ended:
        replace_partitions(lake, "b", {"raw.line_counts": COUNTS})
    assert ended == ["t"] and lake.conflicts == 1
    assert rows(lake) == [("a", 20), ("b", 20)]
    tidy_tables(lake, kept_days=0)
    assert rows(lake) == [("a", 20), ("b", 20)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("dbname=nowhere {words}", r'database "nowhere" does not exist.*Check TRACEHOUSE_WAREHOUSE'),
        ("dbname=x host=127.0.0.1 port=1", r"Connection refused.*that PostgreSQL runs there"),
        ("dbnam=x", r'invalid connection option "dbnam"'),
        ("dbname=postgres host={folder} port={port} user=stranger", r'role "stranger" does not exist.*PGPASSFILE'),
    ],
)
def test_a_wrong_place_is_said_in_one_line(server: Server, tmp_path: Path, words: str, says: str) -> None:
    catalogue = words.format(words=server.words, folder=server.folder, port=server.port)
    for opening in ("read", "write"):
        wrong = Warehouse(LakePlace(catalogue, str(tmp_path), tmp_path))
        with pytest.raises(WarehouseError, match=says) as raised, getattr(wrong, opening)():
            pass
        assert "\n" not in str(raised.value) and "Traceback" not in str(raised.value)


def test_a_missing_or_another_data_folder(lake: Warehouse, tmp_path: Path) -> None:
    assert lake.lake is not None
    gone = Warehouse(LakePlace(lake.lake.catalogue, str(tmp_path / "not-mounted"), tmp_path))
    with pytest.raises(WarehouseError, match=r"not-mounted: there is no such folder.*Mount it"), gone.read():
        pass
    assert not (tmp_path / "not-mounted").exists()
    (tmp_path / "other").mkdir()
    other = Warehouse(LakePlace(lake.lake.catalogue, str(tmp_path / "other"), tmp_path))
    with (
        pytest.raises(WarehouseError, match=r"its tables are in .*/tables/, and TRACEHOUSE_WAREHOUSE_DATA says"),
        other.read(),
    ):
        pass


def test_an_empty_folder_of_tables_may_be_gone(lake: Warehouse) -> None:
    """As after a restore of the catalogue alone. A confined connection could not make it."""
    assert lake.lake is not None and not Path(lake.lake.tables).exists()
    with confined():
        replace_partitions(lake, "a", {"raw.line_counts": COUNTS})
    assert rows(lake) == [("a", 20)]


def test_a_newer_lake_is_refused_and_left_as_it_is(lake: Warehouse) -> None:
    with lake.write() as connection:
        connection.execute("UPDATE core.schema_version SET version = version + 5")
    for opening in (lake.read, lake.write):
        with (
            pytest.raises(WarehouseError, match=r"and this tracehouse knows versions 1 to.*Update tracehouse"),
            opening(),
        ):
            pass
    with pytest.raises(WarehouseError, match=r"Update tracehouse"):
        replace_partitions(lake, "a", {"raw.line_counts": COUNTS})


def test_missing_extensions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extensions, "wheel_file", lambda name: None)
    monkeypatch.setenv("HOME", str(tmp_path))
    place = LakePlace("dbname=x", str(tmp_path), tmp_path)
    with (
        pytest.raises(WarehouseError, match=r"needs DuckDB's extensions.*INSTALL ducklake.*Without: pip install"),
        Warehouse(place).read(),
    ):
        pass


@pytest.mark.parametrize(
    ("text", "data", "says"),
    [
        ("postgres://db", "/x", "is no place of a warehouse. Write 'ducklake:postgres:dbname=NAME"),
        ("ducklake:postgres:", "/x", "is no place of a warehouse"),
        ("ducklake:postgres:dbname=x", "", "TRACEHOUSE_WAREHOUSE_DATA is not set. Set it to the folder"),
        ("ducklake:postgres:dbname=x", "data", "no absolute path"),
        ("ducklake:postgres:dbname=x", "az://logs", "no address of a bucket (s3://, gs://"),
        ("ducklake:postgres:dbname=x password=sesame", "/x", "holds a password. Take it out: set PGPASSWORD"),
        ("ducklake:postgres:postgresql://me:sesame@db/x", "/x", "holds a password"),
        ("ducklake:postgres:dbname=x password='se same'", "/x", "holds a password"),
    ],
)
def test_places_that_are_none(text: str, data: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACE, text)
    monkeypatch.setenv(DATA, data)
    with pytest.raises(WarehouseError) as raised:
        lake_of_environment(tmp_path)
    assert says in str(raised.value) and "sesame" not in str(raised.value) and "se same" not in str(raised.value)


def test_without_the_variable_the_warehouse_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLACE, raising=False)
    assert lake_of_environment(tmp_path) is None
    place = lake_of_text("ducklake:postgres:dbname=x", "s3://bucket/lake", tmp_path)
    assert (place.tables, place.artefacts) == ("s3://bucket/lake/tables/", tmp_path)


def test_passwords_are_taken_out_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "open-sesame")
    text = "dbname=x password=a1 sslpassword='b 2' postgresql://me:c3@db/x open-sesame"
    assert scrubbed(text) == "dbname=x password=*** sslpassword=*** postgresql://me:***@db/x ***"


def test_tls_and_passwords(server: Server, lake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's port takes nobody without TLS, and nobody without the password, which no message holds."""
    assert lake.lake is not None
    user = f"tls_{os.getpid()}"
    server.execute(f"CREATE ROLE {user} LOGIN SUPERUSER PASSWORD 'open-sesame'")
    certificate = Path(lake.lake.folder.parent / "server.crt")
    certificate.write_text(server.certificate())
    database = lake.lake.catalogue.split()[0]

    def opened(options: str) -> list[tuple[str, int]]:
        words = f"{database} host=127.0.0.1 port={server.port} user={user} {options}"
        return rows(Warehouse(LakePlace(words, lake.lake.data if lake.lake else "", certificate.parent)))

    monkeypatch.setenv("PGPASSWORD", "open-sesame")
    assert opened("sslmode=require") == opened(f"sslmode=verify-full sslrootcert={certificate}") == []
    with pytest.raises(WarehouseError, match=r"no encryption.*Check TRACEHOUSE_WAREHOUSE"):
        opened("sslmode=disable")
    other = certificate.with_name("other.crt")
    subprocess.run(
        [
            "openssl",
            "req",
            "-new",
            "-x509",
            "-nodes",
            "-newkey",
            "rsa:2048",
            "-subj",
            "/CN=other",
            "-keyout",
            "/dev/null",
            "-out",
            str(other),
        ],
        check=True,
        capture_output=True,
    )
    with pytest.raises(WarehouseError, match=r"certificate verify failed"):
        opened(f"sslmode=verify-full sslrootcert={other}")
    passwords = certificate.with_name("passwords")
    passwords.write_text("*:*:*:*:open-sesame\n")
    passwords.chmod(0o600)
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    assert opened("sslmode=require") == []
    monkeypatch.setenv("PGPASSWORD", "wrong-sesame")
    with pytest.raises(WarehouseError, match=r"password authentication failed") as raised:
        opened("sslmode=require")
    assert "sesame" not in str(raised.value)
    server.execute(f"DROP ROLE {user}")


def files_of(lake: Warehouse) -> tuple[int, int]:
    """How many files the tables have, and their bytes."""
    assert lake.lake is not None
    sizes = [path.stat().st_size for path in Path(lake.lake.tables).rglob("*.parquet")]
    return len(sizes), sum(sizes)


def test_upkeep_keeps_the_size_over_many_replaced_partitions(lake: Warehouse) -> None:
    connection = lake._connect(read_only=False, deadline=0.0)
    sizes = []
    for step in range(size(60, 1000)):
        connection.execute("BEGIN")
        replace_partition(connection, "raw.line_counts", f"source-{step % 4}", COUNTS)
        connection.execute("COMMIT")
        if step % size(20, 100) == size(19, 99):
            done = tidy_tables(lake, kept_days=0)
            assert done.snapshots >= 10 and done.removed >= 10
            sizes.append(files_of(lake))
    connection.close()
    assert rows(lake) == [(f"source-{k}", 20) for k in range(4)]
    assert len(sizes) >= 3 and max(sizes) == min(sizes), sizes


def test_upkeep_removes_what_killed_runs_have_left_and_nothing_that_is_read(lake: Warehouse) -> None:
    assert lake.lake is not None
    replace_partitions(lake, "a", {"raw.line_counts": COUNTS})
    orphan = Path(lake.lake.tables) / "raw" / "line_counts" / "ducklake-orphan.parquet"
    orphan.write_bytes(b"half a file")
    with lake.read() as connection:
        connection.execute("BEGIN")
        before = connection.execute("SELECT count(*) FROM raw.line_counts").fetchall()
        replace_partitions(Warehouse(lake.place), "a", {"raw.line_counts": COUNTS.head(15)})
        done = tidy_tables(Warehouse(lake.place))
        assert (done.snapshots, done.removed) == (0, 0), "they are younger than a reader may need"
        assert connection.execute("SELECT count(*) FROM raw.line_counts").fetchall() == before
    assert done.orphans == 1 and not orphan.exists()
    assert rows(lake) == [("a", 15)]


def test_a_breakdown_of_duckdb_is_tried_again(tmp_path: Path) -> None:
    place = LakePlace("dbname=x", str(tmp_path), tmp_path)
    with (
        pytest.raises(NotCommitted, match=r"DuckDB broke down \(index 0\).*Nothing was written"),
        LakeDoor(place).faults(),
    ):
        raise duckdb.InternalException("index 0\nStack Trace:")


def test_a_file_needs_no_upkeep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from warehouse.file_door import FileDoor

    monkeypatch.setattr(door, "door_of", FileDoor)  # also where tests use lakes
    with pytest.raises(WarehouseError, match="a file needs no tidying"):
        tidy_tables(Warehouse(tmp_path / "w.duckdb"))
