"""The compiled part of the PBS reader: plain end-of-job and requeue records, straight from the bytes of a file.

It takes a line only where every rule of `traces.pbs` is met and every byte is plain ASCII text; whatever is odd in any way is
left to the reader's own rules, line by line, so that both always agree (tested) and reasons for rejects are written
down once.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from traces.spans import line_starts

BLANK, OTHER, TAKEN, ODD = range(4)
"""What a line is: blank; a sound record of another type; an end or requeue record that was taken; left to the reader."""

STRINGS = ("user", "group", "account", "project", "queue", "jobname", "exec_host")
TIMES = ("ctime", "qtime", "etime", "start", "end")
DURATIONS = ("Resource_List.walltime", "resources_used.walltime", "resources_used.cput", "eligible_time")
COUNTS = ("resources_used.ncpus", "Resource_List.ncpus", "total_execution_slots")
OPTIONAL_COUNTS = ("Resource_List.ngpus", "Resource_List.nodect", "unique_node_count", "run_count", "start_count")
SIZES = ("Resource_List.mem", "resources_used.mem")
KEYS = (
    *STRINGS, *TIMES, *DURATIONS, *COUNTS, *OPTIONAL_COUNTS, *SIZES, "Resource_List.select", "Resource_List.nodes",
    "Exit_status", "exit_status",
)  # fmt: skip

_USER, _EXEC_HOST = KEYS.index("user"), KEYS.index("exec_host")
_CTIME, _QTIME, _ETIME, _START, _STOP = (KEYS.index(key) for key in TIMES)
_LIMIT, _USED, _CPU, _ELIGIBLE = (KEYS.index(key) for key in DURATIONS)
_USED_NCPUS, _NCPUS, _SLOTS = (KEYS.index(key) for key in COUNTS)
_GPUS, _NODECT, _UNIQUE_NODES, _RUNS, _STARTS = (KEYS.index(key) for key in OPTIONAL_COUNTS)
_MEMORY, _USED_MEMORY = (KEYS.index(key) for key in SIZES)
_SELECT, _NODES = KEYS.index("Resource_List.select"), KEYS.index("Resource_List.nodes")
_EXIT, _EXIT_TORQUE = KEYS.index("Exit_status"), KEYS.index("exit_status")
_NUM_KEYS = len(KEYS)

NUMBERS = (
    "ctime_s", "qtime_s", "etime_s", "start_s", "end_s", "procs", "requested_procs", "requested_walltime_s",
    "used_walltime_s", "used_cpu_s", "exit_status", "eligible_wait_s", "gpus", "nodes", "run_count", "requested_memory_kb",
    "used_memory_kb",
)  # fmt: skip
MISSING = -(1 << 62)
LARGEST_S = 10**11
"""A larger number of seconds is a fault of the log: it is more than three thousand years."""

_PREFIXES = np.frombuffer(b"kmgt", dtype=np.uint8)
_E, _R = ord("E"), ord("R")
_TABLE_SIZE = 128
_MOST_KEY = 32


def _key_table() -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Keys by hash: number of the key in each slot (-1: none), and the keys' bytes and lengths."""
    slots = np.full(_TABLE_SIZE, -1, dtype=np.int64)
    text = np.zeros((_NUM_KEYS, _MOST_KEY), dtype=np.uint8)
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


@numba.njit(cache=True, nogil=True)
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
    spans = np.empty((_NUM_KEYS, 2), dtype=np.int64)
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
        if not _numbers_of(text, spans, numbers[rows]):
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


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def _find_values(text, begin, end, spans):
    """Fills spans (KEYS, 2) with offset and length of every key's value, its quotes taken off; False for what is odd."""
    for k in range(_NUM_KEYS):
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


