"""The numbers in the lines of an SWF file, in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from traces.common.compiled import compiled, lean
from traces.swf.fields import (
    FIELDS,
    FRACTIONAL,
    LARGEST_NUMBER,
    MAY_BE_NEGATIVE,
    NEVER_UNKNOWN,
    NUM_FIELDS,
    PARTIAL_STATES,
    TIME_FIELDS,
)

SOUND, BLANK_LINE, COMMENT, FURTHER_PART, BAD_NUMBER, BAD_VALUE, TOO_LATE, TOO_FEW, TOO_MANY = range(9)
"""What a line is. Codes from BAD_NUMBER on are of lines that are rejected."""

_IS_FRACTIONAL = np.array([name in FRACTIONAL for name in FIELDS])
FRACTION_ROW = np.cumsum(_IS_FRACTIONAL) - 1
"""Of a fractional field: its row in the array of fractional columns."""
_NUM_FRACTIONAL = len(FRACTIONAL)
_IS_TIME = np.array([name in TIME_FIELDS for name in FIELDS])
SUBMIT, WAIT, RUNTIME, REQUESTED, THINK = (
    FIELDS.index(name) for name in ("submit_s", "wait_s", "runtime_s", "requested_walltime_s", "think_time_s")
)
STATUS = FIELDS.index("status")
_FIRST_PART, _LAST_PART = min(PARTIAL_STATES), max(PARTIAL_STATES)
_LARGE = LARGEST_NUMBER / 4
"""Submission, wait and run time that are no larger end before LARGEST_NUMBER together."""
_SECOND = 1_000_000
"""In microseconds, to which times with fractions are exact."""
_LEAST = np.array(
    [-LARGEST_NUMBER if name in MAY_BE_NEGATIVE else 0.0 if name in NEVER_UNKNOWN else -1.0 for name in FIELDS]
)


class SwfScan(NamedTuple):
    """What the lines of a text hold. Rows are its sound lines, in order.

    whole: values of the whole fields, int64 (fields, rows). fractional: those of the others, float64 (fractional fields, rows).
    Times are whole seconds, rounded up. line_of: number of each row's line, from 1, int64 (rows,). code_of_line: one of the codes
    above, int64 (lines,). field_of_line: the field that a rejected line is rejected for, or how many fields it has, int64 (lines,).
    """

    whole: NDArray[np.int64]
    fractional: NDArray[np.float64]
    line_of: NDArray[np.int64]
    code_of_line: NDArray[np.int64]
    field_of_line: NDArray[np.int64]


def scan_swf(content: bytes) -> SwfScan:
    """Reads all lines of the text."""
    return SwfScan(*_scan(np.frombuffer(content, dtype=np.uint8)))


@compiled
def _scan(text):
    """The arrays of an SwfScan. text: uint8 (bytes,)."""
    size = len(text)
    num_lines = 0
    for i in range(size):
        num_lines += text[i] == 10
    if size > 0 and text[size - 1] != 10:
        num_lines += 1
    whole = np.empty((NUM_FIELDS, num_lines), dtype=np.int64)
    fractional = np.empty((_NUM_FRACTIONAL, num_lines), dtype=np.float64)
    fractions = np.zeros(NUM_FIELDS, dtype=np.int64)
    line_of = np.empty(num_lines, dtype=np.int64)
    code_of_line = np.zeros(num_lines, dtype=np.int64)
    field_of_line = np.zeros(num_lines, dtype=np.int64)
    rows = 0
    i = 0
    for line in range(num_lines):
        code, field, i = _scan_line(text, i, rows, whole, fractional, fractions)
        code_of_line[line] = code
        field_of_line[line] = field
        if code == SOUND:
            line_of[rows] = line + 1
            rows += 1
    return whole[:, :rows], fractional[:, :rows], line_of[:rows], code_of_line, field_of_line


@lean
def _scan_line(text, i, row, whole, fractional, fractions):
    """Puts the numbers of the line that begins at `i` into one row.

    fractions: zeros (NUM_FIELDS,), for the fractions of this line's times, in microseconds.
    Returns the line's code, the field that it is about, and where the next line begins."""
    size = len(text)
    field = 0
    code = SOUND
    faulty_field = 0
    has_large = False
    has_fractions = False
    has_submission = True
    while i < size and text[i] != 10:
        c = text[i]
        if c == 32 or c == 9 or c == 13:
            i += 1
            continue
        if field == 0 and c == 59:  # ';'
            while i < size and text[i] != 10:
                i += 1
            return COMMENT, 0, i + 1
        value, number, digits, i = _number_at(text, i)
        if digits == 0 or not _ends_at(text, i):
            if code == SOUND:
                code = BAD_NUMBER
                faulty_field = min(field, NUM_FIELDS - 1)
            while not _ends_at(text, i):
                i += 1
        elif field < NUM_FIELDS:
            odd = value > _LARGE or value < _LEAST[field] or (value != number and not _may_be_split(field, value))
            if odd and _LARGE < value <= LARGEST_NUMBER:
                has_large = True
                odd = value != number and not _may_be_split(field, value)
            if odd:
                if field == SUBMIT and value == -1:
                    has_submission = False
                elif code == SOUND:
                    code = BAD_VALUE
                    faulty_field = field
            elif _IS_FRACTIONAL[field]:
                fractional[FRACTION_ROW[field], row] = value
            else:
                whole[field, row] = number
                if value != number:
                    fractions[field] = np.int64(np.rint((value - number) * _SECOND))
                    has_fractions = True
        field += 1
    if field != NUM_FIELDS:  # the count of fields says more than a word among them
        code, faulty_field = _code_of_count(field), field
    elif not has_submission:
        code, faulty_field = _without_submission(code, faulty_field, whole[STATUS, row])
    if has_fractions:
        if code == SOUND:
            _to_whole_seconds(row, whole, fractions)
        fractions[:] = 0
    if has_large and code == SOUND and _end(row, whole) > LARGEST_NUMBER:
        code = TOO_LATE
    return code, faulty_field, i + 1


