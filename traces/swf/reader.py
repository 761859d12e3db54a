"""Standard Workload Format: reader."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from traces.common.blocks import read_log
from traces.common.log import REJECT_SCHEMA, ParsedLines, ParsedLog, line_texts
from traces.swf.fields import (
    FIELDS,
    FRACTIONAL,
    LARGEST_NUMBER,
    MAY_BE_NEGATIVE,
    NEVER_UNKNOWN,
    NUM_FIELDS,
    TIME_FIELDS,
)
from traces.swf.scan import (
    BAD_NUMBER,
    BLANK_LINE,
    COMMENT,
    FRACTION_ROW,
    FURTHER_PART,
    TOO_FEW,
    TOO_LATE,
    TOO_MANY,
    scan_swf,
)

SWF_READER_VERSION = 3
"""Raise it when the same bytes of a log give other rows: each log of this format is then read again."""


def read_swf(path: Path) -> ParsedLog:
    """Reads one SWF file as a whole, plain or packed; see `parse_swf`. Raises LogError when it cannot be read."""
    return read_log(path, "swf", parse_swf)


def parse_swf(content: bytes, first_line: int = 1) -> ParsedLines:
    """Whole lines of an SWF file, the first numbered `first_line`.

    Records have `line` and the 18 `FIELDS`: Int64 (Float64 for `FRACTIONAL`), -1 as null.
    Times with fractions are rounded up to whole seconds. A line is rejected when it has not exactly 18 numbers, when a field
    that must be whole or not negative is not, or when the job number or the submit time is missing. A further part of a job
    that ran in parts, which has no submit time of its own, is ignored.
    """
    whole, fractional, line_of, code_of_line, field_of_line = scan_swf(content)
    rejected = (np.flatnonzero(code_of_line >= BAD_NUMBER) + 1).tolist()
    texts = line_texts(content, rejected)
    reasons = [_reason(int(code_of_line[line - 1]), int(field_of_line[line - 1])) for line in rejected]
    reject_rows = [(first_line + line - 1, reason, texts[line]) for line, reason in zip(rejected, reasons, strict=True)]
    columns = {"line": pl.Series(line_of + (first_line - 1))}
    for i, name in enumerate(FIELDS):
        column = fractional[FRACTION_ROW[i]] if name in FRACTIONAL else whole[i]
        columns[name] = pl.Series(column).set(pl.Series(column == -1), None)
    ignored = {"comment": int((code_of_line == COMMENT).sum()), "blank line": int((code_of_line == BLANK_LINE).sum())}
    if further := int((code_of_line == FURTHER_PART).sum()):
        ignored["partial execution without a submission"] = further
    return ParsedLines(
        lines=len(code_of_line),
        records=pl.DataFrame(columns),
        rejects=pl.DataFrame(reject_rows, schema=REJECT_SCHEMA, orient="row"),
        ignored=ignored,
        header=_header(content, code_of_line),
    )


def header_value(header: Iterable[tuple[str, str]], *keys: str) -> int | None:
    """The whole number that the value of a key begins with: "338 (batch partition)" is 338. The first of `keys` counts.

    A number of more than 15 digits is taken for the smallest of them. None when the header has no such number.
    """
    for wanted in keys:
        for key, value in header:
            number = re.match(r"\s*(-?)0*([0-9]+)", value) if key == wanted else None
            if number:
                sign, digits = number.groups()
                return int(sign + (digits if len(digits) <= 15 else "1" + "0" * 15))
    return None


def _header(content: bytes, code_of_line: np.ndarray) -> list[tuple[str, str]]:
    """`; Key: value` comments; a comment without a key continues the one before, as the archive's files do."""
    texts = line_texts(content, (np.flatnonzero(code_of_line == COMMENT) + 1).tolist())
    header: list[tuple[str, str]] = []
    for _, text in sorted(texts.items()):
        body = text.lstrip()[1:]
        pair = re.match(r"\s*([A-Za-z][A-Za-z0-9]*):(?!//)\s*(.*?)\s*$", body)
        if pair:
            header.append((pair.group(1), pair.group(2)))
        elif body.strip():
            if header and header[-1][0] != "Comment":
                header[-1] = (header[-1][0], f"{header[-1][1]} {body.strip()}")
            else:
                header.append(("Comment", body.strip()))
    return header


def _reason(code: int, field: int) -> str:
    if code in (TOO_FEW, TOO_MANY):
        return f"expected {NUM_FIELDS} fields, found {field}"
    if code == TOO_LATE:
        return f"the job ends later than {LARGEST_NUMBER:.0e} s after the beginning of the log"
    name = FIELDS[field]
    if code == BAD_NUMBER:
        return f"field {field + 1} ({name}) is not a number"
    kind = "a number" if name in FRACTIONAL | TIME_FIELDS else "a whole number"
    least = "up" if name in MAY_BE_NEGATIVE else "from 0" if name in NEVER_UNKNOWN else "from 0 (or -1, unknown)"
    return f"field {field + 1} ({name}) must be {kind} {least} to {LARGEST_NUMBER:.0e}"
