"""A warehouse copied into another has the same rows, comments and files; backups of lakes; and copies for readers of pseudonyms."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from assets.common.backup import back_up
from assets.common.restore import restore_backup
from assets.common.storage import artefacts_folder, open_warehouse, store_model
from assets.common.transfer import copy_warehouse, warehouse_at
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from tests.clocks import clock_ahead
from tests.lake.doors import argument_of, new_lake, server_of_tests
from tests.lake.server import Server, unprivileged
from tests.warehouse.released import RELEASED
from traces.catalogue.sources import Source
from warehouse import LakePlace, Warehouse, WarehouseError, door, file_door
from warehouse.copying import copied_tables
from warehouse.lake_door import LakeDoor
from warehouse.lake_place import DATA, PLACE
from warehouse.upkeep import tidy_tables


@pytest.fixture(autouse=True)
def _real_doors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is a file here, also where other tests use lakes."""
    doors = {LakePlace: LakeDoor}
    monkeypatch.setattr(door, "door_of", lambda place: doors.get(type(place), file_door.FileDoor)(place))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A warehouse in a file, into which a log was ingested, in a home with its model."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "file-home"))
    monkeypatch.delenv(PLACE, raising=False)
    made = open_warehouse()
    source = Source("mine", "slurm", RELEASED / "logs" / "slurm", procs=64)
    update_raw_log(made, source)
    write_jobs(made, "mine")
    name, digest = store_model("mine", "runtime-model", b"{}")
    with made.write() as connection:
        connection.execute("INSERT INTO core.changed_files VALUES ('mine', ?, 7)", [f"{name} {digest}"])
    return made


@pytest.fixture
def server() -> Server:
    found = server_of_tests()
    if found is None:
        pytest.skip("needs PostgreSQL: make test-lake runs it")
    return found


@pytest.fixture
def lake(server: Server, tmp_path: Path) -> Iterator[Warehouse]:
    with new_lake(tmp_path) as made:
        yield made


def content(warehouse: Warehouse) -> dict[str, pl.DataFrame]:
    with warehouse.read() as connection:
        return {name: connection.sql(f"FROM {name} ORDER BY ALL").pl() for name in copied_tables()}


def comments(warehouse: Warehouse) -> list[tuple[str, ...]]:
    with warehouse.read() as connection:
        return connection.execute(
            "SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal UNION ALL "
            "SELECT schema_name, table_name, '', comment FROM duckdb_tables() ORDER BY ALL"
        ).fetchall()


def assert_same(first: dict[str, pl.DataFrame], second: dict[str, pl.DataFrame]) -> None:
    assert all(rows.equals(second[name]) for name, rows in first.items()) and first.keys() == second.keys()


def use(lake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lake.lake is not None
    monkeypatch.setenv(PLACE, lake.name)
    monkeypatch.setenv(DATA, lake.lake.data)


def test_from_a_file_to_a_lake_and_back(file: Warehouse, lake: Warehouse, tmp_path: Path) -> None:
    before = content(file)
    copied = copy_warehouse(file, lake)
    assert copied.rows["core.jobs"] == before["core.jobs"].height > 5 and copied.files == 1
    assert_same(content(lake), before)
    with pytest.raises(WarehouseError, match=r"is not empty .*has rows.*--replace.*Nothing was changed"):
        copy_warehouse(file, lake)
    assert copy_warehouse(file, lake, replace=True).files == 0
    back = warehouse_at(str(tmp_path / "back" / "w.duckdb"), "")
    copy_warehouse(lake, back)
    assert_same(content(back), before)
    assert comments(back) == comments(file)
    models = [sorted(path.name for path in (each.artefacts / "models").rglob("*.json")) for each in (file, lake, back)]
    assert models[0] == models[1] == models[2] and len(models[0]) == 1


def test_files_to_files(file: Warehouse, tmp_path: Path) -> None:
    copy = warehouse_at(str(tmp_path / "copy.duckdb"), "")
    copy_warehouse(file, copy)
    assert_same(content(copy), content(file))
    with pytest.raises(WarehouseError, match="cannot be copied into itself"):
        copy_warehouse(file, file)
    with pytest.raises(WarehouseError, match="there is no warehouse to copy"):
        copy_warehouse(warehouse_at(str(tmp_path / "none.duckdb"), ""), copy)
    with pytest.raises(WarehouseError, match="is no place of a warehouse"):
        warehouse_at("postgresql://db", "")


COPY = """
import os, sys
from pathlib import Path
import warehouse.copying as copying
from assets.common.transfer import copy_warehouse
from tests.lake.doors import warehouse_of
copy_table = copying._copy_table
def die(former, made, name, change):
    rows = copy_table(former, made, name, change)
    if name == "core.jobs":
        os.kill(os.getpid(), 9)
    return rows
copying._copy_table = die
copy_warehouse(warehouse_of(sys.argv[1]), warehouse_of(sys.argv[2]))
"""


def test_a_copy_that_is_killed_leaves_nothing_and_can_be_run_again(file: Warehouse, lake: Warehouse) -> None:
    killed = subprocess.run([sys.executable, "-c", COPY, argument_of(file), argument_of(lake)], check=False)
    assert killed.returncode == -9
    assert all(not rows.height for rows in content(lake).values())
    copy_warehouse(file, lake)
    assert_same(content(lake), content(file))
    tidy_tables(lake)
    assert_same(content(lake), content(file))


def test_backup_drop_restore(
    file: Warehouse, lake: Warehouse, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_warehouse(file, lake)
    before = content(lake)
    use(lake, monkeypatch)
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "lake-home"))
    (tmp_path / "lake-home" / "warehouse" / "data").mkdir(parents=True)
    done = back_up(tmp_path / "archive.tar.zst")
    assert done.manifest.models == 1
    with new_lake(tmp_path) as other:  # the first is lost, catalogue and data
        use(other, monkeypatch)
        monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "other-home"))
        restore_backup(tmp_path / "archive.tar.zst")
        assert_same(content(open_warehouse()), before)
        assert len(list((artefacts_folder() / "models").rglob("*.json"))) == 1
        with pytest.raises(WarehouseError, match="is not empty"):
            restore_backup(tmp_path / "archive.tar.zst")
        restore_backup(tmp_path / "archive.tar.zst", replace=True)
        assert_same(content(open_warehouse()), before)
    monkeypatch.delenv(PLACE)
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "as-a-file"))
    restore_backup(tmp_path / "archive.tar.zst")
    assert_same(content(open_warehouse()), before)