@lean
def _number_at(text, i):
    """(value, its whole part, digits or 0 for none, where it ends) of the number that begins here."""
    sign = text[i]
    if sign == 45 or sign == 43:
        i += 1
    first = i
    number = np.int64(0)
    while i < len(text) and 48 <= text[i] <= 57:
        number = number * 10 + (text[i] - 48)
        i += 1
    digits = i - first
    value = np.float64(number)
    if digits > 18 or not _ends_at(text, i):  # the long way
        value, digits, i = _float_at(text, first)
        if value <= LARGEST_NUMBER:
            number = np.int64(value)
    if sign == 45:
        number, value = -number, -value
    return value, number, digits, i


@lean
def _code_of_count(fields):
    """The code of a line that has another number of fields than a job."""
    if fields == 0:
        return BLANK_LINE
    return TOO_FEW if fields < NUM_FIELDS else TOO_MANY


@lean
def _without_submission(code, faulty_field, status):
    """(code, field) of a line whose submission is not known: a later part of a job's run, or a fault."""
    if code == SOUND and _FIRST_PART <= status <= _LAST_PART:
        return FURTHER_PART, faulty_field
    if code == SOUND or faulty_field > SUBMIT:
        return BAD_VALUE, SUBMIT
    return code, faulty_field


@lean
def _may_be_split(field, value):
    """Whether a field may have this fraction. Where -1 is the least, nothing between it and zero means anything."""
    return _IS_FRACTIONAL[field] or (_IS_TIME[field] and (value >= 0 or _LEAST[field] < -1))


@lean
def _to_whole_seconds(row, whole, fractions):
    """Rounds the times of a row up to whole seconds, see docs/reference/logs.md.

    Submission, start and end are rounded, and wait and run time lie between them. So what follows on something else in the log
    still does, and a run time within its request stays within it.
    """
    submit = whole[SUBMIT, row] * _SECOND + fractions[SUBMIT]
    wait = whole[WAIT, row] * _SECOND + fractions[WAIT]
    runtime = whole[RUNTIME, row] * _SECOND + fractions[RUNTIME]
    start = submit + max(wait, 0)
    whole[SUBMIT, row] = _seconds_up(submit)
    whole[WAIT, row] = _seconds_up(start) - _seconds_up(submit) if wait >= 0 else wait // _SECOND
    if runtime >= 0:
        whole[RUNTIME, row] = _seconds_up(start + runtime) - _seconds_up(start)
    for field in (REQUESTED, THINK):
        whole[field, row] = _seconds_up(whole[field, row] * _SECOND + fractions[field])


@lean
def _end(row, whole):
    return whole[SUBMIT, row] + max(whole[WAIT, row], 0) + max(whole[RUNTIME, row], 0)


@lean
def _seconds_up(microseconds):
    return -(-microseconds // _SECOND)


@lean
def _ends_at(text, i):
    """Whether a word ends before this byte, which is a blank, the end of a line, or the end of the text."""
    return i >= len(text) or text[i] == 10 or text[i] == 32 or text[i] == 9 or text[i] == 13


@lean
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
        if number != 0.0:  # otherwise 0 * inf
            power = 10.0**exponent
            number = number / power if exponent_sign < 0 else number * power
    return number, digits, i