@numba.njit(cache=True, nogil=True)
def _key_at(text, i, end):
    """(whether a key and its = begin here, offset of the =, hash of the key)."""
    value = np.uint32(0)
    if not _KINDS[text[i]] & _LETTER:
        return False, np.int64(0), value
    while i < end and _KINDS[text[i]] & _WORD:
        value = np.uint32(value * np.uint32(31) + text[i])
        i += 1
    return i < end and text[i] == 61, np.int64(i), value


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def _numbers_of(text, spans, numbers):
    """Fills the record's NUMBERS; False for what breaks a rule of the reader."""
    for k, key in enumerate((_CTIME, _QTIME, _ETIME, _START, _STOP)):
        numbers[k] = _unix_seconds(text, spans, key)
        if numbers[k] == -1:
            return False
    if numbers[0] == MISSING:
        numbers[0] = numbers[1]
    if numbers[0] == MISSING or numbers[3] == MISSING or numbers[4] == MISSING:
        return False
    if numbers[0] > numbers[3] or numbers[3] > numbers[4]:
        return False
    requested = _requested_procs(text, spans)
    allocated = _allocated_procs(text, spans)
    if requested == -1 or allocated == -1 or (requested == 0 and allocated == 0):
        return False
    numbers[5] = allocated if allocated > 0 else requested
    numbers[6] = requested if requested > 0 else MISSING
    for k, key in enumerate((_LIMIT, _USED, _CPU)):
        numbers[7 + k] = _duration(text, spans, key)
        if numbers[7 + k] == -1:
            return False
    numbers[10] = _exit_status(text, spans)
    eligible = _duration(text, spans, _ELIGIBLE)
    numbers[11] = eligible if eligible >= 0 else MISSING
    numbers[12] = _optional_count(text, spans, _GPUS)
    numbers[13] = _optional_count(text, spans, _NODECT)
    if numbers[13] == MISSING:
        numbers[13] = _optional_count(text, spans, _UNIQUE_NODES)
    numbers[14] = _optional_count(text, spans, _RUNS)
    if numbers[14] == MISSING:
        numbers[14] = _optional_count(text, spans, _STARTS)
    numbers[15] = _kilobytes(text, spans, _MEMORY)
    numbers[16] = _kilobytes(text, spans, _USED_MEMORY)
    return True


@numba.njit(cache=True, nogil=True)
def _whole(text, begin, end, most_digits):
    """The number of 1 to `most_digits` digits, -1 for anything else."""
    if end <= begin or end - begin > most_digits:
        return np.int64(-1)
    number = np.int64(0)
    for i in range(begin, end):
        if text[i] < 48 or text[i] > 57:
            return np.int64(-1)
        number = number * 10 + (text[i] - 48)
    return number


@numba.njit(cache=True, nogil=True)
def _unix_seconds(text, spans, key):
    """MISSING for none, -1 for what is no Unix time."""
    begin, length = spans[key, 0], spans[key, 1]
    if length <= 0 or (length == 1 and text[begin] == 48):
        return np.int64(MISSING)
    number = _whole(text, begin, begin + length, 12)
    return number if number <= LARGEST_S else np.int64(-1)


@numba.njit(cache=True, nogil=True)
def _duration(text, spans, key):
    """Seconds of [[D:]H:]M:S; MISSING for none, -1 for what is no duration."""
    begin, length = spans[key, 0], spans[key, 1]
    if length < 0:
        return np.int64(MISSING)
    seconds = np.int64(0)
    parts = 0
    end = begin + length
    unit = np.int64(1)
    while True:
        colon = end - 1
        while colon >= begin and text[colon] != 58:
            colon -= 1
        number = _whole(text, colon + 1, end, 12)
        if number < 0 or parts == 4:
            return np.int64(-1)
        parts += 1
        seconds += number * unit
        unit = np.int64(60 if parts == 1 else 3600 if parts == 2 else 86400)
        if colon < begin:
            return seconds if seconds <= LARGEST_S else np.int64(-1)
        end = colon


@numba.njit(cache=True, nogil=True)
def _count(text, spans, key):
    """0 where the key is missing, 0 or a word; -1 for a number that is too large."""
    begin, length = spans[key, 0], spans[key, 1]
    if length <= 0:
        return np.int64(0)
    for i in range(begin, begin + length):
        if text[i] < 48 or text[i] > 57:
            return np.int64(0)
    return _whole(text, begin, begin + length, 9)


@numba.njit(cache=True, nogil=True)
def _optional_count(text, spans, key):
    """A whole number of up to 9 digits; MISSING for anything else."""
    number = _whole(text, spans[key, 0], spans[key, 0] + spans[key, 1], 9)
    return number if number >= 0 else np.int64(MISSING)


@numba.njit(cache=True, nogil=True)
def _kilobytes(text, spans, key):
    """Of a size such as 10gb, 1024KB, 512mw or 30 (bytes), rounded up; MISSING for anything else."""
    begin, end = spans[key, 0], spans[key, 0] + max(spans[key, 1], 0)
    i = begin
    while i < end and 48 <= text[i] <= 57:
        i += 1
    number = _whole(text, begin, i, 12)
    if number < 0:
        return np.int64(MISSING)
    power = 0
    for k in range(len(_PREFIXES)):
        if i < end and text[i] | 32 == _PREFIXES[k]:
            power = k + 1
            i += 1
            break
    if i < end and text[i] | 32 == 119:  # w: words of 8 bytes
        number *= 8
        i += 1
    elif i < end and text[i] | 32 == 98:  # b
        i += 1
    if i < end:
        return np.int64(MISSING)
    if power == 0:
        return (number + 1023) >> 10
    return number << (10 * (power - 1))


