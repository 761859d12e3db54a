"""Standard Workload Format: reader."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from traces.common.blocks import read_log
from traces.common.compiled import compiled
from traces.common.log import LARGEST_S, REJECT_SCHEMA, ParsedLines, ParsedLog, line_texts

SWF_READER_VERSION = 1
"""Raise it when the same bytes of a log give other rows: each log of this format is then read again."""

FIELDS = (
    "job_number", "submit_s", "wait_s", "runtime_s", "allocated_procs", "average_cpu_s", "used_memory_kb",
    "requested_procs", "requested_walltime_s", "requested_memory_kb", "status", "user_id", "group_id",
    "executable", "queue", "partition", "preceding_job", "think_time_s",
)  # fmt: skip
"""The 18 fields in their order; memory per processor; all whole numbers but the average CPU time and memory."""


FRACTIONAL = {"average_cpu_s", "used_memory_kb", "requested_memory_kb"}


MAY_BE_NEGATIVE = {"wait_s", "average_cpu_s", "used_memory_kb", "requested_memory_kb", "preceding_job", "think_time_s"}
"""A negative wait is kept as it stands: the job is sound, only its start is unknown."""


NEVER_UNKNOWN = {"job_number", "submit_s"}


LARGEST = float(LARGEST_S)
"""A larger number in any field is a fault of the log: as seconds it is more than three thousand years."""


NUM_FIELDS = len(FIELDS)


_OK, _BLANK, _COMMENT, _BAD_NUMBER, _BAD_VALUE, _TOO_FEW, _TOO_MANY = range(7)


def read_swf(path: Path) -> ParsedLog:
    """Reads one SWF file as a whole, plain or packed; see `parse_swf`. Raises LogError when it cannot be read."""
    return read_log(path, "swf", parse_swf)


def parse_swf(content: bytes, first_line: int = 1) -> ParsedLines:
    """Whole lines of an SWF file, the first numbered `first_line`.

    Records have `line` and the 18 `FIELDS`: Int64 (Float64 for `FRACTIONAL`), -1 as null.
    A line is rejected when it has not exactly 18 numbers, when a field that must be whole or not negative is not, or
    when the job number or the submit time is missing.
    """
    whole, fractional, line_of, code_of_line, field_of_line = _parse(np.frombuffer(content, dtype=np.uint8))
    rejected = (np.flatnonzero(code_of_line >= _BAD_NUMBER) + 1).tolist()
    texts = line_texts(content, rejected)
    rejects = pl.DataFrame(
        [
            (
                first_line + line - 1,
                _reason(int(code_of_line[line - 1]), int(field_of_line[line - 1])),
                texts[line],
            )
            for line in rejected
        ],
        schema=REJECT_SCHEMA,
        orient="row",
    )
    columns = {"line": pl.Series(line_of + (first_line - 1))}
    for i, name in enumerate(FIELDS):
        column = fractional[_SLOT[i]] if name in FRACTIONAL else whole[i]
        columns[name] = pl.Series(column).set(pl.Series(column == -1), None)
    ignored = {"comment": int((code_of_line == _COMMENT).sum()), "blank line": int((code_of_line == _BLANK).sum())}
    return ParsedLines(
        lines=len(code_of_line),
        records=pl.DataFrame(columns),
        rejects=rejects,
        ignored=ignored,
        header=_header(content, code_of_line),
    )


def header_value(header: Iterable[tuple[str, str]], *keys: str) -> int | None:
    """The leading whole number of the first of `keys` that the header has ("338 (batch partition)" is 338); one of more than 15
    digits is taken for the smallest of them."""
    for wanted in keys:
        for key, value in header:
            found = re.match(r"\s*(-?)0*([0-9]+)", value) if key == wanted else None
            if found:
                sign, digits = found.groups()
                return int(sign + (digits if len(digits) <= 15 else "1" + "0" * 15))
    return None


def _header(content: bytes, code_of_line: np.ndarray) -> list[tuple[str, str]]:
    """`; Key: value` comments; a comment without a key continues the one before, as the archive's files do."""
    texts = line_texts(content, (np.flatnonzero(code_of_line == _COMMENT) + 1).tolist())
    header: list[tuple[str, str]] = []
    for _, text in sorted(texts.items()):
        body = text.lstrip()[1:]
        found = re.match(r"\s*([A-Za-z][A-Za-z0-9]*):(?!//)\s*(.*?)\s*$", body)
        if found:
            header.append((found.group(1), found.group(2)))
        elif body.strip():
            if header and header[-1][0] != "Comment":
                header[-1] = (header[-1][0], f"{header[-1][1]} {body.strip()}")
            else:
                header.append(("Comment", body.strip()))
    return header


