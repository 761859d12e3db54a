"""Log files read block by block, plain or packed, in bounded memory; a file that has grown is read on from where it ended."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import polars as pl

from traces.log import REJECT_SCHEMA, LogError, ParsedLines, ParsedLog

BLOCK_BYTES = 16 << 20
LONGEST_LINE = 16 << 20
"""A longer line is rejected, whatever it is: the job with the longest list of hosts has a line of less than a megabyte."""
KEPT_OF_LONG_LINE = 1000
PACKED = (".gz", ".zst", ".xz")
_MOST_UNPACKED = 300
_ALWAYS_UNPACKED = 256 << 20
"""A packed file may unpack to this many bytes, or _MOST_UNPACKED times its size if that is more: logs pack to a tenth or a
thirtieth, bombs to a thousandth."""


Hash = Any
"""hashlib does not name the type of its objects."""


@dataclass(frozen=True)
class Block:
    """Whole lines of a file, the first of them numbered `first_line` (from 1).

    too_long: 0, or about how many bytes the one line of this block has, of which `content` is only the beginning.
    """

    content: bytes
    first_line: int
    too_long: int = 0


@dataclass(frozen=True)
class Seen:
    """What was read of a file before: its size, its lines, and the hash of its content."""

    size_bytes: int
    lines: int
    sha256: str


class LogStream:
    """The blocks of one log file. Iterate once; then the attributes tell of the file as it was when it was opened.

    cut: how many bytes of a block are complete records; whole lines, unless a format says otherwise (0: none yet).
    seen: what was read of the file before. If the file still begins with it, only what came after is read, and `grew` says so.
    size_bytes: as stored. modified_ns: time of the last change. sha256: of the content, unpacked; a file that has grown
    is hashed from its beginning. ends_line: whether the last line has its end.
    Raises LogError while it is read: no such file, a damaged one, or one that unpacks to far too much.
    """

    def __init__(
        self, path: Path, cut: Callable[[bytes], int] | None = None, seen: Seen | None = None, block_bytes: int = 0
    ) -> None:
        self.path = path
        self.grew = False
        self.ends_line = True
        self.sha256 = ""
        self.size_bytes = 0
        self.modified_ns = 0
        self._cut = cut or (lambda content: content.rfind(b"\n") + 1)
        self._seen = seen if path.suffix not in PACKED else None
        self._block_bytes = block_bytes or BLOCK_BYTES

    def __iter__(self) -> Iterator[Block]:
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                self.size_bytes, self.modified_ns = status.st_size, status.st_mtime_ns
                yield from self._blocks(file)
        except FileNotFoundError:
            raise LogError(
                f"{self.path}: no such log file; check the path in the catalogue or on the command line"
            ) from None
        except OSError as error:
            raise LogError(f"{self.path}: cannot be read ({error.strerror}); check its permissions") from None

    def _blocks(self, file: IO[bytes]) -> Iterator[Block]:
        line = 1
        digest = self._hash_of_seen(file) if self._seen else None
        if self._seen and digest:
            self.grew = True
            line += self._seen.lines
        digest = digest or hashlib.sha256()
        pieces = self._unpacked(file) if self.path.suffix in PACKED else self._plain(file)
        pieces = self._noted(pieces, digest)
        rest, piece = b"", next(pieces, b"")
        while piece:
            content, piece = rest + piece, next(pieces, b"")
            end = self._cut(content) if piece else len(content)
            if len(content) > LONGEST_LINE and (not end or not piece):  # no record ends in so many bytes
                end = content.rfind(b"\n") + 1  # ... but lines may
            if end:
                rest = content[end:]
                yield Block(content[:end], line)
                line += content.count(b"\n", 0, end) if rest or piece else 0
            elif len(content) <= LONGEST_LINE:
                rest = content
            else:
                length = len(content)
                kept, rest = content[:KEPT_OF_LONG_LINE], b""
                while piece and b"\n" not in piece:
                    length += len(piece)
                    piece = next(pieces, b"")
                if piece:
                    rest, piece = piece[piece.index(b"\n") + 1 :], next(pieces, b"")
                yield Block(kept, line, too_long=length)
                line += 1
        if rest:
            yield Block(rest, line)
        self.sha256 = digest.hexdigest()

    def _noted(self, pieces: Iterator[bytes], digest: Hash) -> Iterator[bytes]:
        for piece in pieces:
            digest.update(piece)
            self.ends_line = piece.endswith(b"\n")
            yield piece

    def _hash_of_seen(self, file: IO[bytes]) -> Hash | None:
        """The hash of the bytes that were read before, if the file still begins with them; `file` is then after them."""
        assert self._seen is not None
        if self.size_bytes < self._seen.size_bytes:
            return None
        digest, left = hashlib.sha256(), self._seen.size_bytes
        while left and (piece := file.read(min(left, self._block_bytes))):
            digest.update(piece)
            left -= len(piece)
        if digest.hexdigest() == self._seen.sha256:
            return digest
        file.seek(0)
        return None

    def _plain(self, file: IO[bytes]) -> Iterator[bytes]:
        """To the size that the file had when it was opened: somebody may be writing to it."""
        left = self.size_bytes - file.tell()
        while left > 0 and (piece := file.read(min(left, self._block_bytes))):
            left -= len(piece)
            yield piece

    def _unpacked(self, file: IO[bytes]) -> Iterator[bytes]:
        most = max(_ALWAYS_UNPACKED, _MOST_UNPACKED * self.size_bytes)
        unpacked = 0
        pieces = self._pieces_of_zst(file) if self.path.suffix == ".zst" else self._pieces_of_stream(file)
        try:
            for piece in pieces:
                unpacked += len(piece)
                if unpacked > most:
                    raise LogError(
                        f"{self.path}: {self.size_bytes:,} bytes unpack to more than {most:,}: that is no log; unpack it by "
                        "hand if it is one"
                    )
                yield piece
        except (OSError, EOFError, lzma.LZMAError, zlib.error, _zst_error()) as error:
            raise LogError(
                f"{self.path}: damaged {self.path.suffix} file ({error}); copy it again or unpack it by hand"
            ) from None

    def _pieces_of_stream(self, file: IO[bytes]) -> Iterator[bytes]:
        with gzip.open(file) if self.path.suffix == ".gz" else lzma.open(file) as unpacked:
            while piece := unpacked.read(self._block_bytes):
                yield piece

    def _pieces_of_zst(self, file: IO[bytes]) -> Iterator[bytes]:
        """All frames; unlike zstandard's stream reader it does not take a cut file for a shorter one."""
        import zstandard

        frame, gathered, size = zstandard.ZstdDecompressor().decompressobj(), [], 0
        fresh = True
        while packed := file.read(2048):  # so little that even a bomb gives no more than some megabytes at once
            while packed:
                piece = frame.decompress(packed)
                fresh = False
                gathered.append(piece)
                size += len(piece)
                packed = frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame, fresh = zstandard.ZstdDecompressor().decompressobj(), True
            if size >= self._block_bytes:
                yield b"".join(gathered)
                gathered, size = [], 0
        if not fresh:
            raise EOFError("the file ended before the end of its last frame")
        if size:
            yield b"".join(gathered)


