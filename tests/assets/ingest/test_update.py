"""Log files come piece by piece, in any order, packed, renamed, corrected: the tables always are those of one fresh ingest."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.pbs_logs import write_days
from tests.assets.ingest.incremental import PACK, Delivery, Log, OpenWarehouse, ended, new_time, queued, started
from tests.shared import size
from tests.tiny import assert_same_tables
from traces.common.blocks import LogStream
from traces.common.log import LogError


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> OpenWarehouse:
    return OpenWarehouse(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def log(warehouse: OpenWarehouse, tmp_path: Path) -> Iterator[Log]:
    log = Log(warehouse, tmp_path)
    yield log
    log.forget()


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Three days of a server, eight jobs each: queue, start and end records."""
    folder = tmp_path_factory.mktemp("days")
    write_days(folder, 24, 8, "QSE")
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


FIRST, SECOND, THIRD = "20190101", "20190102", "20190103"


def deliver(log: Log, days: dict[str, bytes]) -> None:
    for name, content in days.items():
        log.write(name, content)


def test_nothing_new_opens_no_file(log: Log, days: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    deliver(log, days)
    first = log.ingest()
    assert first.files["read"] == 3 and first.lines.total() == 3 * 24
    before = log.tables()

    def opened(self: LogStream) -> None:
        raise AssertionError(f"{self.path} is opened")

    monkeypatch.setattr(LogStream, "__iter__", opened)
    done = log.ingest()
    assert +done.files == {"unchanged": 3} and not done.lines and done.bytes == 0
    assert_same_tables(log.tables(), before)


def test_a_file_that_grows_is_read_from_where_it_ended(log: Log, days: dict[str, bytes]) -> None:
    lines = days[SECOND].splitlines(keepends=True)
    deliver(log, days)
    log.write(SECOND, *lines[:13])
    log.ingest()
    log.append(SECOND, *lines[13:])
    done = log.ingest()
    assert +done.files == {"unchanged": 2, "grown": 1}
    assert done.lines.total() == len(lines) - 13
    log.assert_like_fresh()


def test_a_day_in_many_pieces(log: Log, days: dict[str, bytes]) -> None:
    lines = days[FIRST].splitlines(keepends=True)
    log.write(SECOND, days[SECOND])
    log.ingest()
    for first in range(0, len(lines), 4):
        log.append(FIRST, *lines[first : first + 4])
        done = log.ingest()
        assert done.lines.total() == 4 and done.files["grown"] == (first > 0)
    log.assert_like_fresh()


@pytest.mark.parametrize("left", ["nothing but the line's end", "half of it", "all but its first letter"])
def test_a_line_that_was_half_there_is_read_as_a_whole(log: Log, days: dict[str, bytes], left: str) -> None:
    log.write(FIRST, days[FIRST])
    begin = days[SECOND].index(b"\n", len(days[SECOND]) // 2) + 1
    end = days[SECOND].index(b"\n", begin)
    cut = {"nothing but the line's end": end, "half of it": (begin + end) // 2, "all but its first letter": begin + 1}
    log.write(SECOND, days[SECOND][: cut[left]])
    log.ingest()
    log.assert_like_fresh()
    log.append(SECOND, days[SECOND][cut[left] :])
    done = log.ingest()
    assert done.files["unchanged"] == 1 and not done.outcome("rejected")
    log.assert_like_fresh()


def test_half_a_line_alone_is_no_reason_to_fail(log: Log, days: dict[str, bytes]) -> None:
    """Somebody may be writing it: a fresh ingest takes it for one rejected line."""
    lines = days[FIRST].splitlines(keepends=True)
    log.write(FIRST, *lines[:20])
    log.ingest()
    log.append(FIRST, lines[20][:9])
    log.ingest()
    log.assert_like_fresh()
    log.append(FIRST, lines[20][9:], *lines[21:])
    log.ingest()
    log.assert_like_fresh()


def test_a_new_file_of_rejects_is_taken_in_beside_good_ones(log: Log, days: dict[str, bytes]) -> None:
    deliver(log, days)
    log.ingest()
    log.write("20190104", "no accounting record\n")
    log.ingest()
    log.assert_like_fresh()


@pytest.mark.parametrize("order", [(SECOND, FIRST, THIRD), (THIRD, SECOND, FIRST), (THIRD, FIRST, SECOND)])
def test_days_out_of_order(log: Log, days: dict[str, bytes], order: tuple[str, ...]) -> None:
    for name in order:
        log.write(name, days[name])
        log.ingest()
        log.assert_like_fresh()


def test_a_file_that_overlaps_another(log: Log, days: dict[str, bytes]) -> None:
    lines = days[FIRST].splitlines(keepends=True)
    log.write(FIRST, days[FIRST])
    log.ingest()
    log.write("again", *lines[10:], days[SECOND])
    log.ingest()
    log.assert_like_fresh()
    repeats = log.rows("SELECT count(*) FROM core.repeats WHERE source = $source")[0][0]
    assert repeats == sum(b";E;" in line for line in lines[10:])
    assert len(log.jobs("job_id")) == 16


@pytest.mark.parametrize("name", ["0-copy", "z-copy", f"{FIRST}.zst"])
def test_the_same_file_under_another_name(log: Log, days: dict[str, bytes], name: str) -> None:
    deliver(log, days)
    log.ingest()
    log.write(name, PACK.get(Path(name).suffix, bytes)(days[FIRST]))
    log.ingest()
    log.assert_like_fresh()
    assert len(log.jobs("job_id")) == 24
    (log.folder / FIRST).unlink()  # its content has a file still: only the rows of that one stay
    log.ingest()
    log.assert_like_fresh()


def test_a_touched_file_is_not_parsed_again(log: Log, days: dict[str, bytes]) -> None:
    deliver(log, days)
    log.ingest()
    before = log.tables()
    new_time(log.folder / SECOND)
    done = log.ingest()
    assert +done.files == {"unchanged": 2, "touched": 1} and not done.lines
    assert_same_tables(log.tables(), before)
    assert +log.ingest().files == {"unchanged": 3}


@pytest.mark.parametrize("new", [b"Exit_status=1 ", b"Exit_status=271 "], ids=["same size", "other size"])
def test_a_corrected_file_replaces_its_rows(log: Log, days: dict[str, bytes], new: bytes) -> None:
    deliver(log, days)
    log.ingest()
    middle = days[SECOND].index(b"Exit_status=0 ", len(days[SECOND]) // 3)
    path = log.write(SECOND, days[SECOND][:middle], new, days[SECOND][middle + len(b"Exit_status=0 ") :])
    new_time(path)
    done = log.ingest()
    assert +done.files == {"unchanged": 2, "read": 1} and done.lines.total() == 24
    log.assert_like_fresh()


def test_a_file_that_lost_its_end(log: Log, days: dict[str, bytes]) -> None:
    deliver(log, days)
    log.ingest()
    log.write(SECOND, *days[SECOND].splitlines(keepends=True)[:9])
    log.ingest()
    log.assert_like_fresh()


def test_a_file_that_is_empty_for_a_time(log: Log, days: dict[str, bytes]) -> None:
    deliver(log, days)
    for content in (b"", days[SECOND], b"", days[SECOND]):
        log.write(SECOND, content)
        log.ingest()
        log.assert_like_fresh()


@pytest.mark.parametrize("suffix", PACK)
def test_a_packed_file_takes_the_place_of_the_plain_one(log: Log, days: dict[str, bytes], suffix: str) -> None:
    deliver(log, days)
    log.ingest()
    (log.folder / FIRST).unlink()
    log.write(FIRST + suffix, PACK[suffix](days[FIRST]))
    done = log.ingest()
    assert +done.files == {"unchanged": 2, "read": 1, "moved": 1}
    log.assert_like_fresh()
    log.write(FIRST + suffix, PACK[suffix](days[FIRST] + days[FIRST].splitlines(keepends=True)[-1]))
    log.ingest()
    log.assert_like_fresh()


def test_rotated_files(log: Log, days: dict[str, bytes]) -> None:
    """The newest is always `log`; older ones move on by a name, and are packed from the second on."""
    for content in days.values():
        second, first = log.folder / "log.1", log.folder / "log"
        if second.exists():
            log.write("log.2.gz", gzip.compress(second.read_bytes()))
        if first.exists():
            first.rename(second)
        log.write("log", content)
        log.ingest()
        log.assert_like_fresh()


def test_a_file_that_was_packed_after_it_had_grown_unseen(log: Log, days: dict[str, bytes]) -> None:
    """The rows of the shorter one stay: they are there twice now, and every job is there once."""
    lines = days[FIRST].splitlines(keepends=True)
    log.write(FIRST, *lines[:17])
    log.ingest()
    (log.folder / FIRST).unlink()
    log.write(f"{FIRST}.gz", gzip.compress(days[FIRST]))
    assert log.ingest().files["gone"] == 1
    found, fresh = log.tables(), log.fresh()
    for table in ("core.jobs", "core.requeues", "core.capacity", "core.clusters", "core.sources"):
        ours, theirs = (tables[table].drop("file", "line", strict=False) for tables in (found, fresh))
        assert ours.equals(theirs), table


def test_a_file_that_is_gone_leaves_its_rows(log: Log, days: dict[str, bytes]) -> None:
    deliver(log, days)
    log.ingest()
    before = log.tables()
    (log.folder / SECOND).unlink()
    done = log.ingest()
    assert +done.files == {"unchanged": 2, "gone": 1}
    assert_same_tables(log.tables(), before)
    log.write("20190104", days[SECOND].replace(b".sched1", b".sched2"))
    log.ingest()
    assert len(log.jobs("job_id")) == 32
    log.write(SECOND, days[SECOND])  # it comes back
    log.ingest()
    log.assert_like_fresh()


def test_another_entry_in_the_catalogue_reads_all_again(
    log: Log, days: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    deliver(log, days)
    log.ingest()
    for changes in (
        {"procs": 1000},
        {"procs": 8, "drop_wider": True},
        {"procs": None, "drop_wider": False},
        {"pseudonyms": ("user",)},
        {"pseudonyms": ()},
    ):
        log.source = replace(log.source, **changes)
        done = log.ingest()
        assert done.lines.total() == 72, changes
        log.assert_like_fresh()


def test_another_time_zone_or_path_needs_no_reading(log: Log, days: dict[str, bytes], tmp_path: Path) -> None:
    deliver(log, days)
    log.ingest()
    moved = log.folder.rename(tmp_path / "elsewhere")
    log.folder = moved
    for time_zone in (None, "Asia/Tokyo"):
        log.source = replace(log.source, path=moved, time_zone=time_zone)
        assert not log.ingest().lines
        log.assert_like_fresh()


def test_what_the_catalogue_says_of_the_cluster_needs_no_reading(log: Log, days: dict[str, bytes]) -> None:
    deliver(log, days)
    log.ingest()
    for changes in ({"nodes": 12}, {"gpus": 3, "node_memory_gb": 64}, {"nodes": None, "description": "a cluster"}):
        log.source = replace(log.source, **changes)
        assert not log.ingest().lines
        log.assert_like_fresh()


def test_a_file_that_cannot_be_read_leaves_the_tables(log: Log, days: dict[str, bytes]) -> None:
    log.write(FIRST, days[FIRST])
    log.ingest()
    before = log.tables()
    packed = gzip.compress(days[THIRD])
    log.write(SECOND, days[SECOND])
    log.write(f"{THIRD}.gz", packed[:-100])  # it is still being copied
    with pytest.raises(LogError, match="damaged"):
        log.ingest()
    assert_same_tables(log.tables(), before)
    log.write(f"{THIRD}.gz", packed)
    log.ingest()
    log.assert_like_fresh()


def test_two_changes_between_two_ingests(log: Log, days: dict[str, bytes]) -> None:
    """Two files exchange their names while a third grows and a fourth comes."""
    log.write(FIRST, days[FIRST])
    log.write(SECOND, days[SECOND])
    log.write("new", queued(1, 0), started(1, 0, 10))
    log.ingest()
    log.write(FIRST, days[SECOND])
    log.write(SECOND, days[FIRST])
    log.append("new", ended(1, 0, 10, 100))
    log.write(THIRD, days[THIRD])
    log.ingest()
    log.assert_like_fresh()


@pytest.mark.parametrize("six", range(size(1, 10)))
def test_any_sequence_of_deliveries_ends_in_the_tables_of_a_fresh_ingest(log: Log, six: int) -> None:
    for seed in range(6 * six, 6 * six + 6):
        delivery = Delivery(log, seed)
        log.write("0", queued("first", 0), ended("first", 0, 10, 20))  # a source needs a job
        story = []
        for _ in range(1 + seed % 4):
            story.append(delivery.change())
            log.ingest()
        delivery.finish()
        log.ingest()
        try:
            log.assert_like_fresh()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {'; '.join(story)}") from error
        for path in log.folder.iterdir():
            path.unlink()
        log.forget()


def test_a_line_that_is_still_being_written_is_not_read(log: Log) -> None:
    """Half of a record may be a sound one with other values: `end=1772323290` without its last digits."""
    first, second = started(1, 0, 10) + ended(1, 0, 10, 50), ended(2, 5, 20, 90)
    log.write("1", first + second[:-30])
    done = log.ingest()
    assert (done.outcome("accepted"), done.outcome("ignored"), done.outcome("rejected")) == (1, 1, 0)
    log.write("1", first + second)  # the line goes on
    log.ingest()
    assert log.jobs("job_id", "runtime_s") == [("1.head", 40), ("2.head", 70)]
    log.assert_like_fresh()


def test_the_last_line_of_a_file_at_rest_is_read_though_it_has_no_end(log: Log) -> None:
    log.write("1", ended(1, 0, 10, 50) + ended(2, 5, 20, 90).removesuffix("\n"))
    log.ingest()
    assert log.jobs("job_id") == [("1.head",)]
    yesterday = time.time() - 90_000
    os.utime(log.folder / "1", (yesterday, yesterday))
    assert log.ingest().files["read"] == 1
    assert log.jobs("job_id") == [("1.head",), ("2.head",)]
    assert log.ingest().files["unchanged"] == 1
    log.assert_like_fresh()


def test_a_byte_order_mark_costs_no_record(log: Log) -> None:
    log.write("1", "\ufeff" + ended(1, 0, 10, 50))
    assert log.ingest().outcome("rejected") == 0
    assert log.jobs("job_id") == [("1.head",)]
