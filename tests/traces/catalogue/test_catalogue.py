"""Faults in the catalogue are told with file, line and remedy; sources are added without spoiling what a user wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from traces.catalogue.catalogue import inbox_name, load_catalogue
from traces.catalogue.editing import add_source, remove_source
from traces.catalogue.places import PROJECT, home, inbox, local_catalogue_path
from traces.catalogue.sources import CatalogueError

BUNDLED = ("lublin-256", "campus-pbs")

GOOD = """\
[sources.good]
format = "swf"
path = "logs/good.swf"
procs = 4
time_zone = "UTC"
"""  # lines 1 to 5

GENERATED = '[sources.bad]\nformat = "swf"\nprocs = 16\n'


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The second catalogue (not written yet) of a home of its own."""
    path = tmp_path / "mine.toml"
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(path))
    return path


def fault(path: Path, text: str | bytes) -> str:
    """The message of the fault in a catalogue of this text."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CatalogueError) as error:
        load_catalogue()
    return str(error.value)


# What is read.


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
    with pytest.raises(CatalogueError, match=r"unknown source 'goood'; known sources: lublin-256, campus-pbs, good\."):
        load_catalogue().source("goood")


@pytest.mark.parametrize("cron", ["0 3 * * *", "*/15 0-6,22 1 1-12/2 1-5", "5 4 * * sun", "0 0 31 12 *"])
def test_good_crons(catalogue: Path, cron: str) -> None:
    catalogue.write_text(f'nightly_cron = "{cron}"\n')
    assert load_catalogue().nightly_cron == cron


# Faults: the text after GOOD and a blank line (it starts on line 7), the line of the fault, what the message says.

BAD = '[sources.bad]\nformat = "swf"\n'  # lines 7 and 8

FAULTS = {
    "unknown key": (BAD + 'path = "x"\nproc = 3\n', 10, "unknown key 'proc'; expected one of .*procs"),
    "unknown format": ('[sources.bad]\nformat = "lsf"\npath = "x"\n', 8, "unknown format 'lsf'; .* swf, pbs, slurm"),
    "no format": ('[sources.bad]\npath = "x"\n', 7, "format"),
    "no format, but the next has": (
        '[sources.bad]\npath = "x"\n\n[sources.next]\nformat = "swf"\npath = "y"\n',
        7,
        "format",
    ),
    "path and generator": (
        BAD + 'path = "x"\nprocs = 4\ngenerator = { jobs = 3, seed = 1 }\n',
        7,
        "either `path` .* or `generator`",
    ),
    "neither path nor generator": (BAD, 7, "either `path` .* or `generator`"),
    "empty path": (BAD + 'path = ""\n', 9, "path"),
    "path is a number": (BAD + "path = 3\n", 9, "path must be a str"),
    "format is a list": ('[sources.bad]\nformat = ["swf"]\npath = "x"\n', 8, "format must be a str"),
    "procs is text": (BAD + 'path = "x"\nprocs = "4"\n', 10, "procs must be a .*found '4'"),
    "procs is a fraction": (BAD + 'path = "x"\nprocs = 4.5\n', 10, "procs must be a .*found 4.5"),
    "procs is true": (BAD + 'path = "x"\nprocs = true\n', 10, "procs must be a .*found True"),
    "procs is 0": (BAD + 'path = "x"\nprocs = 0\n', 10, "at least 1 processor, found 0"),
    "procs is negative": (BAD + 'path = "x"\nprocs = -8\n', 10, "at least 1 processor, found -8"),
    "drop_wider is text": (BAD + 'path = "x"\ndrop_wider = "yes"\n', 10, "drop_wider must be a bool"),
    "description is a number": (BAD + 'path = "x"\ndescription = 5\n', 10, "description must be a str"),
    "time zone": (BAD + 'path = "x"\ntime_zone = "Mars/Olympus"\n', 10, "'Mars/Olympus'; .*Europe/Berlin"),
    "time zone is a folder": (BAD + 'path = "x"\ntime_zone = "Europe"\n', 10, "'Europe'; .*Europe/Berlin"),
    "time zone is a number": (BAD + 'path = "x"\ntime_zone = 1\n', 10, "time zone 1; .*Europe/Berlin"),
    "time zone is empty": (BAD + 'path = "x"\ntime_zone = ""\n', 10, "time zone ''; .*Europe/Berlin"),
    "name with a blank": (
        '[sources."bad name"]\nformat = "swf"\npath = "x"\n',
        7,
        "bad source name 'bad name': use letters",
    ),
    "name with a slash": ('[sources."a/b"]\nformat = "swf"\npath = "x"\n', 7, "bad source name 'a/b': use letters"),
    "name of dots": ('[sources."..."]\nformat = "swf"\npath = "x"\n', 7, "bad source name"),
    "empty name": ('[sources.""]\nformat = "swf"\npath = "x"\n', 7, "bad source name ''"),
    "array of tables": ('[[sources.bad]]\nformat = "swf"\n', 7, r"expected a table \[sources.bad\]"),
    "misspelt sources": ('[source.bad]\nformat = "swf"\npath = "x"\n', 7, "unknown key 'source'; .*sources"),
    # The same key or name elsewhere in the file must not draw the error there.
    "after a comment on it": (BAD + 'path = "x"\n# procs = 8 was\nprocs = 0\n', 11, "at least 1 processor"),
    "after a text about it": (
        '[sources.bad]\ndescription = "with procs = 8"\nformat = "swf"\npath = "x"\nprocs = 0\n',
        11,
        "at least 1 processor",
    ),
    "after a longer name": (
        '[sources.bad-two]\nformat = "swf"\npath = "x"\nprocs = 8\n[sources.bad]\nformat = "swf"\npath = "x"\nprocs = 0\n',
        14,
        "at least 1 processor",
    ),
    "after a dotted name": (
        '[sources."bad.two"]\nformat = "swf"\npath = "x"\n[sources.bad]\nformat = "swf"\n',
        10,
        "path",
    ),
    "blanks in the header": (
        '  [ sources . "bad" ]  # mine\nformat = "swf"\npath = "x"\n  procs=0\n',
        10,
        "at least 1 processor",
    ),
    "quoted key": (BAD + 'path = "x"\n"procs" = 0\n', 10, "at least 1 processor"),
    "inline table": ('[sources]\nbad = { format = "swf", path = "x", procs = 0 }\n', 8, "at least 1 processor"),
}


@pytest.mark.parametrize(("text", "line", "says"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_file_line_and_remedy(catalogue: Path, text: str, line: int, says: str) -> None:
    message = fault(catalogue, f"{GOOD}\n{text}")
    assert message.startswith(f"{catalogue}:{line}:"), message
    assert re.search(says, message), message
    assert "None" not in message


TOP_FAULTS = {
    "unknown key": ('timezone = "UTC"\n', "unknown key 'timezone'; expected one of nightly_cron, sources, time_zone"),
    "time zone": ('time_zone = "Berlin"\n', "unknown time zone 'Berlin'; expected an IANA name"),
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


GENERATOR_FAULTS = {
    "unknown option": ("{ jobs = 3, seed = 1, user = 2 }", "unknown generator option 'user'; expected .*users"),
    "the cluster's size": ("{ jobs = 3, seed = 1, procs = 2 }", "unknown generator option 'procs'"),
    "no jobs": ("{ jobs = 0, seed = 1 }", "jobs is 0; ask for at least 1 job"),
    "load": ("{ jobs = 3, seed = 1, offered_load = 0 }", "offered_load is 0; use a number above 0"),
    "seed": ("{ jobs = 3, seed = -1 }", "seed is -1; use a whole number"),
    "class": ('{ jobs = 3, seed = 1, job_class = "night" }', "job_class is 'night'; choose one of"),
    "date": ('{ jobs = 3, seed = 1, start_date = "1 May" }', "start_date is '1 May'; write a date as YYYY-MM-DD"),
    "no table": ("3", "expected a table of generator options"),
    "option left out": ("{ jobs = 3 }", "seed"),
    "text for a number": ('{ jobs = "many", seed = 1 }', "jobs is 'many'"),
    "fraction for a count": ("{ jobs = 1.5, seed = 1 }", "jobs is 1.5"),
    "true for a count": ("{ jobs = true, seed = 1 }", "jobs is True"),
    "fraction for users": ("{ jobs = 3, seed = 1, users = 2.5 }", "users is 2.5"),
    "text for the load": ('{ jobs = 3, seed = 1, offered_load = "high" }', "offered_load is 'high'"),
    "list for the class": ("{ jobs = 3, seed = 1, job_class = [] }", r"job_class is \[\]"),
}


@pytest.mark.parametrize(("options", "says"), GENERATOR_FAULTS.values(), ids=GENERATOR_FAULTS)
def test_a_fault_in_generator_options_names_file_line_and_remedy(catalogue: Path, options: str, says: str) -> None:
    message = fault(catalogue, f"{GENERATED}generator = {options}\n")
    assert message.startswith(f"{catalogue}:4:"), message
    assert re.search(says, message), message
    assert "__init__" not in message and "not supported" not in message, message


def test_a_fault_in_a_table_of_generator_options_has_its_line(catalogue: Path) -> None:
    table = "[sources.bad.generator]\njobs = 3\nseed = 1\n"
    assert fault(catalogue, f"{GENERATED}{table}user = 2\n").startswith(f"{catalogue}:7:")
    assert fault(catalogue, GENERATED + table.replace("3", "0")).startswith((f"{catalogue}:4:", f"{catalogue}:5:"))


def test_a_generated_source_needs_the_size_of_its_cluster(catalogue: Path) -> None:
    message = fault(catalogue, '[sources.bad]\nformat = "swf"\ngenerator = { jobs = 3, seed = 1 }\n')
    assert message.startswith(f"{catalogue}:3:") and "needs `procs`" in message


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


# The second catalogue.


def test_tracehouse_sources_must_exist(catalogue: Path) -> None:
    with pytest.raises(CatalogueError) as error:
        load_catalogue()
    assert str(catalogue) in str(error.value) and "TRACEHOUSE_SOURCES" in str(error.value)


def test_tracehouse_sources_must_be_a_file(catalogue: Path) -> None:
    catalogue.mkdir()
    with pytest.raises(CatalogueError, match=re.escape(str(catalogue))):
        load_catalogue()


# Adding a source.


def add(name: str = "mine", log: Path = Path("/logs/mine.swf"), log_format: str = "swf", procs: int | None = None,
        time_zone: str | None = None) -> str:  # fmt: skip
    return add_source(name, log, log_format, procs, time_zone)


def test_the_first_source_makes_the_file(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEHOUSE_SOURCES")  # so that it is a file of a home that does not exist yet
    add(procs=8, time_zone="Europe/Berlin")
    source = load_catalogue().source("mine")
    assert (source.path, source.format, source.procs) == (Path("/logs/mine.swf"), "swf", 8)
    assert source.time_zone == "Europe/Berlin"
    assert source.declared_at.startswith(str(home() / "sources.local.toml"))


def test_a_second_source_stands_beside_the_first(catalogue: Path) -> None:
    catalogue.write_text("# mine\n" + GOOD)
    add()
    assert catalogue.read_text().startswith("# mine\n" + GOOD)
    assert tuple(load_catalogue().sources) == (*BUNDLED, "good", "mine")


def test_adding_again_replaces(catalogue: Path) -> None:
    for procs in (8, 16, None):
        add("a.b-c_1", procs=procs)
        add("other", procs=4)
        found = load_catalogue()
        assert (found.source("a.b-c_1").procs, found.source("other").procs) == (procs, 4)
    assert catalogue.read_text().count("[sources.") == 2


@pytest.mark.parametrize("name", ["good", "next", "mine"])
def test_an_addition_can_be_taken_back(catalogue: Path, name: str) -> None:
    """What a failed ingest does: the file is as it was, to the byte, whether the source was new or replaced one."""
    text = f"# on top\n\n{GOOD}\n# about the next\n[sources.next]\nformat = 'pbs'\npath = 'y' # here\n# the end\n"
    catalogue.write_text(text)
    replaced = add(name, procs=99)
    assert (replaced == "") == (name == "mine")
    assert load_catalogue().source(name).procs == 99
    remove_source(name, replaced)
    assert catalogue.read_text() == text


@pytest.mark.parametrize(
    "header", ['[sources."good"]', "[ sources.good ]", "[sources.good] # mine", "  [sources.good]", "[sources . good]"]
)
def test_a_source_that_a_user_wrote_is_replaced_too(catalogue: Path, header: str) -> None:
    """The file invites editing, and TOML has many ways to write one header."""
    catalogue.write_text(GOOD.replace("[sources.good]", header))
    add("good", procs=99)
    assert load_catalogue().source("good").procs == 99


def test_a_generated_source_is_replaced_with_its_options(catalogue: Path) -> None:
    catalogue.write_text(f"{GENERATED}[sources.bad.generator]\njobs = 3\nseed = 1\n\n{GOOD}")
    add("bad", procs=99)
    found = load_catalogue()
    assert (found.source("bad").procs, found.source("bad").generator) == (99, {})
    assert found.source("good").procs == 4


def test_replacing_leaves_the_rest_as_it_was(catalogue: Path) -> None:
    before, after = (
        "# on top\ntime_zone = 'UTC'\n\n",
        "\n# about the next one\n[sources.next]\nformat = 'pbs'\npath = 'y'\n",
    )
    catalogue.write_text(before + GOOD + after)
    add("good", procs=99)
    text = catalogue.read_text()
    for line in (before + after).splitlines():
        assert line in text.splitlines(), f"lost: {line}"
    found = load_catalogue()
    assert found.time_zone == "UTC" and found.source("next").format == "pbs"


def test_odd_paths_survive(catalogue: Path, tmp_path: Path) -> None:
    for i, odd in enumerate(('with "quotes".swf', "back\\slash.swf", "naïve 日本.swf", "# no comment.swf", "[x].swf")):
        add(f"s{i}", tmp_path / odd)
        assert load_catalogue().source(f"s{i}").path == tmp_path / odd


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "a b"}, "bad source name 'a b': use letters"),
        ({"name": ""}, "bad source name ''"),
        ({"name": "../up"}, "bad source name '../up'"),
        ({"name": "lublin-256"}, r"'lublin-256' is already in .*sources.toml:\d+; choose another --name"),
        ({"time_zone": "Nope"}, "unknown time zone 'Nope'; expected an IANA name"),
        ({"time_zone": 'U"TC'}, "time zone"),
        ({"procs": 0}, "at least 1 processor, found 0"),
    ],
)
def test_what_cannot_be_read_back_is_never_written(catalogue: Path, changes: dict[str, object], says: str) -> None:
    catalogue.write_text(GOOD)
    with pytest.raises(CatalogueError, match=says):
        add(**changes)  # type: ignore[arg-type]
    assert catalogue.read_text() == GOOD
    assert list(catalogue.parent.glob("*.part")) == []


def test_a_faulty_catalogue_is_not_added_to(catalogue: Path) -> None:
    catalogue.write_text("format = \n")
    with pytest.raises(CatalogueError, match=re.escape(str(catalogue))):
        add()
    assert catalogue.read_text() == "format = \n"


def test_the_bundled_catalogue_is_never_written(catalogue: Path) -> None:
    before = (PROJECT / "sources.toml").read_bytes()
    add()
    assert (PROJECT / "sources.toml").read_bytes() == before


# The inbox.


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
