"""Opening a log: files that are packed, cut, damaged or not there, whatever the format."""

from __future__ import annotations

import gzip
import lzma
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import zstandard

from assets.ingest.reading import reader_of
from tests.traces.common.logs import written
from traces.catalogue.sources import Source
from traces.common.blocks import LogStream, first_bytes
from traces.common.log import LogError, log_files
from traces.formats import guess_format
from traces.swf.fields import FIELDS
from traces.swf.reader import read_swf


def assert_log_error(path: Path, *fragments: str) -> None:
    with pytest.raises(LogError) as error:
        read_swf(path)
    for fragment in (str(path), *fragments):
        assert fragment in str(error.value)


def many_lines() -> bytes:
    """Lines that do not pack into nothing, so that half of the packed file holds some of them."""
    numbers = np.random.default_rng(0).integers(0, 10**6, (5000, len(FIELDS)))
    return "\n".join(" ".join(map(str, row)) for row in numbers.tolist()).encode()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": lambda content: zstandard.ZstdCompressor().compress(content),
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_packed_file_holds_the_same_log(tmp_path: Path, suffix: str) -> None:
    content = many_lines()
    plain = read_swf(written(tmp_path, content, "log.swf"))
    packed = read_swf(written(tmp_path, PACKERS[suffix](content), f"log.swf{suffix}"))
    assert packed.records.equals(plain.records) and packed.lines == plain.lines == 5000
    assert packed.size_bytes != plain.size_bytes and packed.sha256 == plain.sha256  # the hash is of the content
    capitals = read_swf(written(tmp_path, PACKERS[suffix](content), f"LOG.SWF{suffix.upper()}"))
    assert capitals.records.equals(plain.records)


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("kept", [0.5, 0.999])
def test_a_file_that_was_cut_short_is_an_error_and_not_a_shorter_log(tmp_path: Path, suffix: str, kept: float) -> None:
    packed = PACKERS[suffix](many_lines())
    path = tmp_path / f"cut.swf{suffix}"
    path.write_bytes(packed[: int(kept * len(packed))])
    assert_log_error(path, suffix, "copy it again")


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_file_that_is_not_packed_as_its_name_says_is_an_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"plain.swf{suffix}"
    path.write_bytes(many_lines())
    assert_log_error(path, suffix)


def test_a_damaged_gz_is_an_error(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(many_lines()))
    packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / "bits.swf.gz"
    path.write_bytes(bytes(packed))
    assert_log_error(path, "damaged .gz")


def test_a_missing_file_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    assert_log_error(tmp_path / "none.swf", "no such log file", "check the path")


def test_a_directory_is_an_error(tmp_path: Path) -> None:
    assert_log_error(tmp_path)


@pytest.fixture(params=["pipe", "link to a pipe", "socket", "device"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "log"
    with socket.socket(socket.AF_UNIX) as listener:
        if request.param == "socket":
            listener.bind(str(path))
        elif request.param == "device":
            path = Path("/dev/null")
        else:
            os.mkfifo(tmp_path / "fifo")
            path = tmp_path / "fifo" if request.param == "pipe" else path
            if path.name == "log":
                path.symlink_to(tmp_path / "fifo")
        yield path


def test_what_is_no_file_is_refused_and_not_waited_for(no_file: Path) -> None:
    """A pipe that nobody writes to keeps whoever opens it waiting, whatever the format."""
    for look in (log_files, read_swf, first_bytes, guess_format, lambda path: reader_of(Source("a", "pbs", path))):
        with pytest.raises(LogError, match=r"is a (pipe \(FIFO\)|socket|device) and not a file"):
            look(no_file)


def test_a_file_that_becomes_a_pipe_as_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_text("")
    status = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: status)
    assert_log_error(path, "is a pipe (FIFO)")


def test_a_link_to_a_file_of_another_user_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write to the folder could make tracehouse read a file that only tracehouse may read."""
    secret, folder = tmp_path / "secret", tmp_path / "logs"
    secret.write_text("the key\n")
    folder.mkdir()
    (folder / "a.swf").write_text("")
    (folder / "b.swf").symlink_to(secret)
    mine, theirs = os.geteuid(), 54_321
    assert [file.name for file in log_files(folder)] == ["a.swf", "b.swf"], "a link of our own"
    lstat = Path.lstat

    def lstat_of_another_user(path: Path) -> os.stat_result:
        fields = list(lstat(path))
        fields[4] = theirs  # st_uid
        return os.stat_result(fields)

    monkeypatch.setattr(Path, "lstat", lstat_of_another_user)
    for path in (folder, folder / "b.swf"):
        with pytest.raises(LogError, match=f"b.swf: a link by user {theirs} to .*secret, a file of user {mine}"):
            log_files(path)
    monkeypatch.setattr(os, "geteuid", lambda: theirs)
    assert len(log_files(folder)) == 2


def exchange(path: Path, target: Path) -> None:
    """Puts a link in the place of a file or link, as an attacker would: at once."""
    other = path.with_name("other")
    other.symlink_to(target)
    other.replace(path)


@pytest.mark.parametrize("before", ["file", "link"])
def test_a_link_that_is_laid_while_a_log_is_opened_is_not_followed(
    before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, log, path = tmp_path / "secret", tmp_path / "log", tmp_path / "logs" / "a.swf"
    secret.write_text("the key\n")
    log.write_text("; a log\n")
    path.parent.mkdir()
    if before == "file":
        path.write_bytes(log.read_bytes())
    else:
        path.symlink_to(log)
    assert b"".join(block.content for block in LogStream(path)) == b"; a log\n"
    lstat, looks = Path.lstat, []

    def lstat_and_exchange(of: Path) -> os.stat_result:
        status = lstat(of)
        looks.append(of)
        if looks == [path]:
            exchange(path, secret)
        return status

    monkeypatch.setattr(Path, "lstat", lstat_and_exchange)
    with pytest.raises(LogError, match=r"a\.swf: was exchanged for something else while it was opened"):
        list(LogStream(path))


def test_a_link_of_another_user_that_was_laid_after_the_look_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("the key\n")
    (tmp_path / "a.swf").write_text("")
    (path,) = log_files(tmp_path / "a.swf")
    exchange(path, tmp_path / "secret")
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    lstat = Path.lstat
    monkeypatch.setattr(Path, "lstat", lambda of: os.stat_result([*lstat(of)[:4], 12_345, *lstat(of)[5:]]))
    with pytest.raises(LogError, match=r"a\.swf: a link by user 12345 to .*secret"):
        list(LogStream(path))
