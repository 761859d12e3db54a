"""Backups: consistent while others write, whole or not there, and saying what is not in them."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest

from assets.common import backup
from assets.common.archive import CATALOGUE, PSEUDONYM_KEY, Advance, ArchivedFile, unpack_archive
from assets.common.backup import back_up, require_space
from assets.common.journal import DATABASE, beside, unpacked_folder
from assets.common.storage import data_folder, open_warehouse, store_model
from tests.kills import REGISTRIES, in_home, kill_backups, make_small_home, state_of_home
from tests.shared import size
from traces.catalogue.places import local_catalogue_path, pseudonym_key_path
from warehouse import WarehouseBusy, WarehouseError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    make_small_home(tmp_path / "home", 20)
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def unpack(archive: Path, folder: Path) -> Path:
    unpack_archive(archive, folder, lambda _: None, lambda _: None)
    return folder


def count_rows(database: Path, table: str = "core.jobs") -> int:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]


def test_what_cannot_be_made_again_is_in_it(home: Path, tmp_path: Path) -> None:
    (data_folder() / "models" / "mine" / "model-1.checkpoint").write_text("half a training")
    (data_folder() / "models" / "mine" / ".model-1.json.77.part").write_text("half a file")
    done = back_up(tmp_path / "a.tar.zst")
    folder = unpack(tmp_path / "a.tar.zst", tmp_path / "new")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    models = {
        path.relative_to(data_folder()).as_posix() for path in (data_folder() / "models" / "mine").glob("model*.json")
    }
    assert names == {DATABASE, PSEUDONYM_KEY, CATALOGUE} | models and len(models) == 4
    assert (folder / PSEUDONYM_KEY).read_bytes() == pseudonym_key_path().read_bytes()
    assert (folder / CATALOGUE).read_bytes() == local_catalogue_path().read_bytes()
    assert (folder / DATABASE).read_bytes() == (data_folder() / DATABASE).read_bytes()
    assert done.size_bytes == (tmp_path / "a.tar.zst").stat().st_size and done.lost == []
    assert [count_rows(folder / DATABASE, table) for table in REGISTRIES] == [1, 1, 1, 1]
    assert not (data_folder() / ".backup").exists()


LEFT_WITH_A_JOURNAL = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("PRAGMA disable_checkpoint_on_shutdown")
connection.execute("INSERT INTO raw.line_counts (source, file, outcome, reason, lines) VALUES ('late', 'f', 'kept', 'why', 1)")
connection.close()
"""


def test_what_duckdb_has_only_in_its_journal_is_in_it(home: Path, tmp_path: Path) -> None:
    database = data_folder() / DATABASE
    before = count_rows(database, "raw.line_counts")
    subprocess.run([sys.executable, "-c", LEFT_WITH_A_JOURNAL, str(database)], check=True)
    assert database.with_name(f"{DATABASE}.wal").exists()
    state = state_of_home()
    back_up(tmp_path / "a.tar.zst")
    folder = unpack(tmp_path / "a.tar.zst", tmp_path / "new")
    assert count_rows(folder / DATABASE, "raw.line_counts") == before + 1
    assert not (folder / f"{DATABASE}.wal").exists()
    assert state_of_home() == state  # the home's own is as the killed writer has left it


def test_writers_wait_for_the_copy_alone_and_readers_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    copy_all, describe_file = backup.copy_files, backup.describe_file

    def write() -> None:
        with open_warehouse().write():
            happened.append("written")

    writer = threading.Thread(target=write)

    def copying(pairs: list[tuple[Path, Path]], advance: Advance) -> None:
        writer.start()
        with open_warehouse().read():
            happened.append("read")
        time.sleep(0.3)
        copy_all(pairs, advance)
        happened.append("copied")

    def hashing(path: Path, name: str, advance: Advance) -> ArchivedFile:
        writer.join()
        return describe_file(path, name, advance)

    monkeypatch.setattr(backup, "copy_files", copying)
    monkeypatch.setattr(backup, "describe_file", hashing)
    back_up(tmp_path / "a.tar.zst")
    assert happened == ["read", "copied", "written"]


WRITER = """
import sys
from pathlib import Path
from assets.common.storage import open_warehouse
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from traces.catalogue.sources import Source
for path in sorted(Path(sys.argv[1]).glob("*.swf")):
    update_raw_log(open_warehouse(), Source(path.stem, "swf", path))
    write_jobs(open_warehouse(), path.stem)
    print(path.stem, flush=True)
"""


