"""Folders of VASP runs into the raw tables: what has changed is read, and everything else stays."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from assets.vasp import folders
from assets.vasp.folders import runs_folder, update_vasp_log
from tests.assets.ingest.incremental import OpenWarehouse
from tests.traces.vasp.vasp_lines import TOP, electronic, set_changed, written
from traces.catalogue.vasp import VaspSource
from traces.common.log import LogError

NOW = datetime(2030, 1, 1)


@pytest.fixture
def warehouse(tmp_path: Path) -> OpenWarehouse:
    return OpenWarehouse(tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> VaspSource:
    """Two runs and a folder that is none."""
    for name in ("a", "b"):
        written(tmp_path / "runs" / name / "OUTCAR")
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
    path = written(tmp_path / "runs" / "b" / "OUTCAR", TOP + electronic())
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


def test_many_folders_are_written_in_parts(
    warehouse: OpenWarehouse, source: VaspSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "FOLDERS_A_COMMIT", 1)
    monkeypatch.setattr(folders, "commit_so_far", lambda connection: None)
    assert +update_vasp_log(warehouse, source, "UTC", NOW).folders == {"accepted": 2, "rejected": 1}


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
