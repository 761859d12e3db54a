"""Lists inside the values of a PBS record, in compiled code: chunks of resources, hosts and their slots.

A span is where a value is in the bytes of a file: offset and length. The rules are those of `traces.pbs.rules`.
"""

from __future__ import annotations

import numpy as np

from traces.common.compiled import compiled

MISSING = -(1 << 62)
MOST_LISTED_NODES = 1024
"""Longer lists of nodes are left to the rules."""
_FEW_NODES = 8
_TABLE_SIZE = 4096
NCPUS, PPN, GPUS = (
    tuple(np.frombuffer(word, dtype=np.uint8) for word in words)
    for words in ((b"ncpus=",), (b"ppn=",), (b"ngpus=", b"gpus=", b"gpu="))
)
"""Words that come before a number in a chunk. Any of them may be there."""


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
def sum_of_chunks(text, span, words, default, counted):
    """Sum over the chunks of `2:ncpus=4:mem=1gb+1:ncpus=8`, `2:ppn=12+node01` or `(a:ncpus=2+b:ncpus=1)+(c:ncpus=4)`.

    A chunk counts with the number after one of the words, or the default, times the number that it begins with, if `counted`. Returns
    -1 for odd text."""
    total = np.int64(0)
    i = span[0]
    end = i + span[1]
    while i < end:
        begin = i
        while i < end and text[i] != 43 and text[i] != 40 and text[i] != 41:  # + ( )
            i += 1
        if i > begin:
            of_chunk = _of_chunk(text, begin, i, words, default, counted)
            total += of_chunk
            if of_chunk < 0 or total > 1_000_000_000:
                return np.int64(-1)
        i += 1
    return total


@compiled
def _of_chunk(text, begin, end, words, default, counted):
    i = begin
    digits = True
    while i < end and text[i] != 58:
        digits &= 48 <= text[i] <= 57
        i += 1
    times = whole(text, begin, i, 9) if counted and digits and i > begin else np.int64(1)
    amount = _amount(text, begin, i, words)  # a chunk may begin without a number
    while i < end and amount == MISSING:
        i += 1
        part = i
        while i < end and text[i] != 58:
            i += 1
        amount = _amount(text, part, i, words)
    if amount == MISSING:
        amount = np.int64(default)
    return np.int64(-1) if times < 0 or amount < 0 else times * amount


@compiled
def _amount(text, begin, end, words):
    """The number after the word at this place. MISSING for none of the words, -1 for too many digits."""
    for word in words:
        number = _amount_of(text, begin, end, word)
        if number != MISSING:
            return number
    return np.int64(MISSING)


@compiled
def _amount_of(text, begin, end, word):
    """The number of `word` and digits. MISSING for anything else, -1 for too many digits."""
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
    """Slots of `n1/0*4+n2/0-3,7`, -1 for odd text."""
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
    """Slots of `0-3,7`, or a number far below 0 for odd text."""
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
def node_table():
    """Scratch space for `different_nodes`, int64 (rows, 3): the list that a node belongs to, and the place of its name.

    The first rows are in order, since most lists are short. The others are by hash.
    """
    return np.zeros((_FEW_NODES + _TABLE_SIZE, 3), dtype=np.int64)


@compiled
def different_nodes(text, span, table, stamp):
    """Different hosts of `n1/0*4+n2/0-3,7+n2/8`, or vnodes of `(n1:ncpus=4+n2:ncpus=4)+(n1:mem=1gb)`. MISSING for none, -1 for more than
    MOST_LISTED_NODES.

    table: of `node_table`. stamp: above 0, and a different one for each list, so that the table need not be cleared.
    """
    nodes = 0
    i = span[0]
    end = i + span[1]
    while i < end:
        while i < end and text[i] == 40:  # (
            i += 1
        name = i
        while i < end and text[i] != 47 and text[i] != 58 and text[i] != 43 and text[i] != 41:  # / : + )
            i += 1
        length = i - name
        while i < end and text[i] != 43:
            i += 1
        i += 1
        if length == 0:
            continue
        if nodes >= _FEW_NODES:
            nodes += _put_node(text, name, length, table, stamp)
            if nodes > MOST_LISTED_NODES:
                return np.int64(-1)
            continue
        k = nodes - 1  # mostly the one before
        while k >= 0 and not _same(text, table[k, 1], table[k, 2], name, length):
            k -= 1
        if k < 0:
            table[nodes, 1], table[nodes, 2] = name, length
            nodes += 1
            if nodes == _FEW_NODES:
                for k in range(_FEW_NODES):
                    _put_node(text, table[k, 1], table[k, 2], table, stamp)
    return np.int64(nodes) if nodes else np.int64(MISSING)


@compiled
def _put_node(text, name, length, table, stamp):
    """Puts a node where its hash says. Returns 1 for a new one, 0 for one that is already there."""
    code = np.int64(0)
    for k in range(name, name + length):
        code = code * 31 + text[k]
    slot = (code ^ (code >> 12)) & (_TABLE_SIZE - 1)
    while table[_FEW_NODES + slot, 0] == stamp:
        if _same(text, table[_FEW_NODES + slot, 1], table[_FEW_NODES + slot, 2], name, length):
            return 0
        slot = (slot + 1) & (_TABLE_SIZE - 1)
    row = _FEW_NODES + slot
    table[row, 0], table[row, 1], table[row, 2] = stamp, name, length
    return 1


@compiled
def _same(text, first, first_length, second, second_length):
    """Whether two places of the text hold the same bytes. It compares from the end, because names of nodes begin alike."""
    if first_length != second_length:
        return False
    k = first_length
    while k > 0 and text[first + k - 1] == text[second + k - 1]:
        k -= 1
    return k == 0