def _reason(code: int, field: int) -> str:
    if code in (_TOO_FEW, _TOO_MANY):
        return f"expected {NUM_FIELDS} fields, found {field}"
    name = FIELDS[field]
    if code == _BAD_NUMBER:
        return f"field {field + 1} ({name}) is not a number"
    if name in FRACTIONAL:
        return f"field {field + 1} ({name}) must be a number up to {LARGEST:.0e}"
    if name in MAY_BE_NEGATIVE:
        return f"field {field + 1} ({name}) must be a whole number up to {LARGEST:.0e}"
    if name in NEVER_UNKNOWN:
        return f"field {field + 1} ({name}) must be a whole number from 0 to {LARGEST:.0e}"
    return f"field {field + 1} ({name}) must be a whole number from -1 to {LARGEST:.0e}"


_SLOT = np.cumsum([name in FRACTIONAL for name in FIELDS]) - 1
"""Of a fractional field: its row in the array of fractional columns."""


_IS_FRACTIONAL = np.array([name in FRACTIONAL for name in FIELDS])


_LEAST = np.array([
    -LARGEST if name in MAY_BE_NEGATIVE else 0.0 if name in NEVER_UNKNOWN else -1.0 for name in FIELDS
])  # fmt: skip


@compiled
def _parse(text):
    """Columns of all sound lines, whole numbers (18, rows) and fractional ones (3, rows); their line numbers; and per line a code
    and the field it is about."""
    size = len(text)
    num_lines = 0
    for i in range(size):
        num_lines += text[i] == 10
    if size > 0 and text[size - 1] != 10:
        num_lines += 1
    whole = np.empty((18, num_lines), dtype=np.int64)
    fractional = np.empty((3, num_lines), dtype=np.float64)
    line_of = np.empty(num_lines, dtype=np.int64)
    code_of_line = np.zeros(num_lines, dtype=np.int64)
    field_of_line = np.zeros(num_lines, dtype=np.int64)
    rows = 0
    i = 0
    for line in range(num_lines):
        field = 0
        code = _OK
        seen = False
        while i < size and text[i] != 10:
            c = text[i]
            if c == 32 or c == 9 or c == 13:
                i += 1
                continue
            if not seen and c == 59:  # ';'
                code = _COMMENT
                while i < size and text[i] != 10:
                    i += 1
                break
            seen = True
            # one number: sign, digits, fraction, exponent
            negative = c == 45
            if c == 45 or c == 43:
                i += 1
            first = i
            number = np.int64(0)
            while i < size and 48 <= text[i] <= 57:
                number = number * 10 + (text[i] - 48)
                i += 1
            digits = i - first
            ends = i >= size or text[i] == 10 or text[i] == 32 or text[i] == 9 or text[i] == 13
            value = np.float64(number)
            if not ends or digits > 18:  # the long way
                value, digits, i = _float_at(text, first)
                ends = i >= size or text[i] == 10 or text[i] == 32 or text[i] == 9 or text[i] == 13
                if value <= LARGEST:
                    number = np.int64(value)
            if negative:
                number, value = -number, -value
            if digits == 0 or not ends:
                if code == _OK:
                    code = _BAD_NUMBER
                    field_of_line[line] = min(field, 17)
                while i < size and text[i] != 10 and text[i] != 32 and text[i] != 9 and text[i] != 13:
                    i += 1
            elif field < 18:
                if value > LARGEST or value < _LEAST[field] or (not _IS_FRACTIONAL[field] and value != number):
                    if code == _OK:
                        code = _BAD_VALUE
                        field_of_line[line] = field
                elif _IS_FRACTIONAL[field]:
                    fractional[_SLOT[field], rows] = value
                else:
                    whole[field, rows] = number
            field += 1
        i += 1  # the line end
        if code != _COMMENT:
            if not seen:
                code = _BLANK
            elif field != 18:  # the count of fields tells more than a word among them
                code = _TOO_FEW if field < 18 else _TOO_MANY
                field_of_line[line] = field
        code_of_line[line] = code
        if code == _OK:
            line_of[rows] = line + 1
            rows += 1
    return whole[:, :rows], fractional[:, :rows], line_of[:rows], code_of_line, field_of_line


@compiled
def _float_at(text, i):
    """(value, digits or 0 for none, where it ends) of the number without a sign that begins here."""
    size = len(text)
    number = 0.0
    digits = 0
    while i < size and 48 <= text[i] <= 57:
        number = number * 10.0 + (text[i] - 48)
        digits += 1
        i += 1
    if i < size and text[i] == 46:
        i += 1
        scale = 1.0
        while i < size and 48 <= text[i] <= 57:
            number = number * 10.0 + (text[i] - 48)
            scale *= 10.0
            digits += 1
            i += 1
        number /= scale
    if digits > 0 and i < size and (text[i] == 101 or text[i] == 69):
        i += 1
        exponent_sign = 1
        if i < size and (text[i] == 45 or text[i] == 43):
            exponent_sign = -1 if text[i] == 45 else 1
            i += 1
        exponent = 0
        exponent_digits = 0
        while i < size and 48 <= text[i] <= 57:
            exponent = min(exponent * 10 + (text[i] - 48), 400)
            exponent_digits += 1
            i += 1
        if exponent_digits == 0:
            digits = 0
        if number != 0.0:  # else 0 * inf
            power = 10.0**exponent
            number = number / power if exponent_sign < 0 else number * power
    return number, digits, i
