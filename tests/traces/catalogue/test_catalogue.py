"""Which sources there are: of the project, of the second catalogue, of the inbox."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.traces.catalogue.catalogues import BUNDLED, GOOD, fault
from traces.catalogue.catalogue import Readers, inbox_name, load_catalogue
from traces.catalogue.places import home, inbox, local_catalogue_path
from traces.catalogue.sources import CatalogueError

DECLARED = '[vasp.runs]\npath = "folders"\naccounting = "good"\nquiet_s = 60\ntime_zone = "Asia/Tokyo"\n'


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


def test_paths_are_relative_to_the_catalogue(catalogue: Path) -> None:
    catalogue.write_text("")
    assert load_catalogue().readers == Readers(None, None)
    catalogue.write_text('[readers]\ncopy = "for-all/readers.duckdb"\nmetrics = "/srv/prom/tracehouse.prom"\n')
    folder = catalogue.resolve().parent
    assert load_catalogue().readers == Readers(folder / "for-all" / "readers.duckdb", Path("/srv/prom/tracehouse.prom"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("readers = 3\n", "readers must be a dict"),
        ("[readers]\ncopy = 3\n", "copy must be a str"),
        ('[readers]\ncopies = "x"\n', "unknown key 'copies': expected one of copy, metrics"),
    ],
)
def test_faults_name_the_key(catalogue: Path, text: str, says: str) -> None:
    message = fault(catalogue, text)
    assert says in message and message.startswith(str(catalogue))


def test_a_folder_with_every_key(catalogue: Path) -> None:
    catalogue.write_text(f"{GOOD}\n{DECLARED}")
    source = load_catalogue().vasp_source("runs")
    assert (source.path, source.accounting, source.quiet_s) == (catalogue.parent / "folders", "good", 60)
    assert (source.time_zone, source.generator, source.declared_at) == ("Asia/Tokyo", {}, f"{catalogue}:7")


def test_synthetic_runs(catalogue: Path) -> None:
    catalogue.write_text("[vasp.drawn]\ngenerator = { runs = 3, unfinished = 1 }\n")
    source = load_catalogue().vasp_source("drawn")
    assert (source.path, source.generator, source.time_zone) == (None, {"runs": 3, "unfinished": 1}, "UTC")


FAULTS = {
    "unknown key": ('path = "x"\nprocs = 3\n', 9, "unknown key 'procs'"),
    "neither path nor generator": ("quiet_s = 3\n", 7, "either `path` .* or `generator`"),
    "empty path": ('path = ""\n', 8, "`path` is empty"),
    "no table": ("generator = 3\n", 8, "expected a table of generator options"),
    "unknown option": ("generator = { run = 3 }\n", 8, "unknown generator option 'run': expected .*runs"),
    "no runs": ("generator = { runs = 0 }\n", 8, "runs must be at least 1, got 0"),
    "no time at all": ('path = "x"\nquiet_s = 0\n', 9, "at least 1 second, found 0"),
    "another accounting": ('path = "x"\naccounting = "none"\n', 7, "'none' is not a source. Known: .*good"),
}


@pytest.mark.parametrize(("text", "line", "says"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_file_line_and_remedy(catalogue: Path, text: str, line: int, says: str) -> None:
    message = fault(catalogue, f"{GOOD}\n[vasp.bad]\n{text}")
    assert message.startswith(f"{catalogue}:{line}:"), message
    assert re.search(says, message), message
