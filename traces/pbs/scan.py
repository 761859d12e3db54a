"""The compiled part of the PBS reader: records of plain text, straight from the bytes of a file.

It takes a line only where every rule of `traces.pbs.rules` is met and every byte is plain ASCII text. All odd lines are left to those
rules, line by line. So both always agree (tests check it), and reasons for rejects are written in one place only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from traces.common.compiled import compiled
from traces.common.spans import line_starts
from traces.pbs.lists import node_table
from traces.pbs.rules import END_RECORD
from traces.pbs.values import KEYS, MISSING, NUM_KEYS, NUMBER_COLUMNS, REQUESTOR, STRINGS, numbers_of

BLANK, TAKEN, ODD = range(3)
"""What a line is: blank, a record that was taken, or one that is left to the rules."""

MESSAGE = len(STRINGS)
"""Index of the message itself among the strings of a record, where it has no keys."""
_END_CODE = ord(END_RECORD)
ARRAY_CODE = 1
"""The type of the end of an array as a whole, in place of an ASCII code."""
KIND_AT = 20
"""Where the letter of the record's type is in a line."""
_LOGGED = NUMBER_COLUMNS.index("logged_s")
_TABLE_SIZE = 1024
_MOST_KEY = 32
_SHORTEST_KEY = 3


def _key_table() -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Keys by hash: number of the key in each slot (-1: none), and the keys' bytes and lengths."""
    slots = np.full(_TABLE_SIZE, -1, dtype=np.int64)
    text = np.zeros((NUM_KEYS, _MOST_KEY), dtype=np.uint8)
    length = np.array([len(key) for key in KEYS], dtype=np.int64)
    for number, key in enumerate(KEYS):
        text[number, : len(key)] = np.frombuffer(key.encode(), dtype=np.uint8)
        slot = _slot_of.py_func(len(key), ord(key[-1]), ord(key[-2]), ord(key[-3]))  # an import must not compile
        while slots[slot] >= 0:
            slot = (slot + 1) & (_TABLE_SIZE - 1)
        slots[slot] = number
    return slots, text, length


@compiled
def _slot_of(length, last, second, third):
    """Keys have the same beginnings (Resource_List., resources_used.) and different ends."""
    return (length * 5 + last * 37 + second * 11 + third * 3) & (_TABLE_SIZE - 1)


_KEY_SLOTS, _KEY_TEXT, _KEY_LENGTH = _key_table()

# what a byte is
_WORD, _LETTER, _SPACE = 1, 2, 4
"""Whether a byte may continue a key, may begin one, or is blank."""


def _byte_kinds() -> NDArray[np.uint8]:
    kinds = np.zeros(256, dtype=np.uint8)
    for byte in range(127):
        character = chr(byte)
        if character in " \t":
            kinds[byte] = _SPACE
        elif character.isalpha() or character == "_":
            kinds[byte] = _WORD | _LETTER
        elif character.isdigit() or character in ".-":
            kinds[byte] = _WORD
    return kinds


_KINDS = _byte_kinds()


class Scan(NamedTuple):
    """Of `lines` lines, the first numbered 0.

    kind: of each line, above, uint8 (lines,). line_start: offset of each line and of the end, int64 (lines + 1,).
    row_line: the line of each taken record, int64 (rows,). type: its record type, an ASCII code or ARRAY_CODE, uint8 (rows,).
    job_id, strings: offset and length, int64 (rows, 2) and (rows, STRINGS + 1, 2), length -1 where the key is missing.
    numbers: int64 (rows, NUMBER_COLUMNS), MISSING where unknown.
    """

    kind: NDArray[np.uint8]
    line_start: NDArray[np.int64]
    row_line: NDArray[np.int64]
    type: NDArray[np.uint8]
    job_id: NDArray[np.int64]
    strings: NDArray[np.int64]
    numbers: NDArray[np.int64]


def scan(content: bytes) -> Scan:
    """Reads every line of the bytes, and leaves the odd ones to the rules."""
    text = np.frombuffer(content, dtype=np.uint8)
    starts = line_starts(text)
    kind, *rows = _scan(text, starts)
    return Scan(kind, starts, *rows)


