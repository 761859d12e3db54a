"""Restoring: the old home or the new one, whatever happens; and what must be refused."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from assets.common import restore
from assets.common.archive import Manifest, describe_file, write_archive
from assets.common.backup import BACKUP_LOCK, back_up
from assets.common.journal import DATABASE, JOURNAL
from assets.common.restore import restore_backup
from assets.common.storage import data_folder, open_warehouse, read_model
from tests.kills import (
    REGISTRIES,
    file_operations,
    in_home,
    kill_restores,
    killed_at,
    make_small_home,
    state_of_home,
)
from tests.shared import size
from tests.warehouse.released import make_warehouse
from traces.catalogue.places import clusters_folder, local_catalogue_path, pseudonym_key_path
from warehouse import WarehouseBusy, file_lock
from warehouse.schema import CURRENT_VERSION


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a home, and an archive of it."""
    folder = tmp_path_factory.mktemp("saved")
    make_small_home(folder / "home", 70)
    with in_home(folder / "home"):
        back_up(folder / "a.tar.zst")
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def state_of(folder: Path) -> dict[str, str]:
    """Without the log, which is no part of a home, and the report, which is no part of an archive."""
    with in_home(folder):
        return {name: digest for name, digest in state_of_home().items() if "reports" not in name}


def archive_of(database: Path, target: Path, tables: int = 1) -> Path:
    """An archive with nothing but a warehouse."""
    listed = (describe_file(database, DATABASE, lambda _: None),)
    write_archive(target, Manifest("0.0.1", tables, "2026-03-01 00:00:00", listed), database.parent, lambda _: None)
    return target


def test_an_empty_home_gets_everything(home: Path, saved: Path) -> None:
    manifest = restore_backup(saved / "a.tar.zst")
    assert state_of(home) == state_of(saved / "home") and manifest.models == 4
    assert pseudonym_key_path().stat().st_mode & 0o777 == 0o600
    assert not [path for path in (*home.iterdir(), *data_folder().iterdir()) if ".restore" in path.name]
    others_may_read = (data_folder() / DATABASE).stat().st_mode & 0o777
    (home / "plain").touch()
    assert others_may_read == (home / "plain").stat().st_mode & 0o777
    with open_warehouse().read() as connection:
        assert connection.execute("SELECT count(*) FROM core.jobs").fetchall() == [(70,)]
        models = [connection.execute(f"SELECT file, sha256 FROM {table}").fetchall() for table in REGISTRIES]
    assert [read_model(*row) for (row,) in models] == [b"home 0", b"home 1", b"home 2", b"home 3"]


def test_clusters_come_back_and_another_one_of_a_name_is_not_lost(home: Path, tmp_path: Path) -> None:
    """They are imported from files that may be gone, and their users edit them."""
    make_small_home(home, 20)
    cluster, archive = clusters_folder() / "mine.toml", tmp_path / "a.tar.zst"
    cluster.parent.mkdir()
    cluster.write_text('name = "mine"')
    (cluster.parent / ".hidden.toml").write_text("no cluster")
    assert back_up(archive).manifest.holds("clusters/mine.toml")
    shutil.rmtree(home)
    restore_backup(archive)
    assert [path.name for path in clusters_folder().iterdir()] == [
        "mine.toml"
    ] and cluster.read_text() == 'name = "mine"'
    shutil.rmtree(home)
    cluster.parent.mkdir(parents=True)
    cluster.write_text('name = "other"')
    with pytest.raises(ValueError, match=r"is not empty: .*clusters/mine\.toml is there"):
        restore_backup(archive)
    assert cluster.read_text() == 'name = "other"' and not (data_folder() / DATABASE).exists()
    restore_backup(archive, replace=True)
    assert cluster.read_text() == 'name = "mine"'


def test_a_home_that_is_not_empty_needs_replace(home: Path, saved: Path) -> None:
    make_small_home(home, 20)
    before = state_of_home()
    with pytest.raises(
        ValueError, match=r"not empty: .*tracehouse\.duckdb is there\. Give --replace .*Nothing was changed"
    ):
        restore_backup(saved / "a.tar.zst")
    assert state_of_home() == before
    restore_backup(saved / "a.tar.zst", replace=True)
    assert state_of(home) == state_of(saved / "home")
    assert not (data_folder() / "reports").exists()  # it was of the warehouse that is gone


@pytest.mark.parametrize("place", ["pseudonym.key", "sources.local.toml", "warehouse/data/models/mine/old.json"])
def test_each_of_its_parts_makes_a_home_not_empty(home: Path, saved: Path, place: str) -> None:
    (home / place).parent.mkdir(parents=True)
    (home / place).write_text("other")
    with pytest.raises(ValueError, match=f"not empty: .*{place} is there"):
        restore_backup(saved / "a.tar.zst")
    assert state_of_home() == {place: state_of_home()[place]}
    assert not [path for path in (*home.iterdir(), *data_folder().iterdir()) if ".restore" in path.name]


def test_a_key_and_a_catalogue_that_are_the_same_do_not_matter(home: Path, saved: Path) -> None:
    home.mkdir()
    for name in ("pseudonym.key", "sources.local.toml"):
        shutil.copy(saved / "home" / name, home / name)
    restore_backup(saved / "a.tar.zst")
    assert state_of(home) == state_of(saved / "home")


def test_a_catalogue_elsewhere_is_restored_there(
    home: Path, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(tmp_path / "elsewhere" / "ours.toml"))
    restore_backup(saved / "a.tar.zst")
    assert local_catalogue_path().read_text() == (saved / "home" / "sources.local.toml").read_text()
    assert not (home / "sources.local.toml").exists()


