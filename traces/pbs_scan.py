"""The compiled part of the PBS reader: plain end-of-job and requeue records, straight from the bytes of a file.

It takes a line only where every rule of `traces.pbs` is met and every byte is plain ASCII text; whatever is odd in any way is
left to the reader's own rules, line by line, so that both always agree (tested) and reasons for rejects are written
down once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from traces.compiled import compiled
from traces.pbs_values import KEYS, NUM_KEYS, NUMBERS, STRINGS, numbers_of
from traces.spans import line_starts

BLANK, OTHER, TAKEN, ODD = range(4)
"""What a line is: blank; a sound record of another type; an end or requeue record that was taken; left to the reader."""

_E, _R = ord("E"), ord("R")
_TABLE_SIZE = 128
_MOST_KEY = 32


def _key_table() -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Keys by hash: number of the key in each slot (-1: none), and the keys' bytes and lengths."""
    slots = np.full(_TABLE_SIZE, -1, dtype=np.int64)
    text = np.zeros((NUM_KEYS, _MOST_KEY), dtype=np.uint8)
    length = np.array([len(key) for key in KEYS], dtype=np.int64)
    for number, key in enumerate(KEYS):
        text[number, : len(key)] = np.frombuffer(key.encode(), dtype=np.uint8)
        value = 0
        for byte in key.encode():
            value = (value * 31 + byte) & 0xFFFFFFFF
        slot = value % _TABLE_SIZE
        while slots[slot] >= 0:
            slot = (slot + 1) % _TABLE_SIZE
        slots[slot] = number
    return slots, text, length


_KEY_SLOTS, _KEY_TEXT, _KEY_LENGTH = _key_table()

# what a byte is
_WORD, _LETTER, _SPACE, _STRANGE = 1, 2, 4, 8
"""May go on in a key; may begin one; blank; not plain text."""


def _byte_kinds() -> NDArray[np.uint8]:
    kinds = np.zeros(256, dtype=np.uint8)
    for byte in range(256):
        character = chr(byte)
        if byte >= 127 or (byte < 32 and character not in "\t"):
            kinds[byte] = _STRANGE
        elif character in " \t":
            kinds[byte] = _SPACE
        elif character.isalpha() or character == "_":
            kinds[byte] = _WORD | _LETTER
        elif character.isdigit() or character in ".-":
            kinds[byte] = _WORD
    return kinds


_KINDS = _byte_kinds()


class Scan(NamedTuple):
    """Of a file of `lines` lines, the first numbered 0.

    kind: of each line, above, uint8 (lines,). type: its record type, an ASCII code, uint8 (lines,); 0 where unknown.
    line_start: offset of each line and of the end, int64 (lines + 1,). row_line: the line of each taken record, int64
    (rows,). job_id, strings: offset and length, int64 (rows, 2) and (rows, STRINGS, 2), length -1 where the key is missing.
    numbers: int64 (rows, NUMBERS), MISSING where unknown.
    """

    kind: NDArray[np.uint8]
    type: NDArray[np.uint8]
    line_start: NDArray[np.int64]
    row_line: NDArray[np.int64]
    job_id: NDArray[np.int64]
    strings: NDArray[np.int64]
    numbers: NDArray[np.int64]


def scan(content: bytes) -> Scan:
    text = np.frombuffer(content, dtype=np.uint8)
    return Scan(*_scan(text, line_starts(text)))


