"""`sacct --json`, and slurmrestd's answer to `/slurmdb/VERSION/jobs/`, as the lines of `sacct -P`: read job by job, in bounded memory.

Slurm 21.08 and 22.05 print plain numbers and words. Later versions print objects with "set", "infinite" and "number", and lists of words.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from traces.common.log import LogError
from traces.slurm.document_jobs import DOCUMENT_COLUMNS, job_lines

HEADER = "|".join(DOCUMENT_COLUMNS) + "\n"
_LONGEST_VALUE = 64 << 20
"""A longer job, or another value of a document, is a fault. Jobs with 10,000 steps have about 30 MB."""
_BATCH_BYTES = 1 << 20
_CUT_WITHIN = 12
"""A fault of the syntax within so many characters of the end may come from the cut."""
_BLANK = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)
_KEPT_OF_REST = 1000


def is_document(head: bytes) -> bool:
    """Whether a file begins as the jobs of Slurm's accounting in JSON do. head: the first bytes, unpacked."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return (
        text[:1] == b"{"
        and b'"jobs"' in text
        and (b'"allocation_nodes"' in text or re.search(rb'"association"\s*:', text) is not None)
    )


def document_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of `sacct -P`, a header first, then a line for each job and for each of its steps. pieces: of one or several documents.

    A document that ends in the middle of a job gives a last line with the beginning of that job, which no reader takes for one.
    Raises LogError for text that is no JSON.
    """
    yield HEADER.encode()
    gathered, size = [], 0
    for line in _lines(_Text(pieces)):
        gathered.append(line)
        size += len(line)
        if size >= _BATCH_BYTES:
            yield "".join(gathered).encode("utf-8", errors="backslashreplace")
            gathered, size = [], 0
    if gathered:
        yield "".join(gathered).encode("utf-8", errors="backslashreplace")


def _lines(text: _Text) -> Iterator[str]:
    """Lines with their ends."""
    while text.next_sign():
        try:
            for job in _jobs(text):
                for words in job_lines(job):
                    yield "|".join(map(_plain, words)) + "\n"
        except _Cut:
            yield f"the JSON ends here: {_plain(text.rest[:_KEPT_OF_REST])}\n"
            return


def _plain(word: str) -> str:
    """A word without what ends a line or a column."""
    return word.replace("|", "\\x7c").replace("\n", "\\n").replace("\r", "\\r")


def _jobs(text: _Text) -> Iterator[dict[str, Any]]:
    """The objects in "jobs" of a document, which begins here. What is beside "jobs" is skipped."""
    text.take("{")
    while text.next_sign() != "}":
        key = text.value()
        text.take(":")
        if key != "jobs" or text.next_sign() != "[":
            text.value()
            continue
        text.take("[")
        while text.next_sign() != "]":
            job = text.value()
            if isinstance(job, dict):
                yield job
        text.take("]")
    text.take("}")


class _Cut(Exception):
    """The text ends where more is needed."""


class _Text:
    """JSON that comes in pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._decode = pieces, codecs.getincrementaldecoder("utf-8-sig")(errors="backslashreplace").decode
        self._text, self._place, self._taken = "", 0, 0

    @property
    def rest(self) -> str:
        """What has not been taken yet, as far as it is here."""
        return self._text[self._place :]

    def next_sign(self) -> str:
        """The next character that is neither a blank nor a comma; "" at the end."""
        while True:
            match = _BLANK.match(self._text, self._place)
            self._place = match.end() if match else self._place
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._more():
                return ""

    def take(self, sign: str) -> None:
        """Goes behind a sign that has to be here."""
        sign_here = self.next_sign()
        if not sign_here:
            raise _Cut
        if sign_here != sign:
            raise self._fault(f"expected {sign!r}, found {sign_here!r}", self._place)
        self._place += 1

    def value(self) -> Any:
        """The next value, of whatever kind."""
        if not self.next_sign():
            raise _Cut
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._place)
                if end < len(self._text) or not self._more():  # a number may go on
                    self._place = end
                    return value
            except json.JSONDecodeError as error:
                may_go_on = error.msg.startswith("Unterminated string") or len(self._text) - error.pos < _CUT_WITHIN
                if not may_go_on or len(self._text) - self._place > _LONGEST_VALUE:
                    raise self._fault(error.msg, error.pos) from None
                if not self._more():
                    raise _Cut from None
            except RecursionError:
                raise self._fault("objects within objects without end", self._place) from None

    def _more(self) -> bool:
        """Takes the next piece; False where there is none."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._taken += self._place
        self._text, self._place = self._text[self._place :] + self._decode(piece), 0
        return True

    def _fault(self, what: str, place: int) -> LogError:
        shown = self._text[max(place - 30, 0) : place + 30]
        return LogError(
            f"this is no JSON as `sacct --json` prints it: {what} at character {self._taken + place + 1:,}, near {shown!r}. Print the jobs "
            "again, or with `sacct -P`"
        )
