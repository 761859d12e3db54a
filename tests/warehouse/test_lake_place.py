"""Where a lake is. Places that are none are in tests/warehouse/test_lake_door.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse.errors import WarehouseError
from warehouse.lake_place import LakePlace, lake_of_text


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
