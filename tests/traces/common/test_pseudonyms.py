"""Tests of traces/common: described_names, pseudonyms."""

from __future__ import annotations

import json
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.pipelines.command_line import call, fail, succeed, use_home
from tests.shared import shared_file
from tests.tiny import swf_line
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import CatalogueError
from traces.cluster.accounts import Account, AccountUser, Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription, Node, Partition
from traces.common.described_names import with_described_names, with_pseudonyms
from traces.common.pseudonyms import (
    DEFAULT_KINDS,
    PSEUDONYM_KINDS,
    PseudonymError,
    pseudonym_hint,
    pseudonym_of,
    read_key,
    renames,
    replace_names,
)

# described_names: Names of a description become those of a log that was ingested with pseudonyms.

KEY = b"0123456789abcdef0123456789abcdef"
CLUSTER = ClusterDescription(
    "mine",
    (Node("n1", 4),),
    (Partition("cpu", allow_accounts=("lab",), allow_users=("ada",), allow_groups=("phys",)),),
    (Account("lab"), Account("team", "lab")),
    (AccountUser("ada", "team"),),
    limits=(
        Limit("user", "team/ada", "running", "all", "cpu", 4),
        Limit("user", "team/ada/gpu", "running", "all", "cpu", 4),
        Limit("cluster", "", "running", "group", "cpu", 8, who="phys"),
        Limit("qos", "high", "running", "all", "cpu", 8),
    ),
    reservations=(AdvanceReservation("course", 0, 1, users=("ada",), accounts=("lab",)),),
)


def test_every_name_is_replaced_and_pseudonyms_stay() -> None:
    ada, lab, team, phys = (
        pseudonym_of(KEY, kind, name)
        for kind, name in (("user", "ada"), ("account", "lab"), ("account", "team"), ("group", "phys"))
    )
    hidden = with_pseudonyms(CLUSTER, DEFAULT_KINDS, KEY)
    assert hidden.partitions[0] == Partition("cpu", allow_accounts=(lab,), allow_users=(ada,), allow_groups=(phys,))
    assert hidden.accounts == (Account(lab), Account(team, lab)) and hidden.members == (AccountUser(ada, team),)
    assert [(limit.owner_name, limit.who) for limit in hidden.limits] == [
        (f"{team}/{ada}", ""),
        (f"{team}/{ada}/gpu", ""),
        ("", phys),
        ("high", ""),
    ]
    assert (hidden.reservations[0].users, hidden.reservations[0].accounts) == ((ada,), (lab,))
    assert with_pseudonyms(hidden, DEFAULT_KINDS, b"another key of this length......") == hidden
    assert with_pseudonyms(CLUSTER, (), KEY) == CLUSTER


def test_edits_may_have_the_names_of_the_log() -> None:
    ada, team = pseudonym_of(KEY, "user", "ada"), pseudonym_of(KEY, "account", "team")
    edit = f"user.{team}/{ada}.MaxJobs=3"
    assert with_described_names(edit, CLUSTER, DEFAULT_KINDS, KEY) == "user.team/ada.MaxJobs=3"
    assert with_described_names(edit, CLUSTER, ("account",), KEY) == f"user.team/{ada}.MaxJobs=3"
    assert with_described_names("account.team.MaxJobs=3", CLUSTER, DEFAULT_KINDS, KEY) == "account.team.MaxJobs=3"


# pseudonyms: Names of people are replaced by a keyed hash before anything reaches the database, and the key's owner
# can look back.

NAMED = re.compile(r"(user|group|account|project|job)-[a-z2-7]{10}")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(monkeypatch, tmp_path / "home")
    return tmp_path / "home"


def test_a_pseudonym_depends_on_key_kind_and_name_alone() -> None:
    assert NAMED.fullmatch(pseudonym_of(KEY, "user", "ann"))
    assert pseudonym_of(KEY, "user", "ann") == pseudonym_of(KEY, "user", "ann")
    different = {pseudonym_of(KEY, kind, "ann") for kind in PSEUDONYM_KINDS}
    different |= {
        pseudonym_of(KEY + b"x", "user", "ann"),
        pseudonym_of(KEY, "user", "Ann"),
        pseudonym_of(KEY, "user", ""),
    }
    assert len(different) == len(PSEUDONYM_KINDS) + 3


def test_columns_that_are_asked_for_are_replaced_and_nothing_else() -> None:
    records = pl.DataFrame(
        {"line": [1, 2, 3, 4], "user_name": ["ann", "bob", None, "ann"], "group_name": ["ann", "", "g", "g"]}
    )
    found = replace_names(records, ("user", "job"), KEY)
    ann, bob, nobody, again = found["user_name"]
    assert (ann, bob, nobody) == (pseudonym_of(KEY, "user", "ann"), pseudonym_of(KEY, "user", "bob"), None)
    assert again == ann
    assert found.drop("user_name").equals(records.drop("user_name"))
    groups = replace_names(records, DEFAULT_KINDS, KEY)["group_name"].to_list()
    assert groups[1] == "" and groups[2] == groups[3] != groups[0]
    assert replace_names(records, (), KEY).equals(records)
    ids = pl.DataFrame({"reservation": ["R183.head", "course", "R2"], "project": ["R183.head", None, "x"]})
    kept, course, plain = replace_names(ids, DEFAULT_KINDS, KEY)["reservation"]
    assert (kept, course, plain) == ("R183.head", *(pseudonym_of(KEY, "project", name) for name in ("course", "R2")))
    assert renames(DEFAULT_KINDS, KEY)["reservation"][b"R183.head"] == b"R183.head"
    assert renames(DEFAULT_KINDS, KEY)["project"][b"R183.head"] == pseudonym_of(KEY, "project", "R183.head").encode()
    assert replace_names(pl.DataFrame(), DEFAULT_KINDS, KEY).is_empty()


