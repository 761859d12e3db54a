"""Damaged logs on their way into a warehouse: a LogError or an ingest whose counts add up, never anything else, never a hang.

Whether a sound line is read rightly is tested with its reader (tests/traces); here everything around it is broken.
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import zstandard

from assets.common.checks import broken_rows
from assets.ingest.rows import RECORDS
from assets.ingest.update import update_raw_log
from tests.assets.ingest.incremental import TABLES, OpenWarehouse, tables
from tests.shared import size
from tests.tiny import assert_same_tables
from tests.traces.pbs.pbs_lines import end_record
from tests.traces.slurm.slurm_lines import HEADER, job_line, step_line
from traces.catalogue.sources import Source
from traces.common.log import LogError
from traces.formats import guess_format
from warehouse import Warehouse

FORMATS = ("swf", "pbs", "slurm")
IDS = {"swf": "job_number::VARCHAR", "pbs": "job_id", "slurm": "job_id"}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".zst": lambda content: zstandard.ZstdCompressor(write_checksum=True).compress(content),
    ".xz": lambda content: lzma.compress(content, preset=0),
}
PIECES = (
    b" ", b"\t", b"=", b'"', b";", b"|", b"\r", b"\n", b"\0", b"\x1a", b"\x85", b"\xff", "é".encode(), b"\xe2\x80\xa8", b"-",
    b"9" * 25, b"9" * 400, b"1e400", b"nan", b"-0", b" ctime=", b" end=0", b'user="x', b"2024-02-30T00:00:00", b"12.0|", b"[1-3",
    b"; MaxRecords: x", b"\\x00", b"1-00:00:00", b"Unknown", b".", b"|" * 40, b" 1" * 30,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """A test that hangs fails instead, where the system has an alarm clock."""

    def ring(*_: object) -> None:
        raise TimeoutError("this took more than two minutes")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def with_one_log(tmp_path_factory: pytest.TempPathFactory) -> OpenWarehouse:
    folder = tmp_path_factory.mktemp("warehouse")
    found = OpenWarehouse(folder)
    (folder / "first.swf").write_bytes(sound_log("swf"))
    update_raw_log(found, Source("first", "swf", folder / "first.swf"))
    return found


@pytest.fixture
def warehouse(with_one_log: OpenWarehouse) -> Iterator[Warehouse]:
    """With one sound log in it, whose rows stay as they are."""
    before = tables(with_one_log, "first")
    yield with_one_log
    with with_one_log.write() as connection:
        for table in TABLES:
            connection.execute(f"DELETE FROM {table} WHERE source <> 'first'")
    assert_same_tables(before, tables(with_one_log, "first"))


def sound_line(log_format: str, number: int) -> str:
    if log_format == "swf":
        return f"{number} {number % 5000} 5 60 4 -1 -1 4 120 -1 1 7 1 -1 1 -1 -1 -1"
    if log_format == "pbs":
        return end_record(f"{number}")
    return job_line(JobID=f"{number}", JobIDRaw=f"{number}")


def sound_log(log_format: str, first: int = 1, jobs: int = 8) -> bytes:
    lines = {"swf": ["; Version: 2.2", "; Note: sound"], "pbs": [], "slurm": [HEADER]}[log_format]
    for number in range(first, first + jobs):
        lines.append(sound_line(log_format, number))
        lines += [step_line(f"{number}.0", MaxRSS="1M")] * (log_format == "slurm")
        lines += [f"01/02/2020 10:00:00;Q;{number};queue=é"] * (log_format == "pbs")
    return ("\n".join(lines) + "\n").encode()


def lines_in(content: bytes) -> int:
    return content.count(b"\n") + (content[-1:] not in (b"", b"\n"))


def assert_adds_up(warehouse: Warehouse, source: str, log_format: str, contents: dict[str, bytes]) -> None:
    """Every file is in the ledger with all its lines, and every line counts once, by what is stored or by a count."""
    assert broken_rows(warehouse, "checks.counts_add_up", source) == []
    stored = f"SELECT file, line FROM {RECORDS[log_format]} WHERE source = $1"
    with warehouse.read() as connection:
        ledger = connection.execute(
            "SELECT file, lines, accepted + kept + ignored + rejected FROM raw.log_files WHERE source = $1", [source]
        ).fetchall()
        numbers = connection.execute(
            f"SELECT file, count(*), count(DISTINCT line), min(line), max(line) FROM ({stored} UNION ALL "
            "SELECT file, line FROM raw.rejects WHERE source = $1) GROUP BY file",
            [source],
        ).fetchall()
    expected = {name: lines_in(content) for name, content in contents.items()}
    assert {file: lines for file, lines, _ in ledger} == expected and len(ledger) == len(expected)
    assert all(lines == told for _, lines, told in ledger)
    for file, lines, different, first, last in numbers:
        assert lines == different and first >= 1 and last <= expected[file]


def ids_of(warehouse: Warehouse, source: str, log_format: str) -> set[str]:
    with warehouse.read() as connection:
        query = f"SELECT {IDS[log_format]} FROM {RECORDS[log_format]} WHERE source = ?"
        return {job for (job,) in connection.execute(query, [source]).fetchall()}


# Lines.


def damaged(line: bytes, rng: np.random.Generator) -> bytes:
    content = bytearray(line)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(content) + 1))
        length = int(rng.integers(1, 12))
        match int(rng.integers(6)):
            case 0:
                content[place : place + 1] = bytes([int(rng.integers(256))])
            case 1:
                del content[place : place + length]
            case 2:
                content[place:place] = content[place : place + length]
            case 3:
                content[place:place] = PIECES[int(rng.integers(len(PIECES)))]
            case 4:
                del content[place:]
            case 5:
                blank = b"|" if b"|" in content else b" "
                words = bytes(content).split(blank)
                rng.shuffle(words)
                content = bytearray(blank.join(words))
    return bytes(content)


@pytest.mark.parametrize("log_format", FORMATS)
def test_damaged_lines(tmp_path: Path, warehouse: Warehouse, log_format: str) -> None:
    """10,000 of them in three formats, with a sound line after every tenth, which must be found."""
    rng = np.random.default_rng(FORMATS.index(log_format))
    folder = tmp_path / "logs"
    folder.mkdir()
    contents, sound = {}, set()
    for file in range(5):
        lines = [HEADER.encode()] if log_format == "slurm" else []
        for k in range(670):
            number = file * 1000 + k + 1
            line = step_line(f"{number}.0", MaxRSS="1M") if k % 9 == 8 and log_format == "slurm" else None
            lines.append(damaged((line or sound_line(log_format, number)).encode(), rng))
            if k % 10 == 9:
                lines.append(sound_line(log_format, 900_000 + number).encode())
                sound.add(f"{900_000 + number}")
        contents[f"{file}.log"] = b"\n".join([*lines, b""])
        (folder / f"{file}.log").write_bytes(contents[f"{file}.log"])
    done = update_raw_log(warehouse, Source("mine", log_format, folder))
    assert_adds_up(warehouse, "mine", log_format, contents)
    assert sound <= ids_of(warehouse, "mine", log_format)
    assert done.outcome("rejected") > 500 and done.outcome("accepted") > 500  # neither is all there is


# Files.


def damaged_files(log_format: str, content: bytes, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """About 60 of them."""
    size = len(content)
    others = [sound_log(other, 50) for other in FORMATS if other != log_format]
    for k in range(8):
        yield f"cut-{k}", content[: int(rng.integers(size))]
        yield f"beheaded-{k}", content[int(rng.integers(size)) :]
        flipped = bytearray(content)
        for place in rng.integers(size, size=1 << k):
            flipped[place] ^= 1 << int(rng.integers(8))
        yield f"bits-{k}", bytes(flipped)
        block = 32 << k
        blocks = [content[begin : begin + block] for begin in range(0, size, block)]
        rng.shuffle(blocks)
        yield f"blocks-{k}", b"".join(blocks)
        hole = int(rng.integers(size))
        yield f"hole-{k}", content[:hole] + b"\0" * (1 << (2 * k)) + content[hole + 100 :]
        yield f"binary-{k}", rng.bytes(1 << (2 * k))
    text = content.decode()
    for name in ("utf-16", "utf-16-be", "utf-32", "utf-8-sig"):
        yield name, text.encode(name)
    yield "latin-1", text.replace("sound", "ü").replace("STDIN", "é").replace("run.sh", "ß").encode("latin-1")
    yield "crlf", content.replace(b"\n", b"\r\n")
    yield "cr", content.replace(b"\n", b"\r")
    yield "twice", content + content
    yield "mixed", others[0] + content + others[1]
    pairs = zip(content.split(b"\n"), others[0].split(b"\n"), strict=False)
    yield "mixed line by line", b"\n".join(line for pair in pairs for line in pair)
    yield "other", others[1]
    yield "empty", b""
    yield "newlines", b"\n" * 100
    yield "blanks", b" \t\r\n" * 50 + b" "
    yield "one line", content.replace(b"\n", b" ")
    yield "packed without saying so", gzip.compress(content)


def log_error(warehouse: Warehouse, source: Source) -> str:
    """What the LogError says; "" where there is none."""
    try:
        update_raw_log(warehouse, source)
    except LogError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("log_format", FORMATS)
def test_damaged_files(tmp_path: Path, warehouse: Warehouse, log_format: str) -> None:
    """All in one folder; a file that makes a LogError, which must name it, is taken out, until the others are read."""
    contents = {"sound.log": sound_log(log_format, 900_000)}
    contents |= dict(damaged_files(log_format, sound_log(log_format), np.random.default_rng(7)))
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        with suppress(LogError):
            assert guess_format(folder / name) in FORMATS
    files = len(contents)
    while message := log_error(warehouse, Source("mine", log_format, folder)):
        named = Path(message.split(":")[0])
        assert named.parent == folder and named.name != "sound.log", message
        del contents[named.name]
        named.unlink()
    assert files > 60 and len(contents) > 45
    assert_adds_up(warehouse, "mine", log_format, contents)
    assert {f"{number}" for number in range(900_000, 900_008)} <= ids_of(warehouse, "mine", log_format)


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("log_format", FORMATS)
def test_packed_and_then_damaged(tmp_path: Path, warehouse: Warehouse, log_format: str, suffix: str) -> None:
    """The whole log or an error, but never a part of a log."""
    rng = np.random.default_rng(3)
    content = sound_log(log_format)
    packed = PACKERS[suffix](content)
    errors = 0
    for k in range(12):
        path = tmp_path / f"logs-{k}" / f"log{suffix}"
        path.parent.mkdir()
        whole = bytearray(packed)
        place = int(rng.integers(len(packed)))
        match k % 4:
            case 0:
                del whole[max(place, 1) :]
            case 1:
                whole[place] ^= 1 << int(rng.integers(8))
            case 2:
                whole[place : place + 40] = whole[place + 20 : place + 40] + whole[place : place + 20]
            case 3:
                whole = bytearray(rng.bytes(len(packed)))
        path.write_bytes(bytes(whole))
        source = Source(f"mine{k}", log_format, path)
        if log_error(warehouse, source):
            errors += 1
            continue
        with warehouse.read() as connection:
            query = "SELECT lines FROM raw.log_files WHERE source = ?"
            assert connection.execute(query, [source.name]).fetchall() == [(lines_in(content),)]
        assert broken_rows(warehouse, "checks.counts_add_up", source.name) == []
    assert errors > 8


def test_a_damaged_log_may_be_the_first(tmp_path: Path) -> None:
    """Of a warehouse that is not there yet: the next log is read as if nothing had been."""
    (tmp_path / "damaged.gz").write_bytes(b"rubbish")
    (tmp_path / "sound.swf").write_bytes(sound_log("swf"))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with pytest.raises(LogError):
        update_raw_log(warehouse, Source("damaged", "pbs", tmp_path / "damaged.gz"))
    update_raw_log(warehouse, Source("sound", "swf", tmp_path / "sound.swf"))
    assert_adds_up(warehouse, "sound", "swf", {"sound.swf": sound_log("swf")})


def test_folders_that_are_named_like_logs(tmp_path: Path, warehouse: Warehouse) -> None:
    folder = tmp_path / "all.swf.gz"
    for name in ("a.swf", "b.gz", "c.zst"):
        (folder / name).mkdir(parents=True)
        (folder / name / "inner.swf").write_bytes(b"rubbish")
    with pytest.raises(LogError, match="has no file, only folders"):
        update_raw_log(warehouse, Source("mine", "swf", folder))
    contents = {"d.swf": sound_log("swf")}
    (folder / "d.swf").write_bytes(contents["d.swf"])
    (folder / "dangling.swf").symlink_to(tmp_path / "nowhere")
    (folder / "itself.swf").symlink_to(folder / "itself.swf")
    update_raw_log(warehouse, Source("mine", "swf", folder))
    assert_adds_up(warehouse, "mine", "swf", contents)


@pytest.mark.parametrize("name", [b"with\nnewline", b"'; DROP TABLE x; --", b" ", "é".encode(), b"\xff"])
def test_odd_names_of_files(tmp_path: Path, warehouse: Warehouse, name: bytes) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for end in (b"1", b"\xff" if name == b"\xff" else b"2"):
        Path(os.fsdecode(bytes(folder) + b"/" + name + end)).write_bytes(sound_log("pbs"))
    if log_error(warehouse, Source("mine", "pbs", folder)):
        return
    assert broken_rows(warehouse, "checks.counts_add_up", "mine") == []
    assert update_raw_log(warehouse, Source("mine", "pbs", folder)).files["unchanged"] == 2


@pytest.mark.parametrize("digits", [12, 25, 5000])
@pytest.mark.parametrize("key", ["MaxProcs", "UnixStartTime"])
def test_huge_numbers_in_a_header(tmp_path: Path, warehouse: Warehouse, key: str, digits: int) -> None:
    path = tmp_path / "log.swf"
    for sign in ("", "-"):
        path.write_bytes(f"; {key}: {sign}{'9' * digits}\n".encode() + sound_log("swf"))
        if not log_error(warehouse, Source("mine", "swf", path)):
            assert_adds_up(warehouse, "mine", "swf", {"log.swf": path.read_bytes()})


@pytest.mark.parametrize("kept", [1.0, 0.9, 0.5])
@pytest.mark.parametrize("log_format", FORMATS)
def test_a_copy_that_is_ingested_before_it_has_finished(
    tmp_path: Path, warehouse: Warehouse, log_format: str, kept: float
) -> None:
    """What is stored in the end is what the whole file says, wherever the copy stood the first time."""
    path = tmp_path / "log"
    content = sound_log(log_format)
    path.write_bytes(content[: int(len(content) * kept)])
    source = Source("mine", log_format, path)
    update_raw_log(warehouse, source)
    for _ in range(2):
        content += sound_line(log_format, 20 + len(content)).encode() + b"\n"
        path.write_bytes(content)
        update_raw_log(warehouse, source)
        assert_adds_up(warehouse, "mine", log_format, {"log": content})
    assert len(ids_of(warehouse, "mine", log_format)) == 10


# Files that unpack to far too much.

CHILD = """
    import json, sys, time
    from pathlib import Path

    def peak():  # of this program alone; ru_maxrss also knows that of the program which started it
        return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) >> 10

    from assets.ingest.update import update_raw_log
    from traces.catalogue.sources import Source
    from traces.common.log import LogError
    from warehouse import Warehouse
    import traces.common.blocks

    before = peak()
    for path, log_format, always_unpacked in json.load(sys.stdin):
        begin = time.monotonic()
        traces.common.blocks._ALWAYS_UNPACKED = always_unpacked
        try:
            update_raw_log(Warehouse(Path(path + ".duckdb")), Source("x", log_format, Path(path)))
            said = "accepted"
        except LogError as error:
            said = str(error)
        print(json.dumps([said, peak() - before, time.monotonic() - begin]))