def test_a_key_and_a_catalogue_that_the_archive_lacks_stay(home: Path, saved: Path, tmp_path: Path) -> None:
    archive = archive_of(saved / "home" / "warehouse" / "data" / DATABASE, tmp_path / "b.tar.zst", CURRENT_VERSION)
    make_small_home(home, 20)
    before = state_of_home()
    restore_backup(archive, replace=True)
    after = state_of_home()
    assert [after[name] for name in ("pseudonym.key", "sources.local.toml")] == [
        before[name] for name in ("pseudonym.key", "sources.local.toml")
    ]
    assert not [name for name in after if "models" in name]


def test_a_home_in_use_is_refused_at_once(home: Path, saved: Path) -> None:
    make_small_home(home, 20)
    before = state_of_home()
    for lock in (f"{DATABASE}.lock", ".mine.ingest.lock", BACKUP_LOCK):
        began = time.monotonic()
        with file_lock(data_folder() / lock), pytest.raises(WarehouseBusy, match="another writer"):
            restore_backup(saved / "a.tar.zst", replace=True)
        assert time.monotonic() - began < 5
    assert state_of_home() == before


def test_readers_keep_what_they_read(home: Path, saved: Path) -> None:
    make_small_home(home, 20)
    reader, writer = os.pipe()
    go, done = os.pipe()
    pid = os.fork()
    if pid == 0:
        count = 0
        try:
            with open_warehouse().read() as connection:
                os.write(writer, b"open")
                os.read(go, 4)
                count = connection.execute("SELECT count(*) FROM core.jobs").fetchall()[0][0]
        finally:
            os._exit(count)
    assert os.read(reader, 4) == b"open"
    restore_backup(saved / "a.tar.zst", replace=True)
    os.write(done, b"done")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 20
    with open_warehouse().read() as connection:
        assert connection.execute("SELECT count(*) FROM core.jobs").fetchall() == [(70,)]


def test_a_damaged_warehouse_can_be_replaced(home: Path, saved: Path) -> None:
    make_small_home(home, 20)
    (data_folder() / DATABASE).write_bytes(b"no database")
    (data_folder() / f"{DATABASE}.wal").write_bytes(b"of another")
    restore_backup(saved / "a.tar.zst", replace=True)
    assert state_of(home) == state_of(saved / "home")


def test_a_damaged_archive_leaves_the_home(home: Path, saved: Path, tmp_path: Path) -> None:
    make_small_home(home, 20)
    before = state_of_home()
    content = bytearray((saved / "a.tar.zst").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "b.tar.zst").write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        restore_backup(tmp_path / "b.tar.zst", replace=True)
    assert state_of_home() == before
    assert not [path for path in (*home.iterdir(), *data_folder().iterdir()) if ".restore" in path.name]


def test_an_archive_that_is_missing_makes_no_home(home: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        restore_backup(tmp_path / "missing")
    assert not home.exists()


def test_an_older_release_is_restored_and_then_upgraded(home: Path, tmp_path: Path) -> None:
    make_warehouse(1, tmp_path / DATABASE)
    restore_backup(archive_of(tmp_path / DATABASE, tmp_path / "a.tar.zst"))
    before = (data_folder() / DATABASE).read_bytes()
    assert before == (tmp_path / DATABASE).read_bytes()
    with open_warehouse().read() as connection:
        assert connection.execute("SELECT version FROM core.schema_version").fetchall() == [(CURRENT_VERSION,)]


def test_a_newer_release_is_refused(home: Path, saved: Path, tmp_path: Path) -> None:
    newer = archive_of(saved / "home" / "warehouse" / "data" / DATABASE, tmp_path / "a.tar.zst", CURRENT_VERSION + 1)
    with pytest.raises(ValueError, match=rf"versions 1 to {CURRENT_VERSION}\. Nothing was changed\. Update tracehouse"):
        restore_backup(newer)
    (tmp_path / DATABASE).write_bytes(b"no database")
    with pytest.raises(ValueError, match="its warehouse cannot be used"):
        restore_backup(archive_of(tmp_path / DATABASE, tmp_path / "b.tar.zst"))
    assert state_of_home() == {}


def test_a_disk_that_is_too_small_is_told_before_unpacking(
    home: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path, size_bytes: int) -> None:
        raise ValueError(f"{size_bytes} are too many")

    monkeypatch.setattr(restore, "require_space", full)
    with pytest.raises(ValueError, match=r"\d+ are too many"):
        restore_backup(saved / "a.tar.zst")
    assert state_of_home() == {}


def test_killed_at_any_moment_it_leaves_the_old_home_or_the_new_one(tmp_path: Path) -> None:
    outcome = kill_restores(tmp_path / "kills", size(12, 300))
    assert outcome.broken == [] and outcome.kills >= 8 and outcome.old


def test_killed_between_its_last_renames_the_next_reader_finishes_it(home: Path, saved: Path, tmp_path: Path) -> None:
    """The last operations on files, one by one: some come before the journal is written, most behind it."""

    def work() -> object:
        return restore_backup(saved / "a.tar.zst", replace=True)

    make_small_home(tmp_path / "old", 20)
    shutil.copytree(tmp_path / "old", home)
    operations = file_operations(work)
    finished = 0
    for operation in range(operations - 45, operations - 5, size(6, 1)):
        shutil.rmtree(home)
        shutil.copytree(tmp_path / "old", home)
        assert killed_at(work, operation)
        committed = (data_folder() / JOURNAL).exists()
        with open_warehouse().read() as connection:
            jobs = connection.execute("SELECT count(*) FROM core.jobs").fetchall()[0][0]
        assert jobs in ([70] if committed else [20, 70])
        assert state_of(home) == state_of(saved / "home" if jobs == 70 else tmp_path / "old")
        finished += committed
    assert finished >= 3
