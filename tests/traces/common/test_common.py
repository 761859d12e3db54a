"""Tests of traces/common: columns, compiled, ends, log, queue, spans."""

from __future__ import annotations

import gzip
import lzma
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import compilation
import sql
import traces
from assets.ingest.reading import reader_of
from compilation import source_hash
from tests.traces.common.logs import written
from traces.catalogue.sources import Source
from traces.collector.archive import is_collection
from traces.common import compiled
from traces.common.blocks import LogStream, first_bytes
from traces.common.columns import Columns
from traces.common.ends import END_STATES, FAULTS
from traces.common.log import LogError, log_files
from traces.common.pseudonyms import pseudonym_of
from traces.common.queue import HELD, WAITING, QueueJob, QueueJobFault, snapshot_of, whole_seconds
from traces.common.spans import integers_of, line_starts, lines_of, renamed_texts, texts_of
from traces.formats import guess_format
from traces.swf.fields import FIELDS
from traces.swf.reader import read_swf
from traces.swf.scan import scan_swf

# columns: Slices of rows become one frame: arrays, constants, and columns with nulls, mapped from files where they
# are long.

ROWS = pl.DataFrame(
    {
        "all": [5, 3, 8, 1, 9, 2],
        "constant": [7] * 6,
        "late": [1, 1, 1, 1, 4, 5],
        "later_null": [1, 2, 3, 4, None, 6],
        "first_null": [None, None, 3, 4, 5, 6],
        "never": pl.Series([None] * 6, dtype=pl.Float64),
        "share": [0.5, 0.25, 0.5, 1.0, 1.0, 1.0],
        "word": ["a", None, "b", "a word that is longer than twelve", "c", "d"],
        "no_word": pl.Series([None] * 6, dtype=pl.String),
    }
)


