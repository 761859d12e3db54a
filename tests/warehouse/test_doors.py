"""Both doors can do what a door must."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse.door import door_of
from warehouse.doors import Door
from warehouse.file_door import FileDoor
from warehouse.lake_door import LakeDoor
from warehouse.lake_place import LakePlace


def test_a_place_has_its_door(tmp_path: Path) -> None:
    lake = LakePlace("dbname=tracehouse", str(tmp_path / "data"), tmp_path)
    assert isinstance(door_of(tmp_path / "x.duckdb"), FileDoor) and isinstance(door_of(lake), LakeDoor)


def test_rows_that_are_about_to_be_inserted_are_in_the_folder_of_the_home(tmp_path: Path) -> None:
    assert door_of(tmp_path / "x.duckdb").staging == tmp_path / "staging"


def test_a_door_that_cannot_do_all_is_none() -> None:
    class Half(Door):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
