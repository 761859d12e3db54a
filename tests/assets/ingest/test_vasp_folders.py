"""Folders of VASP runs into the raw tables: what has changed is read, and everything else stays."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from assets.ingest import vasp_folders as folders
from assets.ingest.vasp_folders import runs_folder, update_vasp_log
from tests.assets.ingest.incremental import OpenWarehouse
from tests.traces.vasp.vasp_lines import TOP, WHOLE, electronic, set_changed, written
from traces.catalogue.catalogue import VaspSource
from traces.common.log import LogError
from warehouse import Warehouse

NOW = datetime(2030, 1, 1)


@pytest.fixture
def warehouse(tmp_path: Path) -> OpenWarehouse:
    return OpenWarehouse(tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> VaspSource:
    """Two runs and a folder that is none."""
    for name, energy in (("a", "-10.25"), ("b", "-20.25")):
        written(tmp_path / "runs" / name / "OUTCAR", WHOLE.replace("-10.25", energy))
    (tmp_path / "runs" / "empty").mkdir()
    return VaspSource("mine", tmp_path / "runs", "UTC")


def states(warehouse: OpenWarehouse) -> list[tuple[str, str]]:
    with warehouse.read() as connection:
        return connection.execute("SELECT folder, state FROM raw.vasp_runs ORDER BY ALL").fetchall()


def test_only_what_has_changed_is_read(warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path) -> None:
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"accepted": 2, "rejected": 1}
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"unchanged": 3}
    written(tmp_path / "runs" / "b" / "INCAR", "NSW = 1\n")
    written(tmp_path / "runs" / "c" / "OUTCAR")
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"accepted": 2, "unchanged": 2}
    assert states(warehouse) == [("a", "finished"), ("b", "finished"), ("c", "finished")]


def test_another_reader_reads_all_again(
    warehouse: OpenWarehouse, source: VaspSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    update_vasp_log(warehouse, source, "UTC", NOW)
    assert +update_vasp_log(warehouse, source, "Asia/Tokyo", NOW).folders == {"unchanged": 3}
    monkeypatch.setattr(folders, "VASP_READER_VERSION", "another")
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"accepted": 2, "rejected": 1}


def test_a_running_run_is_read_until_it_ends_or_its_folder_goes(
    warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path
) -> None:
    path = written(tmp_path / "runs" / "b" / "OUTCAR", TOP + electronic(energy=-20.25))
    set_changed(path, 5)
    changed = datetime.utcfromtimestamp(path.stat().st_mtime)
    update_vasp_log(warehouse, source, "UTC", changed)
    assert states(warehouse) == [("a", "finished"), ("b", "running")]
    done = update_vasp_log(warehouse, source, "UTC", changed)
    assert done.folders["accepted"] == 1
    path.unlink()
    path.parent.rmdir()
    assert update_vasp_log(warehouse, source, "UTC", changed).folders["gone"] == 1
    assert states(warehouse) == [("a", "finished"), ("b", "cut_off")]


def test_many_folders_are_written_in_parts(tmp_path: Path, source: VaspSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """And read while others may use the warehouse."""
    monkeypatch.setattr(folders, "FOLDERS_A_COMMIT", 1)
    warehouse, stored = Warehouse(tmp_path / "w.duckdb"), []
    read = folders.read_folder

    def read_as_others_do(*arguments: Any) -> Any:
        with Warehouse(warehouse.place, timeout_s=1.0).read() as connection:
            stored.append(connection.execute("SELECT count(*) FROM raw.vasp_folders").fetchall()[0][0])
        return read(*arguments)

    monkeypatch.setattr(folders, "read_folder", read_as_others_do)
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"accepted": 2, "rejected": 1}
    assert stored == [0, 1, 2]


def test_no_run_at_all_is_an_error(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    (tmp_path / "runs" / "a").mkdir(parents=True)
    with pytest.raises(LogError, match=r"no VASP run in it \(1 folders rejected; first: a: an empty folder\)"):
        update_vasp_log(warehouse, VaspSource("mine", tmp_path / "runs"), "UTC", NOW)


def test_synthetic_runs_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    source = VaspSource("drawn", None, generator={"runs": 2, "unfinished": 0})
    folder = runs_folder(source)
    assert sorted(path.name for path in folder.iterdir()) == ["synthetic-00000", "synthetic-00001"]
    assert runs_folder(source) == folder


def counted(warehouse: OpenWarehouse) -> dict[str, int]:
    with warehouse.read() as connection:
        return dict(connection.execute("SELECT outcome, count(*) FROM raw.vasp_folders GROUP BY ALL").fetchall())


# One name, one folder.


@pytest.fixture
def other(source: VaspSource, tmp_path: Path) -> VaspSource:
    """The same name, with another folder: as if the catalogue had been edited."""
    written(tmp_path / "others" / "z" / "OUTCAR")
    return VaspSource("mine", tmp_path / "others", "UTC", declared_at="mine.toml:7")


def test_the_runs_of_two_folders_are_not_mixed(
    warehouse: OpenWarehouse, source: VaspSource, other: VaspSource, tmp_path: Path
) -> None:
    update_vasp_log(warehouse, source, "UTC", NOW)
    with pytest.raises(LogError) as refused:
        update_vasp_log(warehouse, other, "UTC", NOW)
    message = str(refused.value)
    assert f"{tmp_path / 'runs'}" in message and f"{tmp_path / 'others'} now (mine.toml:7)" in message
    assert f"tracehouse vasp ingest {tmp_path / 'others'} --name mine --replace" in message
    assert [folder for folder, _ in states(warehouse)] == ["a", "b"]
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"unchanged": 3}


def test_replacing_forgets_what_was_stored(warehouse: OpenWarehouse, source: VaspSource, other: VaspSource) -> None:
    update_vasp_log(warehouse, source, "UTC", NOW)
    with warehouse.write() as connection:
        connection.execute("INSERT INTO core.vasp_jobs VALUES ('mine', 'a', 'OUTCAR', 1, 'log', 1, 'time')")
    update_vasp_log(warehouse, other, "UTC", NOW, replace=True)
    assert [folder for folder, _ in states(warehouse)] == ["z"] and counted(warehouse) == {"accepted": 1}
    with warehouse.read() as connection:
        assert connection.execute("SELECT count(*) FROM core.vasp_jobs").fetchall() == [(0,)]
        assert connection.execute("SELECT count(*) FROM raw.vasp_rejects").fetchall() == [(0,)]
    with pytest.raises(LogError, match="are of"):
        update_vasp_log(warehouse, source, "UTC", NOW)


def test_nothing_is_forgotten_for_a_folder_without_runs(
    warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where reading the new one ends before its end."""
    update_vasp_log(warehouse, source, "UTC", NOW)
    for name in "xy":
        (tmp_path / "others" / name).mkdir(parents=True)
    monkeypatch.setattr(folders, "FOLDERS_A_COMMIT", 1)
    with pytest.raises(LogError, match="no VASP run in it"):
        update_vasp_log(warehouse, VaspSource("mine", tmp_path / "others"), "UTC", NOW, replace=True)
    assert states(warehouse) == [("a", "finished"), ("b", "finished")]


