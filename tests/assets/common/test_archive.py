"""Tests of assets/common: archive, journal.

Archives: what was written is read again; what is damaged or of somebody else is refused, and nothing is left.

The journal of a restore: finished by whoever comes next, and never where it names files that are not of this home.
"""

from __future__ import annotations

import io
import json
import random
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import zstandard

from assets.common.archive import (
    CATALOGUE,
    KIND,
    PSEUDONYM_KEY,
    Manifest,
    describe_file,
    is_archive_name,
    unpack_archive,
    write_archive,
)
from assets.common.journal import (
    DATABASE,
    JOURNAL,
    beside,
    clear_leftovers,
    commit_restore,
    finish_restore,
    unpacked_folder,
)
from assets.common.storage import data_folder, open_warehouse
from traces.catalogue.places import local_catalogue_path, pseudonym_key_path
from warehouse import WarehouseError

FILES = {
    DATABASE: random.Random(1).randbytes(3_000_000),
    "models/mine/policy-1": b"{}",
    f"models/mine/{'x' * 180}.json": b"long",
    PSEUDONYM_KEY: b"key",
    CATALOGUE: b"",
}


def ignore(_: object) -> None:
    pass


@pytest.fixture
def written(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    listed = tuple(describe_file(folder / name, name, ignore) for name in FILES)
    write_archive(tmp_path / "a.tar.zst", Manifest("0.1.0", 2, "2026-03-01 00:00:00", listed), folder, ignore)
    return tmp_path / "a.tar.zst"


def test_all_files_come_back(written: Path, tmp_path: Path) -> None:
    counted: list[int] = []
    manifest = unpack_archive(written, tmp_path / "new", ignore, counted.append)
    assert {name: (tmp_path / "new" / name).read_bytes() for name in FILES} == FILES
    assert manifest.size_bytes == sum(counted) == sum(map(len, FILES.values()))
    assert manifest.models == 2 and manifest.holds(PSEUDONYM_KEY) and not manifest.holds("models/other")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700  # there is a key in it


def test_only_its_owner_may_read_it_and_others_may_unpack_it(written: Path) -> None:
    assert written.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in written.parent.iterdir() if path.suffix == ".part"] == []
    with zstandard.open(written) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        assert tar.getnames() == ["manifest.json", *FILES]


@pytest.mark.parametrize("byte", [0, 3, 700, -5000, -200, -2])
def test_a_damaged_archive_is_refused(written: Path, tmp_path: Path, byte: int) -> None:
    content = bytearray(written.read_bytes())
    content[byte] ^= 0x55
    written.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"a\.tar\.zst: damaged, or no archive of `tracehouse backup` .*Nothing was changed"
    ):
        unpack_archive(written, tmp_path / "new", ignore, ignore)


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.9])
def test_half_an_archive_is_refused(written: Path, tmp_path: Path, share: float) -> None:
    written.write_bytes(written.read_bytes()[: int(share * written.stat().st_size)])
    with pytest.raises(ValueError, match="damaged"):
        unpack_archive(written, tmp_path / "new", ignore, ignore)


def listed(*names: str, content: bytes = b"{}") -> list[dict[str, object]]:
    return [{"name": name, "size_bytes": len(content), "sha256": sha256(content).hexdigest()} for name in names]