"""
BOMBS = {
    f"{log_format} of {'zeros' if byte == bytes(1) else 'newlines'}": (suffix, log_format, byte)
    for suffix, log_format in ((".gz", "swf"), (".xz", "pbs"), (".zst", "slurm"))
    for byte in (b"\0", b"\n")
}


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, int, float]]:
    """By name of a log: (what its ingest said, how many MiB were needed so far, seconds).

    All in one process of their own, since each costs seconds; the one that needs little comes first.
    """
    if not Path("/proc/self/status").exists():
        pytest.skip("peak memory is read from /proc/self/status, which this system does not have")
    folder = tmp_path_factory.mktemp("greedy")
    line = (end_record() + "\n").encode() + b"x" * (64 << 20) + ("\n" + end_record("2.head") + "\n").encode()
    (folder / "giant.log").write_bytes(line)
    logs = [(f"{folder / 'giant.log'}", "pbs", 256 << 20)]
    for name, (suffix, log_format, byte) in BOMBS.items():
        path = folder / f"{name.replace(' ', '-')}{suffix}"
        path.write_bytes(PACKERS[suffix](byte * (16 << 20)) * size(4, 40))
        logs.append((f"{path}", log_format, size(10, 30) << 20))  # less than the usual limit, to be quicker
    command = [sys.executable, "-c", textwrap.dedent(CHILD)]
    root = Path(__file__).parents[3]
    printed = subprocess.check_output(command, input=json.dumps(logs), text=True, timeout=300, cwd=root)
    told = [tuple(json.loads(line)) for line in printed.splitlines()]
    return dict(zip(("giant", *BOMBS), told, strict=True))


def test_a_line_of_64_mebibytes_needs_little_memory(greedy: dict[str, tuple[str, int, float]]) -> None:
    said, mebibytes, seconds = greedy["giant"]
    assert said == "accepted" and mebibytes < 300 and seconds < 30


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_an_error(greedy: dict[str, tuple[str, int, float]], bomb: str) -> None:
    """Every newline is a blank line, up to the limit."""
    said, mebibytes, seconds = greedy[bomb]
    assert "unpack to more than" in said
    assert mebibytes < size(1024, 2048) and seconds < 60