def test_replacing_a_folder_by_itself_forgets_nothing(
    warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path
) -> None:
    update_vasp_log(warehouse, source, "UTC", NOW)
    shutil.rmtree(tmp_path / "runs" / "b")
    (tmp_path / "link").symlink_to("runs")
    for path in (tmp_path / "runs", tmp_path / "link"):
        done = update_vasp_log(warehouse, VaspSource("mine", path, "UTC"), "UTC", NOW, replace=True)
        assert +done.folders == {"unchanged": 2, "gone": 1}
    assert states(warehouse) == [("a", "finished"), ("b", "finished")]


def test_an_older_release_did_not_keep_the_folder(
    warehouse: OpenWarehouse, source: VaspSource, other: VaspSource, tmp_path: Path
) -> None:
    """Its rows are taken for those of the folder that is read first. Replacing it forgets them, unless it is the same one."""
    update_vasp_log(warehouse, source, "UTC", NOW)
    forget_roots = "UPDATE raw.vasp_folders SET root = NULL, version = '1'"
    with warehouse.write() as connection:
        connection.execute(forget_roots)
    assert +update_vasp_log(warehouse, source, "UTC", NOW, replace=True).folders == {"accepted": 2, "rejected": 1}
    with warehouse.write() as connection:
        connection.execute(forget_roots)
    update_vasp_log(warehouse, other, "UTC", NOW, replace=True)
    assert states(warehouse) == [("z", "finished")]