def test_a_backup_during_an_ingest_holds_whole_files(home: Path, tmp_path: Path) -> None:
    for number in range(4):
        text = (home / "mine.swf").read_text()
        (tmp_path / f"log{number}.swf").write_text(text)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None and writer.stdout.readline() == "log0\n"
    archives = []
    while writer.poll() is None:
        archives.append(tmp_path / f"{len(archives)}.tar.zst")
        back_up(archives[-1])
    assert writer.wait() == 0 and archives
    sources = []
    for archive in archives:
        folder = unpack(archive, tmp_path / archive.stem)
        with duckdb.connect(str(folder / DATABASE), read_only=True) as connection:
            sources.append(connection.execute("SELECT count(DISTINCT source) FROM raw.log_files").fetchall()[0][0])
            for table in ("raw.swf_jobs", "core.jobs"):
                counts = connection.execute(f"SELECT DISTINCT count(*) FROM {table} GROUP BY source").fetchall()
                assert counts == [(20,)]
    assert sources == sorted(sources) and 2 <= sources[0] <= 5


def test_models_in_use_that_are_missing_are_named(home: Path, tmp_path: Path) -> None:
    kept, lost = store_model("mine", "kept", b"kept"), store_model("mine", "lost", b"lost")
    columns = "source, predictor, seed, runs, systems, file, sha256"
    with open_warehouse().write() as connection:
        for file, digest in (kept, lost):
            connection.execute(
                f"INSERT INTO predictions.remaining_time_models ({columns}) VALUES ('v', 'progress', 1, 1, 1, ?, ?)",
                [file, digest],
            )
    (data_folder() / lost[0]).write_bytes(b"damaged")
    assert back_up(tmp_path / "a.tar.zst").lost == [lost[0]]
    (data_folder() / lost[0]).unlink()
    assert back_up(tmp_path / "b.tar.zst").lost == [lost[0]]


@pytest.mark.parametrize("table", REGISTRIES)
def test_the_files_of_every_registry_are_looked_for(home: Path, tmp_path: Path, table: str) -> None:
    with open_warehouse().read() as connection:
        ((file,),) = connection.execute(f"SELECT file FROM {table}").fetchall()
    (data_folder() / file).unlink()
    assert back_up(tmp_path / "a.tar.zst").lost == [file]
    with open_warehouse().write() as connection:
        connection.execute(f"DELETE FROM {table}")
    assert back_up(tmp_path / "b.tar.zst").lost == []  # no row needs it now


def test_an_archive_that_is_there_is_replaced_only_when_asked(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.tar.zst"
    target.write_text("precious")
    with pytest.raises(ValueError, match="--replace"):
        back_up(target)
    assert target.read_text() == "precious"
    back_up(target, replace=True)
    assert target.stat().st_mode & 0o777 == 0o600
    unpack(target, tmp_path / "new")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing/a", "there is no folder"),
        ("home/warehouse/data/a", "its own files"),
        ("home/inbox/a", "looks for logs"),
    ],
)
def test_places_that_cannot_be_are_told(home: Path, tmp_path: Path, name: str, why: str) -> None:
    (home / "inbox").mkdir()
    with pytest.raises(ValueError, match=why):
        back_up(tmp_path / name)


def test_what_a_killed_restore_has_left_is_cleared(home: Path, tmp_path: Path) -> None:
    unpacked_folder(data_folder()).mkdir()
    beside(pseudonym_key_path()).write_text("key")
    back_up(tmp_path / "a.tar.zst")
    assert not unpacked_folder(data_folder()).exists() and not beside(pseudonym_key_path()).exists()


def test_there_must_be_a_warehouse(tmp_path: Path) -> None:
    with in_home(tmp_path / "empty"), pytest.raises(WarehouseError, match="no warehouse yet"):
        back_up(tmp_path / "a.tar.zst")
    assert not (tmp_path / "empty").exists() and not (tmp_path / "a.tar.zst").exists()


def test_a_second_backup_waits_for_the_first(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_TIMEOUT_S", "0.2")
    with backup.file_lock(data_folder() / backup.BACKUP_LOCK), pytest.raises(WarehouseBusy, match="still busy"):
        back_up(tmp_path / "a.tar.zst")


def test_space_is_asked_for_beforehand(home: Path) -> None:
    require_space(home, 1)
    with pytest.raises(ValueError, match=r"1,000,000,000,000 MB are needed there, and [\d,]+ MB are free"):
        require_space(home, 10**18)


def test_a_backup_that_fails_leaves_nothing(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = state_of_home()
    monkeypatch.setattr(backup, "describe_file", fail)
    with pytest.raises(OSError, match="No space"):
        back_up(tmp_path / "a.tar.zst")
    assert state_of_home() == before and not (data_folder() / ".backup").exists()
    assert not list(tmp_path.glob("a.tar*"))


def test_killed_at_any_moment_it_leaves_a_whole_archive_and_the_home(tmp_path: Path) -> None:
    outcome = kill_backups(tmp_path / "kills", size(12, 300))
    assert outcome.broken == [] and outcome.kills >= 8 and outcome.old
