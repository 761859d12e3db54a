"""Which sources there are: of the project, of the second catalogue, of the inbox."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.traces.catalogue.catalogues import BUNDLED, GOOD
from traces.catalogue.catalogue import inbox_name, load_catalogue
from traces.catalogue.places import home, inbox, local_catalogue_path
from traces.catalogue.sources import CatalogueError


def test_without_a_second_catalogue_the_bundled_sources_are_there(
    catalogue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRACEHOUSE_SOURCES")
    found = load_catalogue()
    assert tuple(found.sources) == BUNDLED
    assert found.source("campus-pbs").time_zone == "America/Denver"
    for source in found.sources.values():
        assert source.path is None and source.generator and source.procs
        file, line = source.declared_at.rsplit(":", 1)
        assert Path(file).read_text().splitlines()[int(line) - 1] == f"[sources.{source.name}]"
    assert local_catalogue_path() == home() / "sources.local.toml"


def test_a_source_with_every_key(catalogue: Path) -> None:
    catalogue.write_text(
        'time_zone = "Asia/Tokyo"\nnightly_cron = "30 4 * * 1-5"\n\n'
        + GOOD
        + '[sources."night.v2"]\nformat = "pbs"\npath = "/logs/night"\ndrop_wider = true\ndescription = "every night"\n'
    )
    found = load_catalogue()
    assert tuple(found.sources) == (*BUNDLED, "good", "night.v2")
    assert (found.time_zone, found.nightly_cron) == ("Asia/Tokyo", "30 4 * * 1-5")
    good, night = found.source("good"), found.source("night.v2")
    assert (good.format, good.procs, good.time_zone, good.drop_wider) == ("swf", 4, "UTC", False)
    assert good.path == catalogue.parent / "logs" / "good.swf"  # relative to the file that names it
    assert good.declared_at == f"{catalogue}:4"
    assert (night.path, night.procs, night.drop_wider) == (Path("/logs/night"), None, True)
    assert (night.time_zone, night.description) == (None, "every night")  # the log's own, or else the catalogue's
    assert night.declared_at == f"{catalogue}:9"


def test_a_source_of_the_second_catalogue_wins(catalogue: Path) -> None:
    catalogue.write_text('[sources.lublin-256]\nformat = "pbs"\npath = "mine"\n')
    found = load_catalogue()
    assert tuple(found.sources) == BUNDLED
    assert found.source("lublin-256").path == catalogue.parent / "mine"


def test_an_unknown_source_is_told_with_the_known_ones(catalogue: Path) -> None:
    catalogue.write_text(GOOD)
    with pytest.raises(
        CatalogueError,
        match=r"unknown source 'goood'; did you mean 'good'\? known sources: lublin-256, campus-pbs, good\.",
    ):
        load_catalogue().source("goood")
    with pytest.raises(CatalogueError, match=r"unknown source 'GOOD'; did you mean 'good'\?"):
        load_catalogue().source("GOOD")


@pytest.mark.parametrize("cron", ["0 3 * * *", "*/15 0-6,22 1 1-12/2 1-5", "5 4 * * sun", "0 0 31 12 *"])
def test_good_crons(catalogue: Path, cron: str) -> None:
    catalogue.write_text(f'nightly_cron = "{cron}"\n')
    assert load_catalogue().nightly_cron == cron


def test_brackets_nested_too_deep(catalogue: Path) -> None:
    catalogue.write_text(f"x = {'[' * 100_000}")
    with pytest.raises(CatalogueError, match="nested too deep"):
        load_catalogue()


def test_tracehouse_sources_must_exist(catalogue: Path) -> None:
    with pytest.raises(CatalogueError) as error:
        load_catalogue()
    assert str(catalogue) in str(error.value) and "TRACEHOUSE_SOURCES" in str(error.value)


def test_tracehouse_sources_must_be_a_file(catalogue: Path) -> None:
    catalogue.mkdir()
    with pytest.raises(CatalogueError, match=re.escape(str(catalogue))):
        load_catalogue()


def test_files_and_folders_of_the_inbox_become_sources(catalogue: Path) -> None:
    catalogue.write_text('time_zone = "Asia/Tokyo"\n' + GOOD)
    inbox().mkdir(parents=True)
    for name in ("jan.swf", "jan.log", "Febr 2026.log.gz", ".hidden", "copying.swf.part", "good.swf"):
        (inbox() / name).write_text("x")
    (inbox() / "daily").mkdir()
    sources = load_catalogue().sources
    # A name that is taken gives way to the file's full name: no file of the inbox is passed over.
    assert set(sources) == {*BUNDLED, "good", "good.swf", "jan", "jan.swf", "Febr-2026", "daily"}
    jan = sources["jan"]
    assert (jan.format, jan.path, jan.procs, jan.time_zone) == ("auto", inbox() / "jan.log", None, None)
    assert jan.declared_at == str(inbox() / "jan.log")
    assert sources["jan.swf"].path == inbox() / "jan.swf"
    assert sources["good"].path == catalogue.parent / "logs" / "good.swf"  # the catalogue wins
    assert sources["good.swf"].path == inbox() / "good.swf"


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.swf", "a"),
        ("a.swf.gz", "a"),
        ("a.log.zst", "a"),
        ("20260301", "20260301"),
        ("KTH-SP2-1996-2.1-cln.swf.gz", "KTH-SP2-1996-2.1-cln"),
        ("my log (2).txt", "my-log-2"),
        ("naïve.swf", "na-ve"),
        (".swf", "unnamed"),
    ],
)
def test_names_of_files_in_the_inbox(file: str, name: str) -> None:
    assert inbox_name(Path(file)) == name