def test_readers_of_pseudonyms_cannot_open_the_other(
    file: Warehouse, lake: Warehouse, server: Server, tmp_path: Path
) -> None:
    """Neither by PostgreSQL, nor in the file system: the rows are files."""
    copy_warehouse(file, lake)
    names = set(content(file)["core.jobs"]["user_name"].drop_nulls())
    assert names and not any(name.startswith("user-") for name in names)
    with new_lake(tmp_path) as shared:
        copied = copy_warehouse(lake, shared, pseudonyms=True)
        assert copied.files == 0 and copied.rows["raw.slurm_jobs"] == 0
        jobs = content(shared)["core.jobs"]
        assert jobs.height == content(lake)["core.jobs"].height
        assert all(name.startswith("user-") for name in jobs["user_name"].drop_nulls())
        text = b"".join(path.read_bytes() for path in (tmp_path / _name(shared)).rglob("*") if path.is_file())
        assert not any(name.encode() in text for name in names if len(name) > 3)
        reader = f"reader_{os.getpid()}"
        server.execute(f"CREATE ROLE {reader} LOGIN")
        server.execute(f"REVOKE CONNECT ON DATABASE {_name(lake)} FROM PUBLIC")
        server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}", _name(shared))
        as_reader = f"dbname={_name(shared)} host={server.folder} port={server.port} user={reader}"
        opened = Warehouse(LakePlace(as_reader, str(tmp_path / _name(shared)), tmp_path))
        assert content(opened)["core.jobs"].equals(jobs)
        other = as_reader.replace(_name(shared), _name(lake))
        with pytest.raises(WarehouseError, match="permission denied for database"):
            content(Warehouse(LakePlace(other, str(tmp_path / _name(lake)), tmp_path)))
        (tmp_path / _name(lake)).chmod(0o700)
        if os.geteuid() == 0:
            listed = subprocess.run(
                [*unprivileged(), "ls", str(tmp_path / _name(lake))], capture_output=True, check=False
            )
            assert listed.returncode and b"Permission denied" in listed.stderr
        server.execute(f"REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM {reader}", _name(shared))
        server.execute(f"DROP ROLE {reader}")


def _name(lake: Warehouse) -> str:
    assert lake.lake is not None
    return lake.lake.catalogue.split()[0].partition("=")[2]


MAKE = """
import sys
from pathlib import Path
from assets.common.transfer import copy_warehouse
from warehouse import Warehouse
made = Warehouse(Path(sys.argv[1]) / "new.duckdb")
with made.write() as connection:
    connection.execute("INSERT INTO core.changed_files VALUES ('mine', 'f', 1)")
copy_warehouse(made, Warehouse(Path(sys.argv[1]) / "old.duckdb"), older_duckdb=True)
"""


def test_a_file_of_a_newer_duckdb_under_an_older_one(tmp_path: Path) -> None:
    newer = Path(sys.prefix).with_name(".venv") / "bin" / "python"
    if newer.parent.parent == Path(sys.prefix) or not newer.exists():
        pytest.skip("needs two versions of DuckDB: make test-lake runs it")
    subprocess.run([str(newer), "-c", MAKE, str(tmp_path)], check=True)
    with (
        pytest.raises(
            WarehouseError, match=r"a newer DuckDB has written it than the .*Update DuckDB, or.*--older-duckdb"
        ) as raised,
        Warehouse(tmp_path / "new.duckdb").read(),
    ):
        pass
    assert "\n" not in str(raised.value)
    with Warehouse(tmp_path / "old.duckdb").read() as connection:
        assert connection.execute("FROM core.changed_files").fetchall() == [("mine", "f", 1)]


AHEAD = """
import sys, time
from datetime import datetime
import duckdb
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from pathlib import Path
from tests.lake.doors import warehouse_of
from tests.warehouse.released import RELEASED
from traces.catalogue.sources import Source
from warehouse.upkeep import tidy_tables
lake, now = warehouse_of(sys.argv[1]), float(sys.argv[2])
assert time.time() - now > 7000 and datetime.now().timestamp() - now > 7000
assert duckdb.execute("SELECT epoch(now())").fetchall()[0][0] - now > 7000
update_raw_log(lake, Source("mine", "slurm", RELEASED / "logs" / "slurm", procs=64))
write_jobs(lake, "mine")
print(tidy_tables(lake, kept_days=1 / 24).snapshots)
"""


def test_a_clock_two_hours_ahead_changes_no_result(file: Warehouse, lake: Warehouse, tmp_path: Path) -> None:
    """Neither the rows, nor what upkeep takes for old."""
    environment = os.environ | clock_ahead(tmp_path, 7200)
    command = [sys.executable, "-c", AHEAD, argument_of(lake), str(time.time())]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "0\n", "no snapshot is an hour old by the clock of PostgreSQL"
    with file.write() as connection:
        connection.execute("DELETE FROM core.changed_files")
    assert_same(content(lake), content(file))