@compiled
def _scan(text, line_start):
    lines = len(line_start) - 1
    kind = np.full(lines, ODD, dtype=np.uint8)
    row_line = np.empty(lines, dtype=np.int64)
    record_type = np.empty(lines, dtype=np.uint8)
    job_id = np.empty((lines, 2), dtype=np.int64)
    strings = np.empty((lines, MESSAGE + 1, 2), dtype=np.int64)
    numbers = np.empty((lines, len(NUMBER_COLUMNS)), dtype=np.int64)
    spans = np.empty((NUM_KEYS, 2), dtype=np.int64)
    table = node_table()
    rows = 0
    for line in range(lines):
        begin, end = line_start[line], line_start[line + 1]
        if end > begin and text[end - 1] == 10:
            end -= 1
        while end > begin and text[end - 1] == 13:
            end -= 1
        if not _is_plain(text, begin, end):
            continue
        if _skip_blanks(text, begin, end) == end:
            kind[line] = BLANK
            continue
        separator = _record_head(text, begin, end)
        if separator < 0:
            continue
        is_end = text[begin + 20] == _END_CODE
        if is_end and separator == begin + 22:
            continue
        is_array = is_end and _is_array(text, begin + 22, separator)
        is_end &= not is_array
        if not _find_message(text, separator + 1, end, is_end, spans, strings[rows, MESSAGE]):
            continue
        if not numbers_of(text, spans, numbers[rows], is_end, table, line + 1):
            continue
        numbers[rows, _LOGGED] = _logged_s(text, begin)
        for i in range(spans[REQUESTOR, 0], spans[REQUESTOR, 0] + spans[REQUESTOR, 1]):
            if text[i] == 64:  # user@host
                spans[REQUESTOR, 1] = i - spans[REQUESTOR, 0]
                break
        kind[line] = TAKEN
        row_line[rows] = line
        record_type[rows] = ARRAY_CODE if is_array else text[begin + 20]
        job_id[rows, 0] = begin + 22
        job_id[rows, 1] = separator - begin - 22
        for k in range(len(STRINGS)):
            strings[rows, k, 0] = spans[k, 0]
            strings[rows, k, 1] = spans[k, 1]
        rows += 1
    return kind, row_line[:rows], record_type[:rows], job_id[:rows], strings[:rows], numbers[:rows]


@compiled
def _is_plain(text, begin, end):
    """Whether all bytes are printable ASCII or tabs. It is one loop without branches, which the compiler vectorises."""
    strange = np.uint8(0)
    for i in range(np.uint64(begin), np.uint64(end)):
        c = text[i]
        strange |= np.uint8(c >= 127) | (np.uint8(c < 32) & np.uint8(c != 9))
    return strange == 0


@compiled
def _skip_blanks(text, begin, end):
    while begin < end and _KINDS[text[begin]] & _SPACE:
        begin += 1
    return begin


@compiled
def _record_head(text, begin, end):
    """Where the message's separator is in `MM/DD/YYYY HH:MM:SS;T;ID;message`, -1 if the line is not one."""
    if end - begin < 23:
        return -1
    for k in range(19):
        c = text[begin + k]
        if k == 2 or k == 5:
            if c != 47:  # /
                return -1
        elif k == 10:
            if c != 32:
                return -1
        elif k == 13 or k == 16:
            if c != 58:  # :
                return -1
        elif c < 48 or c > 57:
            return -1
    if text[begin + 19] != 59 or text[begin + 21] != 59:  # ;
        return -1
    for i in range(begin + 22, end):
        if text[i] == 59:
            return i
    return -1


@compiled
def _is_array(text, begin, end):
    """Whether the id of a job is that of an array as a whole, `12[]` or `12[].server`."""
    i = begin
    while i + 1 < end and (text[i] != 91 or text[i + 1] != 93):
        i += 1
    return i + 1 < end


@compiled
def _digits(text, begin, count):
    number = np.int64(0)
    for k in range(count):
        number = number * 10 + (text[begin + k] - 48)
    return number


