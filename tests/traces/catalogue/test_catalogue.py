"""Tests of traces/catalogue: catalogue, checking, clusters, places, sources."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.traces.catalogue.catalogues import BUNDLED, GOOD, fault
from tests.traces.cluster.clusters import CLUSTER
from traces.catalogue.catalogue import Readers, inbox_name, load_catalogue
from traces.catalogue.checking import Checker
from traces.catalogue.clusters import (
    BEGIN,
    adopted_text,
    cluster_names,
    cluster_path,
    clusters_of_source,
    found_path,
    load_cluster,
    load_found,
    rule_counts,
    with_found,
    without_found,
)
from traces.catalogue.places import PROJECT, home, inbox, local_catalogue_path, pseudonym_key_path
from traces.catalogue.sources import FORMATS, NAME, CatalogueError, Source
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate, Node
from traces.cluster.notes import ConfigurationError, DescribedCluster
from traces.cluster.toml_reading import parse_cluster_toml
from traces.cluster.toml_writing import cluster_toml, rules_toml

# catalogue: Which sources there are: of the project, of the second catalogue, of the inbox.

DECLARED = '[vasp.runs]\npath = "folders"\naccounting = "good"\nquiet_s = 60\ntime_zone = "Asia/Tokyo"\n'


def test_without_a_second_catalogue_the_bundled_sources_are_there(
    catalogue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRACEHOUSE_SOURCES")
    found = load_catalogue()
    assert tuple(found.sources) == BUNDLED
    assert found.source("larch").time_zone == "Europe/Stockholm"
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
    catalogue.write_text('[sources.birch]\nformat = "pbs"\npath = "mine"\n')
    found = load_catalogue()
    assert tuple(found.sources) == BUNDLED
    assert found.source("birch").path == catalogue.parent / "mine"


def test_an_unknown_source_is_told_with_the_known_ones(catalogue: Path) -> None:
    catalogue.write_text(GOOD)
    with pytest.raises(
        CatalogueError,
        match=r"unknown source 'goood'; did you mean 'good'\? known sources: birch, larch, good\.",
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


# checking: Faults above the tables, and texts that are no TOML, have file, line and remedy.

TOP_FAULTS = {
    "unknown key": (
        'timezone = "UTC"\n',
        "unknown key 'timezone': expected one of nightly_cron, readers, sources, time_zone",
    ),
    "time zone": ('time_zone = "Berlin"\n', "unknown time zone 'Berlin': expected an IANA name"),
    "time zone is a number": ("time_zone = 1\n", "unknown time zone 1"),
    "cron of words": ('nightly_cron = "at three"\n', "five cron fields"),
    "cron with seconds": ('nightly_cron = "0 0 3 * * *"\n', "five cron fields"),
    "cron nickname": ('nightly_cron = "@daily"\n', "five cron fields"),
    "cron is a number": ("nightly_cron = 3\n", "nightly_cron must be a str"),
    "cron of five words": ('nightly_cron = "every night at three please"\n', "cron"),
    "cron out of range": ('nightly_cron = "99 99 * * *"\n', "cron"),
    "empty cron": ('nightly_cron = ""\n', "cron"),
    "sources is a number": ("sources = 3\n", r"expected tables like \[sources.NAME\]"),
}


@pytest.mark.parametrize(("line", "says"), TOP_FAULTS.values(), ids=TOP_FAULTS)
def test_a_fault_above_the_sources_names_file_line_and_remedy(catalogue: Path, line: str, says: str) -> None:
    message = fault(catalogue, f"# a comment\n\n{line}")
    assert message.startswith(f"{catalogue}:3:"), message
    assert re.search(says, message), message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[sources.bad]\nformat = swf\n", 8),
        ('[sources.bad\nformat = "swf"\n', 7),
        ('[sources.bad]\nformat = "swf"\nformat = "pbs"\n', 9),
        ('[sources.good]\nformat = "swf"\n', 7),
        ('[sources.bad]\nformat = "swf\n', 8),
        ("just a sentence\n", 7),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(catalogue: Path, text: str, line: int) -> None:
    message = fault(catalogue, f"{GOOD}\n{text}")
    assert message.startswith(str(catalogue)) and "not valid TOML" in message
    assert re.search(rf"line {line}\b|:{line}:", message), message


def test_what_is_no_text_is_told(catalogue: Path) -> None:
    assert fault(catalogue, b"\xff\xfe\x00").startswith(f"{catalogue}: cannot be read as a UTF-8 text file")


def test_lines_of_keys_and_tables() -> None:
    lines = Checker(Path("x.toml"), "a = 1\n\n[sources.one]\nb = [\n  1,\n]\nc = { d = 2 }\n").lines
    assert lines == {
        ("a",): 1,
        ("sources",): 3,
        ("sources", "one"): 3,
        ("sources", "one", "b"): 4,
        ("sources", "one", "c"): 7,
        ("sources", "one", "c", "d"): 7,
    }


# clusters: Clusters of the home by name, and those of a source in the order of the times from which they hold.


def test_clusters_of_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    (tmp_path / "clusters").mkdir()
    for name, second in (("first", None), ("later", 1_772_323_200), ("third", None)):
        described = DescribedCluster(replace(CLUSTER, name=name, valid_from_s=second), ())
        cluster_path(name).write_text(cluster_toml(described))
    assert cluster_names() == ["first", "later", "third"] and load_cluster("later").description.name == "later"
    descriptions = clusters_of_source(Source("s", "slurm", None, cluster=("later", "first")))
    assert [each.name for each in descriptions] == ["first", "later"]
    with pytest.raises(ValueError, match="the clusters first, third hold from the same time"):
        clusters_of_source(Source("s", "slurm", None, cluster=("first", "third")))
    with pytest.raises(ValueError, match="unknown cluster 'mine', the home has first, later, third"):
        load_cluster("mine")


# places: Where files are: in the project, unless the environment says otherwise.


def test_everything_is_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    for folder in (PROJECT, tmp_path):
        if folder == PROJECT:
            monkeypatch.delenv("TRACEHOUSE_HOME", raising=False)
        else:
            monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
        assert home() == folder
        assert inbox() == folder / "inbox"
        assert pseudonym_key_path() == folder / "pseudonym.key"
        assert local_catalogue_path() == folder / "sources.local.toml"
    assert (PROJECT / "sources.toml").is_file()


def test_the_second_catalogue_may_be_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(tmp_path / "mine.toml"))
    assert local_catalogue_path() == tmp_path / "mine.toml"


# sources: A source as the catalogue declares it.


@pytest.mark.parametrize("name", ["a", "KTH-SP2-1996-2.1", "a_b", "9"])
def test_good_names(name: str) -> None:
    assert NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["", "-a", ".a", "a b", "a/b", "ä", "a\n"])
def test_bad_names(name: str) -> None:
    assert not NAME.fullmatch(name)


def test_what_is_not_declared_is_left_to_the_log() -> None:
    source = Source("mine", FORMATS[0], Path("log"))
    assert (source.procs, source.nodes, source.time_zone, source.columns) == (None, None, None, "")
    assert not source.drop_wider and not source.pseudonyms and not source.generator


# found_rules: Found rules stand at the end of a cluster's file, once, and go again.

SEEN = ClusterDescription(
    "mine",
    (Node("n1", 4),),
    limits=(Limit("cluster", "", "running", "user", "jobs", 5, "ann", begin_s=3, end_s=9, origin=FOUND),),
    reservations=(AdvanceReservation("b", 5, 6, repeats="weekday", origin=FOUND),),
    gates=(Gate((0,), 5, 6, origin=FOUND),),
)
PLAIN = ClusterDescription("mine", SEEN.nodes, limits=(Limit("cluster", "", "running", "all", "jobs", 9),))


def test_tables_are_replaced_and_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    path = tmp_path / "mine.toml"
    before = cluster_toml(DescribedCluster(PLAIN, ()))
    path.write_text(before)
    text = adopted_text(path, rules_toml(SEEN))
    described = parse_cluster_toml(text, "mine.toml").description
    assert described.limits == (*PLAIN.limits, *SEEN.limits) and described.gates == SEEN.gates
    assert described.reservations == SEEN.reservations and rule_counts(described) == (1, 3)
    assert with_found(text, rules_toml(SEEN)).count(BEGIN) == 1
    assert rule_counts(without_found(described)) == (1, 0)
    monthly = [replace(SEEN.limits[0], who=who, begin_s=at, end_s=at + 9) for who in ("ann", "bob") for at in (3, 12)]
    assert rule_counts(replace(SEEN, limits=tuple(monthly))) == (0, 3), (
        "a limit by user and month is one rule, not four"
    )
    two = replace(SEEN, reservations=(*SEEN.reservations, replace(SEEN.reservations[0], name="c")))
    assert rule_counts(two) == (0, 3), "`identify` says one rule, past 17:00 and 08:00, and `adopt` said two"
    assert with_found(text, "").strip() == before.strip()
    with pytest.raises(ConfigurationError):
        adopted_text(path, "[[limits]]\nowner = 5\n")
    assert load_found("mine") is None
    found_path("mine").parent.mkdir(parents=True)
    found_path("mine").write_text(cluster_toml(DescribedCluster(SEEN, ())))
    assert load_found("mine") == SEEN