@compiled
def _scan(text, line_start):
    lines = len(line_start) - 1
    kind = np.empty(lines, dtype=np.uint8)
    record_type = np.zeros(lines, dtype=np.uint8)
    row_line = np.empty(lines, dtype=np.int64)
    most_rows = 0
    for line in range(lines):
        begin = line_start[line]
        if line_start[line + 1] - begin > 22 and (text[begin + 20] == _E or text[begin + 20] == _R):
            most_rows += 1
    job_id = np.empty((most_rows, 2), dtype=np.int64)
    strings = np.empty((most_rows, len(STRINGS), 2), dtype=np.int64)
    numbers = np.empty((most_rows, len(NUMBERS)), dtype=np.int64)
    spans = np.empty((NUM_KEYS, 2), dtype=np.int64)
    rows = 0
    for line in range(lines):
        begin, end = line_start[line], line_start[line + 1]
        if end > begin and text[end - 1] == 10:
            end -= 1
        while end > begin and text[end - 1] == 13:
            end -= 1
        kind[line] = ODD
        plain = True
        blank = True
        for i in range(np.uint64(begin), np.uint64(end)):
            what = _KINDS[text[i]]
            plain &= what != _STRANGE
            blank &= what == _SPACE
        if not plain:
            continue
        if blank:
            kind[line] = BLANK
            continue
        separator = _record_head(text, begin, end)
        if separator < 0:
            continue
        record_type[line] = text[begin + 20]
        if text[begin + 20] != _E and text[begin + 20] != _R:
            kind[line] = OTHER
            continue
        if separator == begin + 22 or not _find_values(text, separator + 1, end, spans):
            continue
        if not numbers_of(text, spans, numbers[rows]):
            continue
        kind[line] = TAKEN
        row_line[rows] = line
        job_id[rows, 0] = begin + 22
        job_id[rows, 1] = separator - begin - 22
        for k in range(len(STRINGS)):
            strings[rows, k, 0] = spans[k, 0]
            strings[rows, k, 1] = spans[k, 1]
        rows += 1
    return kind, record_type, line_start, row_line[:rows], job_id[:rows], strings[:rows], numbers[:rows]


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
def _find_values(text, begin, end, spans):
    """Fills spans (KEYS, 2) with offset and length of every key's value, its quotes taken off; False for what is odd."""
    for k in range(NUM_KEYS):
        spans[k, 1] = -1
    i = begin
    while i < end and _KINDS[text[i]] & _SPACE:
        i += 1
    if i == end:
        return True
    name = i
    found, name_end, value = _key_at(text, i, end)
    if not found:
        return False
    while True:
        # the value of the key at name : name_end
        first = name_end + 1
        last = first  # end of the value
        next_name = end
        next_end = np.int64(0)
        next_hash = np.uint32(0)
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
        while True:
            while i < end and not _KINDS[text[i]] & _SPACE:
                i += 1
            last = i
            while i < end and _KINDS[text[i]] & _SPACE:
                i += 1
            if i == end:
                break
            found, next_end, next_hash = _key_at(text, i, end)
            if found:
                next_name = i
                break
            if quoted:
                return False
        number = _number_of_key(text, name, name_end, value)
        if number >= 0:
            while first < last and text[first] == 34:
                first += 1
            while first < last and text[last - 1] == 34:
                last -= 1
            spans[number, 0] = first
            spans[number, 1] = last - first
        if i == end:
            return True
        name, name_end, value = next_name, next_end, next_hash


@compiled
def _key_at(text, i, end):
    """(whether a key and its = begin here, offset of the =, hash of the key)."""
    value = np.uint32(0)
    if not _KINDS[text[i]] & _LETTER:
        return False, np.int64(0), value
    while i < end and _KINDS[text[i]] & _WORD:
        value = np.uint32(value * np.uint32(31) + text[i])
        i += 1
    return i < end and text[i] == 61, np.int64(i), value


@compiled
def _number_of_key(text, begin, end, value):
    """Index in KEYS, -1 for a key that nobody asks for."""
    length = end - begin
    slot = np.int64(value % np.uint32(_TABLE_SIZE))
    while _KEY_SLOTS[slot] >= 0:
        number = _KEY_SLOTS[slot]
        if _KEY_LENGTH[number] == length:
            same = True
            for k in range(length):
                if text[begin + k] != _KEY_TEXT[number, k]:
                    same = False
                    break
            if same:
                return number
        slot = (slot + 1) % _TABLE_SIZE
    return np.int64(-1)