@compiled
def _logged_s(text, begin):
    """Seconds from 1970 to the stamp of the record, as if its clock showed UTC. MISSING for a time that the calendar does not have."""
    month, day, year = _digits(text, begin, 2), _digits(text, begin + 3, 2), _digits(text, begin + 6, 4)
    hour, minute, second = _digits(text, begin + 11, 2), _digits(text, begin + 14, 2), _digits(text, begin + 17, 2)
    if month < 1 or month > 12 or day < 1 or year < 1 or hour > 23 or minute > 59 or second > 59:
        return np.int64(MISSING)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    longest = 28 + leap if month == 2 else 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31
    if day > longest:
        return np.int64(MISSING)
    # days since 1970 in the Gregorian calendar, the year taken to begin in March
    y = year - (month <= 2)
    days = (
        365 * y
        + y // 4
        - y // 100
        + y // 400
        + (153 * (month + 9 if month <= 2 else month - 3) + 2) // 5
        + day
        - 719469
    )
    return np.int64(days * 86400 + hour * 3600 + minute * 60 + second)


@compiled
def _find_message(text, begin, end, is_end, spans, message):
    """Fills the spans of the keys, or of the message as a whole where it has none. False for odd text."""
    message[1] = -1
    if not is_end:
        has_keys = False
        for i in range(begin, end):
            if text[i] == 61:  # =
                has_keys = True
                break
        if not has_keys:
            spans[:, 1] = -1
            first = _skip_blanks(text, begin, end)
            while end > first and _KINDS[text[end - 1]] & _SPACE:
                end -= 1
            if end > first:
                message[0], message[1] = first, end - first
            return True
    return _find_values(text, begin, end, spans)


@compiled
def _find_values(text, begin, end, spans):
    """Fills spans (KEYS, 2) with offset and length of every key's value, without its quotes. False for odd text."""
    spans[:, 1] = -1
    name = _skip_blanks(text, begin, end)
    if name == end:
        return True
    name_end = _key_at(text, name, end)
    if name_end < 0:
        return False
    while True:
        # the value of the key at name : name_end
        first = name_end + 1
        i = first
        quoted = i < end and text[i] == 34
        if quoted:
            i += 1
            while i < end and text[i] != 34:
                if text[i] == 92:  # an escape
                    return False
                i += 1
            if i == end:
                return False
            i += 1
            if i < end and not _KINDS[text[i]] & _SPACE:
                return False
        next_name = end
        next_end = np.int64(-1)
        while True:  # to the next key, because values may have blanks
            while i < end and text[i] != 32 and text[i] != 9:
                i += 1
            last = i
            i = _skip_blanks(text, i, end)
            if i == end:
                break
            next_end = _key_at(text, i, end)
            if next_end >= 0:
                next_name = i
                break
            if quoted:
                return False
        number = _number_of_key(text, name, name_end)
        if number >= 0:
            while first < last and text[first] == 34:
                first += 1
            while first < last and text[last - 1] == 34:
                last -= 1
            spans[number, 0] = first
            spans[number, 1] = last - first
        if next_end < 0:
            return True
        name, name_end = next_name, next_end


@compiled
def _key_at(text, i, end):
    """Offset of the = of the key that begins here, -1 if none does."""
    if not _KINDS[text[i]] & _LETTER:
        return np.int64(-1)
    while i < end and _KINDS[text[i]] & _WORD:
        i += 1
    return np.int64(i) if i < end and text[i] == 61 else np.int64(-1)


@compiled
def _number_of_key(text, begin, end):
    """Index in KEYS, -1 for a key that is not read."""
    length = end - begin
    if length < _SHORTEST_KEY:
        return np.int64(-1)
    slot = _slot_of(length, np.int64(text[end - 1]), np.int64(text[end - 2]), np.int64(text[end - 3]))
    while _KEY_SLOTS[slot] >= 0:
        number = _KEY_SLOTS[slot]
        if _KEY_LENGTH[number] == length:
            same = True
            for k in range(length - 1, -1, -1):
                if text[begin + k] != _KEY_TEXT[number, k]:
                    same = False
                    break
            if same:
                return number
        slot = (slot + 1) & (_TABLE_SIZE - 1)
    return np.int64(-1)
