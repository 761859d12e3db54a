"""A key of pseudonyms that is gone, or that is another one, is noticed before anybody is counted twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.storage import open_warehouse, used_keys
from tests.assets.ingest.incremental import ended
from tests.pipelines.command_line import call, fail, succeed, use_home
from traces.catalogue.places import pseudonym_key_path
from traces.common.pseudonyms import fingerprint_of, read_key

OTHER = "0123456789abcdef" * 4


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PBS log that has been loaded as `mine`, in a home of its own."""
    use_home(monkeypatch, tmp_path / "home")
    path = tmp_path / "20260301"
    path.write_text(ended(1, 10, 20, 30))
    succeed("ingest", path, "--name", "mine", "--procs", "64")
    return path


def users() -> set[str]:
    with open_warehouse().read() as connection:
        return {user for (user,) in connection.execute("SELECT DISTINCT user_name FROM core.jobs").fetchall()}


@pytest.mark.parametrize(
    ("key", "fresh"), [(None, True), (OTHER, True), (OTHER, False)], ids=["gone", "another", "another, no ledger"]
)
def test_rows_of_another_key_are_noticed(log: Path, tmp_path: Path, key: str | None, fresh: bool) -> None:
    right, before = pseudonym_key_path().read_text(), users()
    if not fresh:  # as in a copy for readers of pseudonyms, which has no ledger
        with open_warehouse().write() as connection:
            connection.execute("UPDATE raw.log_files SET settings = regexp_replace(settings, '[0-9a-f]{64}', '')")
    pseudonym_key_path().unlink()
    if key is not None:
        pseudonym_key_path().write_text(key)
    second = tmp_path / "20260302"
    second.write_text(ended(2, 40, 50, 60))
    for arguments in (
        ["ingest", second, "--name", "other", "--procs", "64"],
        ["run", "mine", "--job", "ingest"],
        ["warehouse", "copy", tmp_path / "home", tmp_path / "copy.duckdb", "--pseudonyms"],
    ):
        message = fail(*arguments)
        assert ("the key is gone" in message) == (key is None) and "--new-key" in message and "backup" in message
    assert "the archive has not the key" in call("backup", tmp_path / "archive.tar.zst").stderr
    assert pseudonym_key_path().exists() == (key is not None) and users() == before
    pseudonym_key_path().write_text(right)
    succeed("ingest", second, "--name", "other", "--procs", "64")
    succeed("run", "mine", "--job", "ingest")
    assert users() == before


def test_a_key_that_is_lost_for_good_is_replaced_when_asked(log: Path) -> None:
    old, before = read_key(pseudonym_key_path()), users()
    pseudonym_key_path().unlink()
    succeed("ingest", log, "--name", "mine", "--new-key")
    new = read_key(pseudonym_key_path())
    assert used_keys(open_warehouse()) == {fingerprint_of(new)} != {fingerprint_of(old)}
    assert users().isdisjoint(before) and len(users()) == len(before)
    succeed("run", "mine", "--job", "ingest")  # it is the key of the warehouse now


def test_a_log_that_replaces_all_others_needs_no_old_key(log: Path) -> None:
    pseudonym_key_path().unlink()
    succeed("ingest", log, "--name", "mine", "--replace")
    assert used_keys(open_warehouse()) == {fingerprint_of(read_key(pseudonym_key_path()))}


def test_a_warehouse_of_the_first_releases_has_a_key_of_which_nothing_is_known(log: Path) -> None:
    right = pseudonym_key_path().read_text()
    with open_warehouse().write() as connection:
        connection.execute("UPDATE raw.log_files SET settings = '0123456789abcdef'")
        connection.execute("UPDATE core.sources SET pseudonym_key = NULL")
    assert used_keys(open_warehouse()) == {""}
    pseudonym_key_path().unlink()
    assert "the key is gone" in fail("run", "mine", "--job", "ingest")
    pseudonym_key_path().write_text(right)
    succeed("run", "mine", "--job", "ingest")
    assert used_keys(open_warehouse()) == {fingerprint_of(right.strip().encode())}
