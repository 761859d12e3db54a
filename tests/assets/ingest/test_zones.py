"""The time zone of logs that name none: somebody's, that of before, or the machine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.ingest.update import update_raw_log
from assets.ingest.vasp_folders import update_vasp_log
from assets.ingest.zones import default_zone, runs_zone_remark, zone_of_source, zone_remark
from tests.assets.ingest.test_vasp_folders import NOW
from traces.catalogue.catalogue import Catalogue, VaspSource
from traces.catalogue.places import PROJECT
from traces.catalogue.sources import Source
from traces.vasp.synthetic import SyntheticOptions, write_runs
from warehouse import Warehouse

LINES = "JobID|User|Submit|Start|End|NCPUS|State\n1|a|2024-01-15T10:00:00|2024-01-15T10:00:00|2024-01-15T11:00:00|4|COMPLETED\n"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "mine.psv").write_text(LINES)
    return Source("mine", "slurm", tmp_path / "mine.psv", declared_at="/home/ann/sources.toml:1")


def test_nobody_gave_one(source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse, catalogue = Warehouse(tmp_path / "w.duckdb"), Catalogue({"mine": source}, "Europe/Stockholm")
    assert zone_of_source(warehouse, catalogue, source) == "America/New_York"
    zone = default_zone(warehouse, catalogue, source)
    assert (zone.name, zone.is_given) == ("America/New_York", False)
    update_raw_log(warehouse, source, *zone)
    with warehouse.read() as connection:
        remark = zone_remark(connection, source, zone)
    assert remark is not None and remark.startswith(
        "times of the log are read as America/New_York, the zone of this machine;"
    )
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert default_zone(warehouse, catalogue, source).name == zone_of_source(warehouse, catalogue, source) == zone.name
    assert default_zone(warehouse, catalogue, source).origin == "as before"
    assert default_zone(warehouse, catalogue, source, is_replaced=True).name == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("declared_at", "of_second_catalogue", "zone"),
    [
        ("/home/ann/sources.toml:1", False, None),
        ("/home/ann/sources.toml:1", True, "Europe/Stockholm"),
        (f"{PROJECT / 'sources.toml'}:9", False, "Europe/Stockholm"),
    ],
)
def test_a_catalogue_gives_it_to_its_own_entries(declared_at: str, of_second_catalogue: bool, zone: str | None) -> None:
    catalogue = Catalogue({}, "Europe/Stockholm", names_time_zone=of_second_catalogue)
    assert catalogue.given_zone(Source("mine", "slurm", Path("x"), declared_at=declared_at)) == zone
    assert catalogue.given_zone(Source("mine", "slurm", Path("x"), time_zone="UTC", declared_at=declared_at)) == "UTC"


def test_folders_of_runs_keep_theirs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_runs(tmp_path / "runs", SyntheticOptions(runs=2, seed=1, unfinished=0))
    runs = VaspSource("runs", tmp_path / "runs", declared_at="/home/ann/sources.toml:1")
    warehouse, catalogue = Warehouse(tmp_path / "w.duckdb"), Catalogue({}, "Europe/Stockholm")
    zone = default_zone(warehouse, catalogue, runs)
    assert zone.name == "America/New_York" and "times in OUTCAR" in (runs_zone_remark(runs, zone) or "")
    update_vasp_log(warehouse, runs, zone.name, NOW)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert default_zone(warehouse, catalogue, runs).name == "America/New_York"
    assert runs_zone_remark(runs, default_zone(warehouse, Catalogue({}, "UTC", names_time_zone=True), runs)) is None
