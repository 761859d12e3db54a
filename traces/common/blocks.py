"""Log files read block by block, plain or packed, in bounded memory. Of a file that has grown, only the new part is read."""

from __future__ import annotations

import codecs
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

import numpy as np
import polars as pl

from traces.common.log import REJECT_SCHEMA, LogError, ParsedLines, ParsedLog, open_log

BLOCK_BYTES = 16 << 20
LONGEST_LINE = 16 << 20
"""A longer line is rejected, whatever it is. The job with the longest list of hosts has a line of less than a megabyte."""
KEPT_OF_LONG_LINE = 1000
MOST_LINES = 250_000
"""Lines of a block. The limit is there because a line takes memory too, however short it is."""
PACKED = (".gz", ".zst", ".xz")
_MOST_UNPACKED = 300
_ALWAYS_UNPACKED = 256 << 20
"""A packed file may unpack to this many bytes, or _MOST_UNPACKED times its size if that is more. Logs pack to a tenth or a
thirtieth, bombs to a thousandth."""


UNFINISHED = "last line without its end, which is still being written"
"""Why a line is ignored, until its file has grown or has not changed for a day."""
Hash = Any
"""hashlib does not name the type of its objects."""


@dataclass(frozen=True)
class Block:
    """Whole lines of a file, the first of them numbered `first_line` (from 1).

    too_long: 0, or about how many bytes the one line of this block has, of which `content` is only the beginning.
    unfinished: it is the last line of a file, which is still being written.
    """

    content: bytes
    first_line: int
    too_long: int = 0
    unfinished: bool = False


@dataclass(frozen=True)
class Seen:
    """What was read of a file before: its size, its lines, and the hash of its content."""

    size_bytes: int
    lines: int
    sha256: str


