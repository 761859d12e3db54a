"""Lists inside the values of a PBS record, in compiled code: chunks of resources, hosts and their slots.

A span is where a value is in the bytes of a file: offset and length. The rules are those of `traces.pbs.rules`.
"""

from __future__ import annotations

import numpy as np

from traces.common.compiled import compiled

MISSING = -(1 << 62)
_MOST_CHUNKS = 256
NCPUS, NGPUS, PPN, TORQUE_GPUS = (
    np.frombuffer(word, dtype=np.uint8) for word in (b"ncpus=", b"ngpus=", b"ppn=", b"gpus=")
)


@compiled
def whole(text, begin, end, most_digits):
    """The number of 1 to `most_digits` digits, -1 for anything else."""
    if end <= begin or end - begin > most_digits:
        return np.int64(-1)
    number = np.int64(0)
    for i in range(begin, end):
        if text[i] < 48 or text[i] > 57:
            return np.int64(-1)
        number = number * 10 + (text[i] - 48)
    return number


@compiled
def sum_of_chunks(text, span, word, default, counted):
    """Sum over the chunks of `2:ncpus=4:mem=1gb+1:ncpus=8`, `2:ppn=12+node01` or `(a:ncpus=2+b:ncpus=1)+(c:ncpus=4)`: the number
    after `word`, or the default, times the number that the chunk begins with, if such count; -1 for what is odd."""
    total = np.int64(0)
    i = span[0]
    end = i + span[1]
    while i < end:
        begin = i
        while i < end and text[i] != 43 and text[i] != 40 and text[i] != 41:  # + ( )
            i += 1
        if i > begin:
            of_chunk = _of_chunk(text, begin, i, word, default, counted)
            total += of_chunk
            if of_chunk < 0 or total > 1_000_000_000:
                return np.int64(-1)
        i += 1
    return total


@compiled
def _of_chunk(text, begin, end, word, default, counted):
    i = begin
    digits = True
    while i < end and text[i] != 58:
        digits &= 48 <= text[i] <= 57
        i += 1
    times = whole(text, begin, i, 9) if counted and digits and i > begin else np.int64(1)
    amount = _amount(text, begin, i, word)  # a chunk may begin without a number
    while i < end and amount == MISSING:
        i += 1
        part = i
        while i < end and text[i] != 58:
            i += 1
        amount = _amount(text, part, i, word)
    if amount == MISSING:
        amount = np.int64(default)
    return np.int64(-1) if times < 0 or amount < 0 else times * amount


@compiled
def _amount(text, begin, end, word):
    """The number of `word` and digits; MISSING for anything else, -1 for too many digits."""
    size = len(word)
    if end - begin <= size:
        return np.int64(MISSING)
    for k in range(size):
        if text[begin + k] != word[k]:
            return np.int64(MISSING)
    for k in range(begin + size, end):
        if text[k] < 48 or text[k] > 57:
            return np.int64(MISSING)
    return whole(text, begin + size, end, 9)


@compiled
def slots_of(text, span):
    """Slots of `n1/0*4+n2/0-3,7`, -1 for what is odd."""
    slots = np.int64(0)
    i = span[0]
    end = i + span[1]
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
            count = whole(text, star + 1, i, 9)
            if count < 0:
                return np.int64(-1)
            slots += count
        else:
            slots += _slots_listed(text, where, i)
        if slots < 0 or slots > 1_000_000_000:
            return np.int64(-1)
        i += 1
    return max(slots, np.int64(1))


@compiled
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
            first, last = whole(text, part, dash, 9), whole(text, dash + 1, i, 9)
            if first < 0 or last < 0 or last < first:
                return np.int64(MISSING)
            slots += last - first + 1
        i += 1
    return slots


@compiled
def different_hosts(text, span):
    """Different hosts of `n1/0*4+n2/0-3,7+n2/8`, -1 for a list that is too long for this."""
    first = np.empty((_MOST_CHUNKS, 2), dtype=np.int64)
    hosts = 0
    i = span[0]
    end = i + span[1]
    while i <= end:
        host = i
        while i < end and text[i] != 47 and text[i] != 43:  # / +
            i += 1
        length = i - host
        while i < end and text[i] != 43:
            i += 1
        is_listed = length == 0
        for k in range(hosts - 1, -1, -1):  # mostly the one before
            if is_listed:
                break
            if first[k, 1] == length:
                is_listed = True
                for j in range(length):
                    if text[first[k, 0] + j] != text[host + j]:
                        is_listed = False
                        break
        if not is_listed:
            if hosts == _MOST_CHUNKS:
                return np.int64(-1)
            first[hosts, 0], first[hosts, 1] = host, length
            hosts += 1
        i += 1
    return np.int64(hosts) if hosts else np.int64(MISSING)
