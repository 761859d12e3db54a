"""Sources are added without spoiling what a user wrote."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.traces.catalogue.catalogues import BUNDLED, GENERATED, GOOD
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.editing import (
    add_source,
    add_vasp_source,
    link_clusters,
    refuse_another,
    remove_source,
)
from traces.catalogue.places import PROJECT, home
from traces.catalogue.sources import CatalogueError


def add(name: str = "mine", log: Path = Path("/logs/mine.swf"), log_format: str = "swf", procs: int | None = None,
        time_zone: str | None = None) -> str:  # fmt: skip
    return add_source(name, log, log_format, {"procs": procs, "time_zone": time_zone}, replace=True)


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


def test_adding_again_replaces_what_is_given(catalogue: Path) -> None:
    for given, procs in ((8, 8), (16, 16), (None, 16)):
        add("a.b-c_1", procs=given)
        add("other", procs=4)
        added = load_catalogue()
        assert (added.source("a.b-c_1").procs, added.source("other").procs) == (procs, 4)
    assert catalogue.read_text().count("[sources.") == 2


BY_HAND = """\
[sources.mine]
# of 2019
format = "slurm"
path = "/logs/mine.swf"
procs = 8 # since the last upgrade
time_zone = "Europe/Berlin"
columns = "JobID,User"
nodes = 2
drop_wider = true
pseudonyms = ["user", "group"]
description = 'the "old" one'
"""


def test_what_was_added_by_hand_stays(catalogue: Path) -> None:
    """Before, `ingest` of a log that was there replaced its whole entry, and all of this was lost."""
    catalogue.write_text(BY_HAND)
    assert add(log_format="slurm", procs=8) == BY_HAND
    assert catalogue.read_text() == BY_HAND  # comments, too
    before = load_catalogue().source("mine")
    assert add(log_format="slurm", time_zone="UTC") == BY_HAND
    assert replace(load_catalogue().source("mine"), time_zone="Europe/Berlin") == before
    add_source("mine", Path("/logs/mine.swf"), "slurm", {"pseudonyms": [], "columns": "JobID,State"})
    for comment in ("# of 2019", "procs = 8 # since the last upgrade"):
        assert comment in catalogue.read_text()  # before, a new key cost all comments of the entry
    changed = load_catalogue().source("mine")
    assert (changed.pseudonyms, changed.columns, changed.time_zone, changed.nodes) == ((), "JobID,State", "UTC", 2)
    add(log_format="slurm")
    assert load_catalogue().source("mine") == changed


LINKED = """\
# mine
[sources.mine]
format = "slurm"
path = "/logs/mine.swf"
cluster = [ # by date
    "old",
    "new",
] # since the move

[sources.mine.partitions] # of before
gpu = 4

[sources.other]
format = "swf"
path = "x" # cluster = "y"
"""


def test_a_link_replaces_that_link_alone(catalogue: Path) -> None:
    catalogue.write_text(LINKED)
    assert link_clusters("mine", ["third"]) == ("old", "new")
    one = LINKED.replace('cluster = [ # by date\n    "old",\n    "new",\n] #', 'cluster = "third" #')
    assert catalogue.read_text() == one
    assert load_catalogue().source("mine").cluster == ("third",)
    assert link_clusters("mine", ["third", "later"]) == ("third",)
    assert catalogue.read_text() == one.replace('"third"', '["third", "later"]')
    assert link_clusters("other", ["third"]) == ()
    assert 'path = "x" # cluster = "y"\ncluster = "third"\n' in catalogue.read_text()
    assert load_catalogue().source("mine").partitions == {"gpu": 4}


def test_a_link_that_no_command_can_write(catalogue: Path) -> None:
    catalogue.touch()
    with pytest.raises(CatalogueError, match=r"sources.toml:\d+: .*write `cluster` of 'birch' there by hand"):
        link_clusters("birch", ["third"])
    text = '[sources]\nmine = {format = "swf", path = "x"}\n'
    catalogue.write_text(text)
    with pytest.raises(CatalogueError, match=r"expected a table \[sources.mine\]"):
        link_clusters("mine", ["third"])
    assert catalogue.read_text() == text


def test_another_log_keeps_nothing(catalogue: Path) -> None:
    catalogue.write_text(BY_HAND)
    add(log=Path("/logs/other.swf"))
    source = load_catalogue().source("mine")
    assert (source.procs, source.time_zone, source.columns, source.nodes) == (None, None, "", None)


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


def test_a_name_stays_with_its_log(catalogue: Path) -> None:
    refuse_another("sources", "mine", Path("/logs/mine.swf"))  # nobody has it yet
    add()
    refuse_another("sources", "mine", Path("/logs/mine.swf"))
    with pytest.raises(
        CatalogueError, match=r"'mine' is the log /logs/mine.swf .*correct its `path`.*--replace to forget its jobs"
    ):
        refuse_another("sources", "mine", Path("/logs/other.swf"))


def test_a_name_of_the_inbox_stays_with_its_log(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    found = tmp_path / "inbox" / "mine.swf"
    found.parent.mkdir()
    found.touch()
    refuse_another("sources", "mine", found)
    with pytest.raises(CatalogueError, match=r"'mine' is the log .*mine.swf, which is in the inbox. Choose another"):
        refuse_another("sources", "mine", Path("/logs/mine.swf"))


def test_a_name_stays_with_its_folder_of_runs(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("runs")
    refuse_another("vasp", "mine", tmp_path / "runs")  # nobody has it yet
    add_vasp_source("mine", tmp_path / "runs", None, None)
    for same in ("runs", "link"):
        refuse_another("vasp", "mine", tmp_path / same)
    with pytest.raises(CatalogueError, match=r"'mine' is the folder .*/runs .*--replace to forget its runs"):
        refuse_another("vasp", "mine", tmp_path / "others")


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
        ({"name": "birch"}, r"'birch' is already in .*sources.toml:\d+: choose another --name"),
        ({"time_zone": "Nope"}, "unknown time zone 'Nope': expected an IANA name"),
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


def test_two_logs_of_one_name_at_once(catalogue: Path) -> None:
    """Both asked whether the name is free before either took it: whoever comes second is refused, under the lock."""
    logs = [Path("/logs/one.swf"), Path("/logs/two.swf")]
    for log in logs:
        refuse_another("sources", "mine", log)
    add_source("mine", logs[0], "swf", {})
    with pytest.raises(CatalogueError, match=r".mine. is the log /logs/one\.swf"):
        add_source("mine", logs[1], "swf", {})
    assert load_catalogue().source("mine").path == logs[0]
