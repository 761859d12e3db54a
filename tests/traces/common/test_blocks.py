"""Logs read block by block: what is read depends on the file and never on where its blocks end.

What a file says at once is asked of the parsers themselves, with all of its bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import random
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traces.common.blocks
from tests.traces.pbs.pbs_lines import end_record
from tests.traces.slurm.slurm_lines import HEADER, job_line, step_line, table
from traces.common.blocks import Block, LogStream, Parse, Seen, first_bytes, parse_block, read_log
from traces.common.log import LogError, ParsedLines
from traces.pbs.reader import parse_pbs
from traces.slurm.reader import slurm_cut, slurm_parser
from traces.swf.reader import parse_swf

FORMATS = ("swf", "pbs", "slurm")
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".zst": lambda content: zstandard.ZstdCompressor(write_checksum=True).compress(content),
    ".xz": lambda content: lzma.compress(content, preset=0),
}
PACKED = tuple(suffix for suffix in PACKERS if suffix)


def parser(log_format: str, path: Path, content: bytes) -> Parse:
    if log_format == "slurm":
        return slurm_parser(path, content[:65536])
    return parse_pbs if log_format == "pbs" else parse_swf


def cutter(log_format: str, path: Path, content: bytes) -> Callable[[bytes], int] | None:
    return slurm_cut(path, content[:65536]) if log_format == "slurm" else None


def lines_in(content: bytes) -> int:
    return content.count(b"\n") + (content[-1:] not in (b"", b"\n"))


def assert_same(found: list[ParsedLines], whole: ParsedLines, content: bytes) -> None:
    assert sum(part.lines for part in found) == whole.lines == lines_in(content)
    for table_of in ("records", "events", "rejects"):
        parts = pl.concat([getattr(part, table_of) for part in found]) if found else None
        expected = getattr(whole, table_of)
        assert parts is None or parts.rows() == expected.rows(), table_of
        assert parts is not None or expected.is_empty()
    assert sum((Counter(part.ignored) for part in found), Counter()) == +Counter(whole.ignored)


def read_whole_and_in_blocks(path: Path, log_format: str, content: bytes, block_bytes: int) -> None:
    stream = LogStream(path, cutter(log_format, path, content), block_bytes=block_bytes)
    parse = parser(log_format, path, content)
    found = [parse_block(block, parse) for block in stream]
    assert_same(found, parse(content, 1), content)
    assert stream.sha256 == hashlib.sha256(content).hexdigest()
    assert stream.size_bytes == path.stat().st_size and stream.modified_ns == path.stat().st_mtime_ns


def blocks_of(path: Path, block_bytes: int = 0, seen: Seen | None = None) -> tuple[list[Block], LogStream]:
    stream = LogStream(path, seen=seen, block_bytes=block_bytes)
    return list(stream), stream


def text_of(path: Path) -> bytes:
    return b"".join(block.content for block in LogStream(path, block_bytes=1000))


# What a file may hold.

SWF_LINE = "{} 100 5 60 4 -1 -1 4 120 -1 1 7 1 -1 1 -1 -1 -1"
ODD_LINES = ("", "  ", "rubbish", "; Note: a comment", "1;2;3", "é|ü", "\t", "x" * 300)


@st.composite
def logs(draw: st.DrawFn, log_format: str) -> bytes:
    """Jobs with their steps, odd lines between them, ends of both kinds, the last line with an end or without."""
    groups: list[list[str]] = [[HEADER]] if log_format == "slurm" else []
    for number in range(draw(st.integers(0, 10))):
        match log_format:
            case "swf":
                job = [SWF_LINE.format(number)]
            case "pbs":
                job = [end_record(f"{number}.head")] + [f"01/02/2020 10:00:00;Q;{number}.head;queue=q"] * (number % 2)
            case _:
                steps = draw(st.lists(st.integers(0, 10**6), max_size=3))
                job = [job_line(JobID=str(number), JobIDRaw=str(number))]
                job += [step_line(f"{number}.{step}", MaxRSS=f"{kb}K") for step, kb in enumerate(steps)]
        groups.append(job)
        groups.append(draw(st.lists(st.sampled_from(ODD_LINES), max_size=2)))
    lines = [line for group in groups for line in group]
    ends = draw(st.sampled_from((["\n"], ["\r\n"], ["\n", "\r\n"])))
    text = "".join(line + ends[k % len(ends)] for k, line in enumerate(lines))
    return (text if draw(st.booleans()) else text.rstrip("\r\n")).encode()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), suffix=st.sampled_from(sorted(PACKERS)), block_bytes=st.integers(1, 3000))
@pytest.mark.parametrize("log_format", FORMATS)
def test_blocks_of_any_size_say_what_the_file_says_at_once(
    tmp_path_factory: pytest.TempPathFactory, log_format: str, data: st.DataObject, suffix: str, block_bytes: int
) -> None:
    content = data.draw(logs(log_format))
    path = tmp_path_factory.getbasetemp() / f"{log_format}.log{suffix}"
    path.write_bytes(PACKERS[suffix](content))
    read_whole_and_in_blocks(path, log_format, content, block_bytes)


@settings(max_examples=200, deadline=None)
@given(
    pieces=st.lists(st.sampled_from([b"\n", b"\r\n", b"12|a", b"12.0|b", b"12_[1-3,...]", b"\0", b"\xff\xfe"]), max_size=40),
    members=st.integers(1, 3), suffix=st.sampled_from(sorted(PACKERS)), block_bytes=st.integers(1, 60), slurm=st.booleans(),
)  # fmt: skip
def test_blocks_are_whole_lines_and_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], members: int, suffix: str, block_bytes: int, slurm: bool
) -> None:  # fmt: skip
    content = b"".join(pieces)
    path = tmp_path_factory.getbasetemp() / f"pieces.log{suffix}"
    size = -(-len(content) // members) or 1
    packed = [PACKERS[suffix](content[k : k + size]) for k in range(0, len(content) or 1, size)]
    path.write_bytes(b"".join(packed))
    stream = LogStream(path, slurm_cut(path, b"JobID|State\n") if slurm else None, block_bytes=block_bytes)
    blocks = list(stream)
    assert b"".join(block.content for block in blocks) == content
    assert all(block.content and not block.too_long for block in blocks)
    line = 1
    for block in blocks:
        assert block.first_line == line
        line += lines_in(block.content)
        assert block is blocks[-1] or block.content.endswith(b"\n")
        if slurm and block is not blocks[0]:
            assert not block.content.startswith(b"12.0")
    assert stream.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("log_format", FORMATS)
def test_large_blocks_of_large_files(tmp_path: Path, log_format: str, suffix: str) -> None:
    """So much that a packed file is unpacked in many pieces."""
    rng = random.Random(1)
    lines = [HEADER] if log_format == "slurm" else []
    for k in range(1500):
        if log_format == "slurm":
            lines += [job_line(JobID=f"{k}", JobName=f"{rng.getrandbits(120):x}")]
            lines += [step_line(f"{k}.{s}", MaxRSS=f"{rng.randrange(10**6)}K") for s in range(k % 4)]
        else:
            name = f"{rng.getrandbits(120):x}"
            lines.append(end_record(f"{k}.head", jobname=name) if log_format == "pbs" else SWF_LINE.format(k))
        lines += [f"rubbish {rng.getrandbits(400):x}"] * (k % 50 == 0)
    content = "\n".join(lines).encode()
    path = tmp_path / f"large.log{suffix}"
    path.write_bytes(PACKERS[suffix](content))
    read_whole_and_in_blocks(path, log_format, content, 30_000)


_COLUMNS = ("JobID", "Submit", "Start", "End", "NCPUS", "State", "MaxRSS")
_JOB = dict(zip(_COLUMNS, ("12", "100000000", "100000001", "100000009", "1", "COMPLETED", ""), strict=True))
_STEPS = [dict.fromkeys(_COLUMNS, "") | {"JobID": f"12.{k}", "MaxRSS": f"{k + 1}M"} for k in range(3)]
_PLAIN = table(_JOB, *_STEPS)
SLURM_ORDERS = {
    "JobID is not the first column": table(*[{"State": "", "JobID": ""} | row for row in (_JOB, *_STEPS)]),
    "a blank line before the steps": _PLAIN.replace("\n12.0", "\n\n12.0"),
    "a broken line before the steps": _PLAIN.replace("\n12.0", "\nx\n12.0"),
    "the header again before the steps": _PLAIN.replace("\n12.0", f"\n{'|'.join(_COLUMNS)}\n12.0"),
    "the job comes again after a requeue": table(_JOB, *_STEPS[:1], _JOB, *_STEPS[1:]),
}


@pytest.mark.parametrize("case", SLURM_ORDERS)
def test_steps_count_for_their_job_wherever_a_block_ends(tmp_path: Path, case: str) -> None:
    content = (SLURM_ORDERS[case] + "13" * 300 + "\n").encode()
    path = tmp_path / "steps.psv"
    path.write_bytes(content)
    for block_bytes in range(20, 260, 40):
        read_whole_and_in_blocks(path, "slurm", content, block_bytes)


# Next to nothing, and ends of lines.


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("log_format", FORMATS)
@pytest.mark.parametrize("content", [b"", b"\n" * 9, b"\r\n \n", b"x", b"\0"])
def test_next_to_nothing(tmp_path: Path, log_format: str, suffix: str, content: bytes) -> None:
    path = tmp_path / f"log{suffix}"
    path.write_bytes(PACKERS[suffix](content))
    for block_bytes in (2, 1000):
        read_whole_and_in_blocks(path, log_format, content, block_bytes)
    parse = parser(log_format, path, content)
    assert read_log(path, log_format, parse, LogStream(path, cutter(log_format, path, content))).lines == lines_in(
        content
    )
    assert first_bytes(path, 5) == content[:5]


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("content", [b"", b"a\nb\r\n", b"\n", b"a", b"a\nb\r"])
def test_whether_the_last_line_has_its_end(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    path.write_bytes(PACKERS[suffix](content))
    found = {size: blocks_of(path, size)[1].ends_line for size in (1, 2, 3, 100)}
    assert found == dict.fromkeys(found, content[-1:] in (b"", b"\n"))


# Files that change.


@settings(max_examples=150, deadline=None)
@given(
    before=st.binary(max_size=60).map(lambda content: content + b"\n"), after=st.binary(max_size=60),
    change=st.sampled_from(["grown", "changed", "shrunk", "same"]), block_bytes=st.integers(1, 50), place=st.integers(0, 59),
)  # fmt: skip
def test_a_grown_file_is_read_on_and_any_other_from_its_beginning(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, after: bytes, change: str, block_bytes: int, place: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "grows.log"
    path.write_bytes(before)
    _, stream = blocks_of(path)
    seen = Seen(stream.size_bytes, before.count(b"\n"), stream.sha256)
    place %= len(before)
    changed = bytearray(before)
    changed[place] ^= 1
    content = {"grown": before + after, "changed": bytes(changed) + after, "shrunk": before[:place], "same": before}[
        change
    ]
    path.write_bytes(content)
    blocks, stream = blocks_of(path, block_bytes, seen)
    assert stream.grew == (change in ("grown", "same"))
    assert b"".join(block.content for block in blocks) == (content[len(before) :] if stream.grew else content)
    if blocks:
        assert blocks[0].first_line == (seen.lines + 1 if stream.grew else 1)
    assert (stream.size_bytes, stream.sha256) == (len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("suffix", PACKED)
def test_a_packed_file_is_always_read_from_its_beginning(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    path.write_bytes(PACKERS[suffix](b"a\n"))
    _, stream = blocks_of(path)
    path.write_bytes(path.read_bytes() + PACKERS[suffix](b"b\n"))
    blocks, stream = blocks_of(path, seen=Seen(stream.size_bytes, 1, stream.sha256))
    assert blocks == [Block(b"a\nb\n", 1)] and not stream.grew


def test_what_is_written_while_the_file_is_read_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\n" * 100)
    stream = LogStream(path, block_bytes=10)
    found = b""
    for block in stream:
        found += block.content
        with path.open("ab") as file:
            file.write(b"b\n")
    assert found == b"a\n" * 100 and stream.size_bytes == 200
    blocks, later = blocks_of(path, 10, Seen(stream.size_bytes, 100, stream.sha256))
    assert later.grew and blocks[0].first_line == 101 and {block.content.strip(b"b\n") for block in blocks} == {b""}


# Packed files.

TEXT = "".join(f"{k} {random.Random(k).getrandbits(64):x}\n" for k in range(40)).encode()
SKIPPED = struct.pack("<II", 0x184D2A50, 4) + b"abcd"
"""A zst frame that says nothing; pzstd writes them."""


def same_or_error(path: Path, packed: bytes, content: bytes) -> bool:
    """Whether LogError was raised; anything else but the whole content fails."""
    path.write_bytes(packed)
    try:
        found = text_of(path)
    except LogError:
        return True
    assert found == content, f"{len(found)} bytes of {len(content)} were read, and no error"
    return False


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_files_put_together_are_one_log(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    parts = [TEXT, b"", TEXT[:-1], b"x", TEXT]
    assert not same_or_error(path, b"".join(map(PACKERS[suffix], parts)), b"".join(parts))
    if suffix == ".zst":
        pack = PACKERS[suffix]
        assert not same_or_error(path, SKIPPED + pack(TEXT) + SKIPPED + pack(TEXT) + SKIPPED, TEXT * 2)


@pytest.mark.parametrize("suffix", PACKED)
def test_a_packed_file_cut_anywhere_is_an_error(tmp_path: Path, suffix: str) -> None:
    packed = PACKERS[suffix](TEXT)
    for size in range(1, len(packed)):
        assert same_or_error(tmp_path / f"log{suffix}", packed[:size], TEXT), size
    for size in range(1, len(packed), 7):  # the second of two
        assert same_or_error(tmp_path / f"log{suffix}", packed + packed[:size], b""), size


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("suffix", PACKED)
def test_a_flipped_bit_is_an_error_or_changes_nothing(tmp_path: Path, suffix: str, members: int) -> None:
    packed = PACKERS[suffix](TEXT)
    errors = 0
    for place in range(0, len(packed), members):
        damaged = bytearray(packed)
        damaged[place] ^= 1 << (place % 8)
        whole = packed * (members - 1) + bytes(damaged)
        errors += same_or_error(tmp_path / f"log{suffix}", whole, TEXT * members)
    assert errors > len(packed) / members / 2


@pytest.mark.parametrize(
    "garbage", [b"\0", b"\0" * 512, b"x", b"rubbish\n" * 100, b"\x1f\x8b", b"\xfd7zXZ\0", b"(\xb5/\xfd"]
)
@pytest.mark.parametrize("suffix", PACKED)
def test_garbage_at_the_end_is_an_error_or_left_out(tmp_path: Path, suffix: str, garbage: bytes) -> None:
    same_or_error(tmp_path / f"log{suffix}", PACKERS[suffix](TEXT) + garbage, TEXT)


# Lines without end. Bombs: tests/assets/ingest/test_update_damaged.py.


@pytest.mark.parametrize("log_format", FORMATS)
@pytest.mark.parametrize("block_bytes", [1, 7, 50, 64])
def test_a_giant_line_is_one_reject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_format: str, block_bytes: int
) -> None:
    monkeypatch.setattr(traces.common.blocks, "LONGEST_LINE", 64)
    path = tmp_path / "log"
    giant = "x" * 200
    for lines in (
        ["a", giant, "b"],
        [giant],
        [giant, giant, "b", giant],
        ["", giant, ""],
        ["b", "12.0|x", giant, "12.1|x"],
    ):
        for end in ("", "\n"):
            content = ("\n".join(lines) + end).encode()
            path.write_bytes(content)
            parse = slurm_parser(path, b"JobID|State\n") if log_format == "slurm" else parser(log_format, path, b"")
            stream = LogStream(path, cutter(log_format, path, content), block_bytes=block_bytes)
            parts = [parse_block(block, parse) for block in stream]
            assert sum(part.lines for part in parts) == lines_in(content)
            rejects = pl.concat([part.rejects for part in parts]).filter(pl.col("reason").str.starts_with("a line of"))
            assert rejects["line"].to_list() == [k for k, line in enumerate(lines, start=1) if line == giant]
            assert all(giant.startswith(text) for text in rejects["text"])
            assert stream.sha256 == hashlib.sha256(content).hexdigest()


def test_the_longest_line_is_as_long_wherever_a_block_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces.common.blocks, "LONGEST_LINE", 64)
    path = tmp_path / "log"
    for length in (60, 64, 70, 90, 130):
        path.write_bytes(b"a\n" + b"x" * length + b"\nb\nlast\n")
        rejected = {size: any(block.too_long for block in blocks_of(path, size)[0]) for size in range(1, 65, 3)}
        assert rejected == dict.fromkeys(rejected, length > 64), length