@pytest.mark.parametrize("height", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("mapped", [True, False])
def test_slices_of_any_height_give_the_rows(
    height: int, mapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traces.common.columns.MAPPED_ROWS", 2 if mapped else 100)
    columns = Columns(ROWS.height, tmp_path / "staging")
    for begin in range(0, ROWS.height, height):
        columns.add(ROWS.slice(begin, height))
    frame = columns.frame()
    assert_frame_equal(frame, ROWS)
    assert (tmp_path / "staging").exists() == mapped and not list(tmp_path.glob("staging/*"))
    if not mapped:
        assert np.shares_memory(frame["all"].to_numpy(), columns._arrays["all"].values())


def test_fewer_rows_than_there_was_room_for_and_constants_alone(tmp_path: Path) -> None:
    columns = Columns(100, tmp_path)
    columns.add(ROWS)
    assert_frame_equal(columns.frame(), ROWS)
    alone = Columns(100, tmp_path)
    alone.add(ROWS.select("constant", "never"))
    alone.add(ROWS.select("constant", "never"))
    assert_frame_equal(alone.frame(), pl.concat([ROWS.select("constant", "never")] * 2))


def test_who_may_only_read_has_files_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **named: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("traces.common.columns.MAPPED_ROWS", 2)
    monkeypatch.setattr(Path, "mkdir", refused)
    columns = Columns(ROWS.height, tmp_path / "staging")
    columns.add(ROWS)
    assert_frame_equal(columns.frame(), ROWS)


# ends: The ends of jobs are those that the table of jobs documents.


def test_every_end_is_documented_and_faults_are_ends() -> None:
    line = next(line for line in sql.load("core.jobs").splitlines() if "status VARCHAR" in line)
    assert set(END_STATES) == set(line.partition("-- ")[2].replace(" or ", ", ").split(", "))
    assert set(END_STATES) - set(FAULTS) == {"completed", "cancelled", "unknown"}


# log: Opening a log: files that are packed, cut, damaged or not there, whatever the format.


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


def test_a_folder_of_folders_names_those_with_files(tmp_path: Path) -> None:
    for folder in ("site/accounting", "site/empty", "2024"):
        (tmp_path / folder).mkdir(parents=True)
    with pytest.raises(LogError, match="is empty, and so are those in it"):
        log_files(tmp_path)
    (tmp_path / "site" / "accounting" / "20260301").write_text("")
    (tmp_path / "site" / "empty" / ".hidden").write_text("")
    with pytest.raises(
        LogError, match=f"with files are site/accounting: give one of them, such as {tmp_path}/site/acc"
    ):
        log_files(tmp_path)
    for month in range(1, 7):
        (tmp_path / "2024" / f"{month}").mkdir()
        (tmp_path / "2024" / f"{month}" / "log").write_text("")
    with pytest.raises(LogError, match="with files are 2024/1, 2024/2, 2024/3, 2024/4 and 3 more"):
        log_files(tmp_path)


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
    assert not is_collection(no_file)


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


# queue: A queue at one moment: sums and pseudonyms.

JOB = QueueJob("1", WAITING, "", 3, 4, 60, 100, None, user_name="ada", group_name=None, job_name="solve")
KEPT = QueueJob("2", HELD, "held", 2, 4, 60, 100, None)


def test_what_was_read_is_the_sum_of_what_became_of_it() -> None:
    snapshot = snapshot_of("q.json", None, [JOB, KEPT, None, QueueJobFault("job 9: expected more", 5)])
    assert snapshot.read == 3 + 2 + 1 + 5 and snapshot.count(HELD) == 2
    assert snapshot.faults == (("q.json: job 9: expected more", 5),)


def test_names_become_the_pseudonyms_of_the_log() -> None:
    key = b"k" * 32
    (job,) = snapshot_of("q.json", None, [JOB]).with_pseudonyms(("user", "group"), key).jobs
    assert (job.user_name, job.group_name, job.job_name) == (pseudonym_of(key, "user", "ada"), None, "solve")


def test_numbers_that_are_no_seconds() -> None:
    assert [whole_seconds(value) for value in (5, 5.9, 0, -1, True, "5", None, 1e12)] == [5, 5, *[None] * 6]


# spans: Texts by offset and length, as columns.


def spans_of(texts: list[str | None]) -> tuple[bytes, np.ndarray]:
    """All texts one after another, and where each is; a missing one has the length -1."""
    content, spans = b"", []
    for text in texts:
        encoded = (text or "").encode()
        spans.append((len(content), -1 if text is None else len(encoded)))
        content += encoded
    return content, np.array(spans, dtype=np.int64).reshape(-1, 2)


TEXTS = st.lists(st.none() | st.text(max_size=30) | st.sampled_from(["twelve bytes", "thirteen byte", ""]), max_size=20)


@settings(deadline=None)
@given(TEXTS)
def test_texts_are_those_at_their_places(texts: list[str | None]) -> None:
    content, spans = spans_of(texts)
    assert texts_of(content, spans).to_pylist() == texts


@settings(deadline=None)
@given(TEXTS)
def test_renamed_texts_are_renamed_and_missing_ones_stay(texts: list[str | None]) -> None:
    content, spans = spans_of(texts)
    new_of = {(text or "").encode(): f"new {text}".encode() for text in texts if text is not None}
    expected = [None if text is None else f"new {text}" for text in texts]
    assert renamed_texts(content, spans, new_of).to_pylist() == expected


def test_very_many_different_texts_are_told_apart() -> None:
    texts: list[str | None] = [f"{number}" for number in range(3000)] * 2
    content, spans = spans_of(texts)
    new_of = {(text or "").encode(): (text or "")[::-1].encode() for text in texts}
    assert renamed_texts(content, spans, new_of).to_pylist() == [(text or "")[::-1] for text in texts]


@pytest.mark.parametrize(
    ("content", "starts"), [(b"", [0]), (b"a", [0, 1]), (b"a\n", [0, 2]), (b"a\n\nb", [0, 2, 3, 4])]
)
def test_where_lines_begin(content: bytes, starts: list[int]) -> None:
    assert line_starts(np.frombuffer(content, dtype=np.uint8)).tolist() == starts


def test_lines_come_without_their_ends() -> None:
    assert lines_of("a\r\n\nä b\nlast".encode()).to_list() == ["a", "", "ä b", "last"]


def test_numbers_are_null_where_they_are_missing() -> None:
    found = integers_of(np.array([1, -5, 3]), -5)
    assert pl.Series(pl.from_arrow(found)).to_list() == [1, None, 3]


# compiled: The compiler of this room covers all its files.


def test_the_cache_has_a_key_of_all_files_of_the_room() -> None:
    expected = source_hash(Path(compilation.__file__).parent, Path(traces.__file__).parent)
    assert compiled._COMPILER.source_hash == expected
    assert compiled._COMPILER.folder.name.startswith("traces-")


def test_compiled_functions_are_kept_there() -> None:
    scan_swf(b"")
    assert any(compiled._COMPILER.folder.glob("traces.swf.scan._scan-*.nbc"))