def pack(path: Path, manifest: object, members: list[tarfile.TarInfo]) -> Path:
    """An archive of somebody else: each member that is a file holds two bytes."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    head = tarfile.TarInfo("manifest.json")
    head.size = len(text)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(head, io.BytesIO(text))
        for member in members:
            member.size = 2 if member.isreg() else 0
            tar.addfile(member, io.BytesIO(b"{}"))
    path.write_bytes(zstandard.compress(buffer.getvalue()))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


HEAD = {"kind": KIND, "archive_version": 1, "tracehouse": "0.1.0", "tables": 1, "made": "today"}
LINKS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE)


@pytest.mark.parametrize(
    "name",
    [
        "../x", "models/../../x", "/etc/x", "models/", "models//x", "models", "x", "models/./x", "models/a\nb", "models/a\\b",
        "models/..", "sources.toml", "", "restore.journal",
    ],
)  # fmt: skip
def test_names_that_no_backup_gives_are_refused(tmp_path: Path, name: str) -> None:
    assert not is_archive_name(name)
    archive = pack(tmp_path / "a", HEAD | {"files": listed(DATABASE, name)}, [member(DATABASE), member(name)])
    with pytest.raises(ValueError, match="names that no backup gives"):
        unpack_archive(archive, tmp_path / "in" / "new", ignore, ignore)
    assert not (tmp_path / "in").exists() and not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", LINKS)
def test_links_devices_and_folders_are_refused(tmp_path: Path, kind: bytes) -> None:
    files = listed(DATABASE) + listed("models/x", content=b"")
    archive = pack(tmp_path / "a", HEAD | {"files": files}, [member(DATABASE), member("models/x", kind, "/etc/passwd")])
    with pytest.raises(ValueError, match="'models/x' is missing, or is not what its list says"):
        unpack_archive(archive, tmp_path / "new", ignore, ignore)
    assert not (tmp_path / "new" / "models" / "x").exists()


@pytest.mark.parametrize(
    ("files", "members", "why"),
    [
        (listed(DATABASE), [], "is missing"),
        (listed("models/x"), ["models/x"], "or no tracehouse.duckdb"),
        (listed(DATABASE, DATABASE), [DATABASE, DATABASE], "a file twice"),
        (listed(DATABASE), [DATABASE, "models/x"], "'models/x' is not in its list"),
        (listed(DATABASE), [PSEUDONYM_KEY], "is missing"),
        (listed(DATABASE, content=b"ab"), [DATABASE], "is damaged"),
        (listed(DATABASE, content=b"abc"), [DATABASE], "not what its list says"),
        ([{"name": DATABASE}], [DATABASE], "is not a list of files"),
        (7, [], "is not a list of files"),
    ],
)
def test_files_must_be_those_of_the_list(tmp_path: Path, files: object, members: list[str], why: str) -> None:
    archive = pack(tmp_path / "a", HEAD | {"files": files}, [member(name) for name in members])
    with pytest.raises(ValueError, match=why):
        unpack_archive(archive, tmp_path / "new", ignore, ignore)


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        (HEAD | {"kind": "cake", "files": []}, "of something else"),
        (HEAD | {"archive_version": 2, "files": []}, "update this one"),
        (b"[]", "not a list of files"),
        (b"\xff{", "not a list of files"),
        (b"[" * 100_000, "not a list of files"),
    ],
)
def test_other_manifests_are_refused(tmp_path: Path, manifest: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        unpack_archive(pack(tmp_path / "a", manifest, []), tmp_path / "new", ignore, ignore)


@pytest.mark.parametrize(
    "content", [b"", b"abc", zstandard.compress(b"no tar"), zstandard.compress(b"\0" * 10240)], ids=len
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ValueError, match="damaged, or no archive"):
        unpack_archive(tmp_path / "a", tmp_path / "new", ignore, ignore)


def test_nothing_is_unpacked_where_the_list_is_of_no_use(written: Path, tmp_path: Path) -> None:
    def refuse(_: Manifest) -> None:
        raise ValueError("too large")

    with pytest.raises(ValueError, match="too large"):
        unpack_archive(written, tmp_path / "new", refuse, ignore)
    assert not (tmp_path / "new").exists()


@pytest.fixture
def failing() -> Callable[[int], None]:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    return fail


def test_an_archive_that_cannot_be_written_leaves_the_one_before(
    written: Path, tmp_path: Path, failing: Callable[[int], None]
) -> None:
    before = written.read_bytes()
    listed = (describe_file(tmp_path / "folder" / DATABASE, DATABASE, ignore),)
    with pytest.raises(OSError, match="No space"):
        write_archive(written, Manifest("0.1.0", 2, "today", listed), tmp_path / "folder", failing)
    assert written.read_bytes() == before and not list(tmp_path.glob("*.part"))


# --- journal


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    data_folder().mkdir(parents=True)
    return tmp_path / "home"


def lay_out(new: str) -> None:
    """Unpacks a warehouse, a model, a key and a catalogue, and has older ones in their places."""
    data = data_folder()
    for folder, text in ((unpacked_folder(data), new), (data, "old")):
        (folder / "models" / text).mkdir(parents=True)
        (folder / "models" / text / "a.json").write_text(text)
        (folder / DATABASE).write_text(text)
    (data / f"{DATABASE}.wal").write_text("old")
    (data / "reports").mkdir()
    for target in (pseudonym_key_path(), local_catalogue_path()):
        target.write_text("old")
        beside(target).write_text(new)


def contents(home: Path) -> dict[str, str]:
    return {str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()}


def test_everything_is_moved_and_nothing_of_the_old_stays(home: Path) -> None:
    lay_out("new")
    commit_restore(data_folder(), local_catalogue_path())
    finish_restore(data_folder())
    places = ("pseudonym.key", "sources.local.toml", f"warehouse/data/{DATABASE}", "warehouse/data/models/new/a.json")
    assert contents(home) == dict.fromkeys(places, "new")
    assert not (data_folder() / "reports").exists()


def test_models_in_a_linked_folder_are_replaced_and_the_folder_is_left_alone(home: Path) -> None:
    lay_out("new")
    (data_folder() / "models").rename(home.parent / "disk")
    (data_folder() / "models").symlink_to(home.parent / "disk")
    commit_restore(data_folder(), None)
    finish_restore(data_folder())
    assert [path.name for path in (data_folder() / "models").iterdir()] == ["new"]
    assert [path.name for path in (home.parent / "disk").iterdir()] == ["old"]


def test_what_no_journal_names_is_left_over_and_cleared(home: Path) -> None:
    lay_out("new")
    before = contents(home)
    commit_restore(data_folder(), None)
    clear_leftovers(data_folder())  # what counts is not left over
    (data_folder() / JOURNAL).unlink()
    assert contents(home) == before
    clear_leftovers(data_folder())
    assert contents(home) == {name: text for name, text in before.items() if text == "old"}


def test_whoever_opens_the_warehouse_finishes_first(home: Path) -> None:
    with open_warehouse().write():
        pass
    unpacked_folder(data_folder()).mkdir()
    (data_folder() / DATABASE).rename(unpacked_folder(data_folder()) / DATABASE)
    commit_restore(data_folder(), None)
    with open_warehouse().read() as connection:
        assert connection.execute("SELECT count(*) FROM core.jobs").fetchall() == [(0,)]
    assert not (data_folder() / JOURNAL).exists()


def test_a_catalogue_of_another_setting_is_not_touched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(home.parent / "ours.toml"))
    lay_out("new")
    commit_restore(data_folder(), local_catalogue_path())
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(home.parent / "other.toml"))
    with pytest.raises(
        WarehouseError, match=r"also writes the catalogue .*ours\.toml\. Run a command once with TRACEHOUSE_SOURCES"
    ):
        open_warehouse().settle()
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(home.parent / "ours.toml"))
    open_warehouse().settle()
    assert local_catalogue_path().read_text() == "new"


def test_a_catalogue_that_is_in_its_place_already_needs_no_setting(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out("new")
    commit_restore(data_folder(), local_catalogue_path())
    beside(local_catalogue_path()).replace(local_catalogue_path())
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(home.parent / "other.toml"))
    open_warehouse().settle()
    assert (data_folder() / DATABASE).read_text() == "new"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"catalogue": 7}', "\0"])
def test_a_journal_that_is_none_is_told(text: str) -> None:
    lay_out("new")
    (data_folder() / JOURNAL).write_text(text)
    with pytest.raises(WarehouseError, match="not a journal of `tracehouse restore`"):
        open_warehouse().settle()


def test_a_journal_in_a_shared_folder_cannot_write_elsewhere(home: Path) -> None:
    """Somebody who may write into the folder names another file, with new content beside it."""
    lay_out("new")
    other = home.parent / "authorized_keys"
    other.write_text("old")
    beside(other).write_text("new")
    (data_folder() / JOURNAL).write_text(json.dumps({"catalogue": str(other)}))
    with pytest.raises(WarehouseError, match="authorized_keys"):
        open_warehouse().settle()
    assert other.read_text() == "old"