class LogStream:
    """The blocks of one log file. Iterate once. Then the attributes describe the file as it was when it was opened.

    cut: how many bytes of a block are complete records. They are whole lines, unless a format says otherwise (0: none yet).
    leave_unfinished: a last line without its end is not read. It is a block of its own, which says so.
    seen: what was read of the file before. If the file still begins with it, only the rest is read, and `grew` says so.
    size_bytes: as stored. modified_ns: time of the last change. sha256: of the unpacked content. A file that has grown
    is hashed from its beginning. ends_line: whether the last line has its end. open_file: opens it for reading. as_lines: makes lines
    of the content, where it has none of a log.
    Raises LogError while it is read: no such file, a damaged one, or one that unpacks to far too much.
    """

    def __init__(
        self,
        path: Path,
        cut: Callable[[bytes], int] | None = None,
        seen: Seen | None = None,
        block_bytes: int = 0,
        open_file: Callable[[Path], IO[bytes]] = open_log,
        as_lines: Callable[[Iterator[bytes]], Iterator[bytes]] = iter,
        leave_unfinished: bool = False,
    ) -> None:
        self.path = path
        self.grew = False
        self.ends_line = True
        self.sha256 = ""
        self.size_bytes = 0
        self.modified_ns = 0
        self._cut = cut or (lambda content: content.rfind(b"\n") + 1)
        self._packing = path.suffix.lower()
        self._seen = seen if self._packing not in PACKED else None
        self._block_bytes = block_bytes or BLOCK_BYTES
        self._open = open_file
        self._as_lines = as_lines
        self._leave_unfinished = leave_unfinished and path.suffix not in PACKED

    def __iter__(self) -> Iterator[Block]:
        try:
            with self._open(self.path) as file:
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
        pieces = self._unpacked(file) if self._packing in PACKED else self._plain(file)
        fault: list[LogError] = []
        pieces = _ended(self._as_lines(self._noted(pieces, digest)), fault)
        rest, piece = b"", next(pieces, b"")
        if line == 1:
            piece = piece.removeprefix(codecs.BOM_UTF8) or next(pieces, b"")
        while piece:
            content, piece = rest + piece, next(pieces, b"")
            end = self._cut(content) if piece or self._leave_unfinished else len(content)
            if not end and len(content) > LONGEST_LINE:  # no record ends in so many bytes, but lines may
                end = content.rfind(b"\n") + 1
            rest = content[end:] if end < len(content) else b""
            if end:
                content = content[:end]
                yield from self._of_lines(content, line)
                line += content.count(b"\n") if rest or piece else 0
            elif len(rest) > LONGEST_LINE:
                kept, length, rest = rest[:KEPT_OF_LONG_LINE], len(rest), b""
                while piece and b"\n" not in piece:
                    length += len(piece)
                    piece = next(pieces, b"")
                if piece:
                    end = piece.index(b"\n")
                    length, rest, piece = length + end, piece[end + 1 :], next(pieces, b"")
                yield Block(kept, line, too_long=length)
                line += 1
        if rest and self._leave_unfinished:
            yield Block(rest, line, unfinished=True)
        elif rest:
            yield from self._of_lines(rest, line)
        if fault:
            raise fault[0]
        self.sha256 = digest.hexdigest()

    def _of_lines(self, content: bytes, line: int) -> Iterator[Block]:
        """Whole lines, the first numbered `line`, as one block. They are several blocks where there are very many lines, or a too long
        one."""
        if len(content) <= LONGEST_LINE and content.count(b"\n") <= MOST_LINES:
            yield Block(content, line)
            return
        ends = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == 10) + 1
        if not content.endswith(b"\n"):
            ends = np.append(ends, len(content))
        starts = np.concatenate([[0], ends[:-1]])
        long_lines = [*np.flatnonzero(ends - starts > LONGEST_LINE + 1).tolist(), len(ends)]
        k = 0
        while k < len(ends):
            begin = int(starts[k])
            if k == long_lines[0]:
                length = int(ends[k]) - begin
                yield Block(content[begin : begin + KEPT_OF_LONG_LINE], line + k, too_long=length)
                long_lines.pop(0)
                k += 1
                continue
            last = min(k + MOST_LINES, long_lines[0])
            group = content[begin : int(ends[last - 1])]
            if last == k + MOST_LINES and (end := self._cut(group)):
                group = group[:end]
            yield Block(group, line + k)
            k += group.count(b"\n") + (not group.endswith(b"\n"))

    def _noted(self, pieces: Iterator[bytes], digest: Hash) -> Iterator[bytes]:
        for piece in pieces:
            digest.update(piece)
            self.ends_line = piece.endswith(b"\n")
            yield piece

    def _hash_of_seen(self, file: IO[bytes]) -> Hash | None:
        """The hash of the bytes that were read before, if the file still begins with them. `file` is then after them."""
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
        """To the size that the file had when it was opened, because another process may be writing to it."""
        left = self.size_bytes - file.tell()
        while left > 0 and (piece := file.read(min(left, self._block_bytes))):
            left -= len(piece)
            yield piece

    def _unpacked(self, file: IO[bytes]) -> Iterator[bytes]:
        most = max(_ALWAYS_UNPACKED, _MOST_UNPACKED * self.size_bytes)
        unpacked, gathered, size = 0, [], 0
        pieces = {".gz": self._pieces_of_gz, ".xz": self._pieces_of_xz, ".zst": self._pieces_of_zst}[self._packing]
        try:
            for piece in pieces(file):
                unpacked += len(piece)
                if unpacked > most:
                    raise LogError(
                        f"{self.path}: {self.size_bytes:,} bytes unpack to more than {most:,}, which no log does. Unpack it by "
                        "hand if it is a log"
                    )
                gathered.append(piece)
                size += len(piece)
                if size >= self._block_bytes:
                    yield b"".join(gathered)
                    gathered, size = [], 0
        except (OSError, EOFError, lzma.LZMAError, zlib.error, _zst_error()) as error:
            if size:
                yield b"".join(gathered)
            raise LogError(
                f"{self.path}: damaged {self.path.suffix} file ({error}); copy it again or unpack it by hand"
            ) from None
        if size:
            yield b"".join(gathered)

    def _pieces_of_gz(self, file: IO[bytes]) -> Iterator[bytes]:
        with gzip.open(file) as unpacked:
            while piece := unpacked.read1(
                min(self._block_bytes, 1 << 18)
            ):  # little at once: what comes before damage is kept
                yield piece

    def _pieces_of_xz(self, file: IO[bytes]) -> Iterator[bytes]:
        """All streams. Python's own reader takes damage in the second for its end."""
        stream, fresh = lzma.LZMADecompressor(), True
        while packed := file.read(1 << 16):
            while packed or not stream.needs_input:
                if fresh and not (packed := packed.lstrip(b"\0")):  # padding between streams
                    break
                piece, fresh = stream.decompress(packed, self._block_bytes), False
                packed = stream.unused_data if stream.eof else b""
                yield piece
                if stream.eof:
                    stream, fresh = lzma.LZMADecompressor(), True
        if not fresh:
            raise EOFError("the file ended before the end of its last stream")

    def _pieces_of_zst(self, file: IO[bytes]) -> Iterator[bytes]:
        """All frames. Unlike zstandard's stream reader it does not take a cut file for a shorter one."""
        import zstandard

        frame, fresh = zstandard.ZstdDecompressor().decompressobj(), True
        while packed := file.read(128):  # so little that even a bomb gives no more than some megabytes at once
            while packed:
                piece, fresh = frame.decompress(packed), False
                yield piece
                packed = frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame, fresh = zstandard.ZstdDecompressor().decompressobj(), True
        if not fresh:
            raise EOFError("the file ended before the end of its last frame")