@numba.njit(cache=True, nogil=True)
def _requested_procs(text, spans):
    """0 for none, -1 for what is odd."""
    if spans[_NODES, 1] <= 0 or spans[_SELECT, 1] >= 0:
        return _count(text, spans, _NCPUS)
    total = np.int64(0)
    i = spans[_NODES, 0]
    end = i + spans[_NODES, 1]
    while i <= end:
        chunk = i
        while i < end and text[i] != 43:  # +
            i += 1
        total += _procs_of_chunk(text, chunk, i)
        if total < 0 or total > 1_000_000_000:
            return np.int64(-1)
        i += 1
    return total


@numba.njit(cache=True, nogil=True)
def _procs_of_chunk(text, begin, end):
    """Processors of `2:ppn=12:himem` or `node01:ppn=2`; far below 0 for what is odd."""
    i = begin
    digits = True
    while i < end and text[i] != 58:
        digits &= 48 <= text[i] <= 57
        i += 1
    nodes = _whole(text, begin, i, 9) if digits and i > begin else np.int64(1)
    ppn = np.int64(-1)
    while i < end:
        i += 1
        word = i
        while i < end and text[i] != 58:
            i += 1
        is_ppn = i - word > 4 and text[word] == 112 and text[word + 1] == 112 and text[word + 2] == 110
        if ppn < 0 and is_ppn and text[word + 3] == 61:
            digits = True
            for k in range(word + 4, i):
                digits &= 48 <= text[k] <= 57
            if digits:
                ppn = _whole(text, word + 4, i, 9)
                if ppn < 0:
                    return np.int64(MISSING)
    if nodes < 0:
        return np.int64(MISSING)
    return nodes * (ppn if ppn >= 0 else 1)


@numba.njit(cache=True, nogil=True)
def _allocated_procs(text, spans):
    """0 for none, -1 for what is odd."""
    for key in (_USED_NCPUS, _NCPUS, _SLOTS):
        # Torque writes ncpus=1 beside nodes=2:ppn=12; the slots then tell more
        if key == _NCPUS and spans[_SELECT, 1] < 0:
            continue
        count = _count(text, spans, key)
        if count != 0:
            return count
    if spans[_EXEC_HOST, 1] <= 0:
        return np.int64(0)
    return _slots_of(text, spans[_EXEC_HOST, 0], spans[_EXEC_HOST, 0] + spans[_EXEC_HOST, 1])


@numba.njit(cache=True, nogil=True)
def _slots_of(text, begin, end):
    """Slots of `n1/0*4+n2/0-3,7`, -1 for what is odd."""
    slots = np.int64(0)
    i = begin
    while i <= end:
        while i < end and text[i] != 47 and text[i] != 43:  # / +
            i += 1
        if i == end or text[i] == 43:
            slots += 1
            i += 1
            continue
        i += 1
        where = i
        star = np.int64(-1)
        while i < end and text[i] != 43:
            if text[i] == 42 and star < 0:
                star = i
            i += 1
        if star >= 0:
            count = _whole(text, star + 1, i, 9)
            if count < 0:
                return np.int64(-1)
            slots += count
        else:
            slots += _slots_listed(text, where, i)
        if slots < 0 or slots > 1_000_000_000:
            return np.int64(-1)
        i += 1
    return max(slots, np.int64(1))


@numba.njit(cache=True, nogil=True)
def _slots_listed(text, begin, end):
    """Slots of `0-3,7`; far below 0 for what is odd."""
    slots = np.int64(0)
    i = begin
    while i <= end:
        part = i
        dash = np.int64(-1)
        while i < end and text[i] != 44:
            if text[i] == 45 and dash < 0:
                dash = i
            i += 1
        if dash < 0:
            slots += 1
        else:
            first, last = _whole(text, part, dash, 9), _whole(text, dash + 1, i, 9)
            if first < 0 or last < 0 or last < first:
                return np.int64(MISSING)
            slots += last - first + 1
        i += 1
    return slots


@numba.njit(cache=True, nogil=True)
def _exit_status(text, spans):
    key = _EXIT if spans[_EXIT, 1] >= 0 else _EXIT_TORQUE
    begin, length = spans[key, 0], spans[key, 1]
    if length <= 0:
        return np.int64(MISSING)
    negative = text[begin] == 45
    number = _whole(text, begin + 1 if negative else begin, begin + length, 9)
    if number < 0:
        return np.int64(MISSING)
    return -number if negative else number