def test_a_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    first = read_key(tmp_path / "key")
    assert read_key(tmp_path / "key") == first and len(first) == 64
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert read_key(tmp_path / "other") != first
    (tmp_path / "short").write_text("abc\n")
    with pytest.raises(
        PseudonymError, match=r"short: expected a key of at least 32 characters, found 3\. Put the right one back"
    ):
        read_key(tmp_path / "short")


def test_a_log_is_loaded_without_names_and_its_owner_looks_back(home: Path) -> None:
    log = shared_file("traces", "pbs", "ncar-qhist-casper-testdata.log")
    succeed("ingest", log, "--name", "casper")
    query = "SELECT DISTINCT user_name, group_name, account, executable FROM core.jobs"
    rows = json.loads(succeed("sql", query, "--format", "json"))
    assert all(NAMED.fullmatch(value) for row in rows for value in row.values())
    database = duckdb.connect(str(home / "warehouse" / "data" / "tracehouse.duckdb"), read_only=True)
    tables = [
        name for (name,) in database.execute("SELECT schema_name || '.' || table_name FROM duckdb_tables()").fetchall()
    ]
    everything = " ".join(str(database.execute(f"FROM {name}").fetchall()) for name in tables)
    database.close()
    for name in (
        "vanderwb",
        "bneuman",
        "csgteam",
        "SCSG0001",
        "bneuman_matlab",
        (home / "pseudonym.key").read_text().strip(),
    ):
        assert name not in everything
    told = dict(
        line.split("\t")[::-1] for line in succeed("pseudonym", "user", "vanderwb", "bneuman", "nobody").splitlines()
    )
    assert {row["user_name"] for row in rows} == {told["vanderwb"], told["bneuman"]}
    succeed("ingest", log, "--name", "again")  # the same names have the same pseudonyms in another source
    assert json.loads(succeed("sql", f"SELECT count(*) AS n FROM ({query})", "--format", "json")) == [{"n": len(rows)}]


def test_names_are_kept_where_the_catalogue_says_so(home: Path) -> None:
    log = shared_file("traces", "slurm", "pozidriv.sacct.psv.gz")
    succeed("ingest", log, "--name", "open", "--keep-names")
    assert "pseudonyms = []" in (home / "sources.toml").read_text()
    (home / "sources.toml").write_text(
        (home / "sources.toml").read_text()
        + f'[sources.some]\nformat = "slurm"\npath = "{log}"\npseudonyms = ["user"]\n'
    )
    succeed("run", "some", "--job", "ingest")
    query = "SELECT user_name, account FROM core.jobs WHERE source = '{}' AND job_id = '977669'"
    rows = [json.loads(succeed("sql", query.format(source), "--format", "json"))[0] for source in ("open", "some")]
    assert rows[0] == {"user_name": "turdo", "account": "calla"}
    assert rows[1] == {"user_name": succeed("pseudonym", "user", "turdo").split("\t")[0], "account": "calla"}


def test_swf_has_numbers_and_needs_no_key(home: Path) -> None:
    (home / "numbers.swf").write_text(swf_line(1, 0, 5, 60, 2) + swf_line(2, 9, 0, 30, 1))
    succeed("ingest", home / "numbers.swf", "--name", "numbers")
    assert not (home / "pseudonym.key").exists()
    assert "no key yet" in fail("pseudonym", "user", "ann")
    shared = shared_file("traces", "slurm", "utf8.sacct.psv")
    assert call("replay", shared).exit_code == 0
    assert not (home / "pseudonym.key").exists()  # a replay of a path leaves nothing


@pytest.mark.parametrize("value", ['"user"', '["user", "colour"]', "[1]", "true"])
def test_a_wrong_list_is_refused(home: Path, value: str) -> None:
    (home / "sources.toml").write_text(f'[sources.mine]\nformat = "pbs"\npath = "x"\npseudonyms = {value}\n')
    with pytest.raises(
        CatalogueError, match=r"sources.toml:4: \[sources.mine\] expected a list of user, group, account"
    ):
        load_catalogue()


def test_two_first_logs_at_once_have_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of two threads, or of two hosts whose processes have the same number, links its key while the other writes."""
    path, link, both_made = tmp_path / "pseudonym.key", os.link, threading.Barrier(2, timeout=20)

    def link_together(*paths: Path) -> None:
        both_made.wait()
        link(*paths)

    monkeypatch.setattr(os, "link", link_together)
    with ThreadPoolExecutor(2) as threads:
        keys = list(threads.map(read_key, [path, path]))
    assert keys[0] == keys[1] == path.read_bytes().strip()
    assert [file.name for file in tmp_path.iterdir()] == ["pseudonym.key"]


def test_a_real_name_beside_pseudonyms_has_a_hint() -> None:
    """`why --user NAME` listed pseudonyms, and said nothing of how a name becomes one."""
    names = ["user-k3m5a7q2xy", "user-b4m5a7q2xy"]
    assert "`tracehouse pseudonym user ann` prints that of this user" in pseudonym_hint("user", "ann", names)
    assert pseudonym_hint("user", names[0][:-1], names) == pseudonym_hint("user", "ann", ["bob"]) == ""
    assert pseudonym_hint("queue", "x", ["batch"]) == ""