def _ended(pieces: Iterator[bytes], fault: list[LogError]) -> Iterator[bytes]:
    """The pieces as far as they can be read. The error that ends them is put into `fault`, and is raised after the last piece."""
    try:
        yield from pieces
    except LogError as error:
        fault.append(error)


def _zst_error() -> type[Exception]:
    import zstandard

    return zstandard.ZstdError


Parse = Callable[[bytes, int], ParsedLines]
"""A reader takes whole lines and the number of the first, and returns what they say."""


def parse_block(block: Block, parse: Parse) -> ParsedLines:
    """What the lines of a block say. A line that is too long is one reject, one that is still being written is ignored."""
    if block.unfinished:
        return replace(parse(b"", block.first_line), lines=1, ignored={UNFINISHED: 1})
    if not block.too_long:
        return parse(block.content, block.first_line)
    text = block.content.decode("utf-8", errors="backslashreplace")
    reason = f"a line of {block.too_long >> 20} MiB, where records have less than one; only its beginning is kept"
    rejects = pl.DataFrame([(block.first_line, reason, text)], schema=REJECT_SCHEMA, orient="row")
    return replace(parse(b"", block.first_line), lines=1, rejects=rejects)


def read_log(path: Path, log_format: str, parse: Parse, stream: LogStream | None = None) -> ParsedLog:
    """A whole log file at once, plain or packed. Raises LogError when it cannot be read."""
    stream = stream or LogStream(path)
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
        path=path,
        format=log_format,
        size_bytes=stream.size_bytes,
        sha256=stream.sha256,
    )


def whole_content(path: Path) -> bytes:
    """All of a file, unpacked. Raises LogError."""
    content = bytearray()

    def gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            content.extend(piece)
        yield from ()

    for _ in LogStream(path, as_lines=gathered):
        pass
    return bytes(content)


def first_bytes(path: Path, most: int = 65536) -> bytes:
    """The beginning of a log, unpacked, up to `most` bytes. Raises LogError."""
    for block in LogStream(path, cut=len, block_bytes=most):
        return block.content[:most]
    return b""