def test_synthetic_runs_of_other_options_take_the_place_of_the_former(
    warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    for runs in (3, 2):
        drawn = VaspSource("mine", None, generator={"runs": runs, "unfinished": 0, "seed": runs})
        update_vasp_log(warehouse, drawn, "UTC", NOW)
        assert counted(warehouse) == {"accepted": runs}
    update_vasp_log(warehouse, source, "UTC", NOW)
    assert [folder for folder, _ in states(warehouse)] == ["a", "b"]
    with pytest.raises(LogError, match="give the generator a name of its own"):
        update_vasp_log(warehouse, drawn, "UTC", NOW)


# Each run once.


def as_an_older_release(warehouse: OpenWarehouse, folder: str, other: str) -> None:
    """Stores a run a second time, under another name."""
    with warehouse.write() as connection:
        for table in folders.VASP_TABLES:
            rows = f"SELECT * REPLACE ('{other}' AS folder) FROM raw.{table} WHERE folder = '{folder}'"
            connection.execute(f"INSERT INTO raw.{table} BY NAME {rows}")


@pytest.mark.parametrize("gone", [False, True])
def test_what_was_stored_under_a_link_too_goes(
    gone: bool, warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path
) -> None:
    update_vasp_log(warehouse, source, "UTC", NOW)
    as_an_older_release(warehouse, "b", "latest")
    if not gone:
        (tmp_path / "runs" / "latest").symlink_to("b")
    done = update_vasp_log(warehouse, source, "UTC", NOW)
    assert +done.folders == {"unchanged": 3, "moved": 1}
    assert states(warehouse) == [("a", "finished"), ("b", "finished")] and counted(warehouse)["accepted"] == 2
    with warehouse.read() as connection:
        assert connection.execute("SELECT DISTINCT folder FROM raw.vasp_ionic_steps ORDER BY ALL").fetchall() == [
            ("a",),
            ("b",),
        ]


def test_a_run_that_has_grown_since_it_was_stored_under_a_link(
    warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path
) -> None:
    path = written(tmp_path / "runs" / "c" / "OUTCAR", TOP + electronic(energy=-99))
    update_vasp_log(warehouse, source, "UTC", NOW)
    as_an_older_release(warehouse, "c", "latest")
    path.write_text(TOP + electronic(energy=-99) + electronic(1, 2))
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"accepted": 1, "unchanged": 3, "moved": 1}
    assert [folder for folder, _ in states(warehouse)] == ["a", "b", "c"]


def test_another_run_of_the_same_second_keeps_its_rows(
    warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path
) -> None:
    """Of two jobs of an array that began at once, one folder is gone: only the times and energies of steps tell them apart."""
    path = written(tmp_path / "runs" / "c" / "OUTCAR", TOP + electronic(energy=-99) + electronic(1, 2))
    written(tmp_path / "runs" / "d" / "OUTCAR", TOP + electronic(energy=-98) + electronic(1, 2))
    update_vasp_log(warehouse, source, "UTC", NOW)
    path.unlink()
    path.parent.rmdir()
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"unchanged": 4, "gone": 1}
    assert [folder for folder, _ in states(warehouse)] == ["a", "b", "c", "d"]


def test_a_folder_that_was_renamed_counts_once(warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path) -> None:
    path = written(tmp_path / "runs" / "c" / "OUTCAR", TOP + electronic(energy=-99))
    update_vasp_log(warehouse, source, "UTC", NOW)
    path.parent.rename(tmp_path / "runs" / "d")
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"accepted": 1, "unchanged": 3, "moved": 1}
    assert [folder for folder, _ in states(warehouse)] == ["a", "b", "d"]


@pytest.mark.parametrize("left", ["", "INCAR", "link"])
def test_a_run_whose_outcar_is_gone_keeps_its_rows(
    left: str, warehouse: OpenWarehouse, source: VaspSource, tmp_path: Path
) -> None:
    """As one whose folder is gone; what is wrong is a reject all the same."""
    path = tmp_path / "runs" / "b" / "OUTCAR"
    update_vasp_log(warehouse, source, "UTC", NOW)
    path.unlink()
    if left == "link":
        path.symlink_to(written(tmp_path / "elsewhere" / "OUTCAR"))
    elif left:
        written(path.with_name(left), "NSW = 1\n")
    for _ in range(2):
        update_vasp_log(warehouse, source, "UTC", NOW)
        assert states(warehouse) == [("a", "finished"), ("b", "finished")]
        assert counted(warehouse) == {"accepted": 2, "rejected": 1}
    with warehouse.read() as connection:
        rejects = connection.execute("SELECT folder FROM raw.vasp_rejects ORDER BY ALL").fetchall()
    assert rejects == [("b",), ("empty",)]