def _zst_error() -> type[Exception]:
    import zstandard

    return zstandard.ZstdError


Parse = Callable[[bytes, int], ParsedLines]
"""A reader: whole lines, and the number of the first, to what they say."""


def parse_block(block: Block, parse: Parse) -> ParsedLines:
    if not block.too_long:
        return parse(block.content, block.first_line)
    text = block.content.decode("utf-8", errors="backslashreplace")
    reason = f"a line of {block.too_long >> 20} MiB, where records have less than one; only its beginning is kept"
    rejects = pl.DataFrame([(block.first_line, reason, text)], schema=REJECT_SCHEMA, orient="row")
    return replace(parse(b"", block.first_line), lines=1, rejects=rejects)


def read_log(path: Path, log_format: str, parse: Parse, cut: Callable[[bytes], int] | None = None) -> ParsedLog:
    """A whole log file at once, plain or packed. Raises LogError when it cannot be read."""
    stream = LogStream(path, cut)
    parts = [parse_block(block, parse) for block in stream] or [parse(b"", 1)]
    ignored: Counter[str] = Counter()
    for part in parts:
        ignored.update(part.ignored)
    return ParsedLog(
        lines=sum(part.lines for part in parts),
        records=pl.concat(part.records for part in parts),
        rejects=pl.concat(part.rejects for part in parts),
        ignored=dict(ignored),
        header=[pair for part in parts for pair in part.header],
        events=pl.concat(part.events for part in parts),
        path=path, format=log_format, size_bytes=stream.size_bytes, sha256=stream.sha256,
    )  # fmt: skip


def first_bytes(path: Path, most: int = 65536) -> bytes:
    """The beginning of a log, unpacked, up to `most` bytes. Raises LogError."""
    for block in LogStream(path, cut=len, block_bytes=most):
        return block.content[:most]
    return b""
