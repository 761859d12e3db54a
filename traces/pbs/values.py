"""What the values of a PBS record mean, in compiled code: numbers, durations, sizes, counts of processors.

Each function takes the bytes of a file, and where the values are in it; the rules are those of `traces.pbs.rules`.
"""

from __future__ import annotations

import numpy as np

from traces.common.compiled import compiled
from traces.common.log import LARGEST_S
from traces.pbs.lists import MISSING, NCPUS, NGPUS, PPN, TORQUE_GPUS, different_hosts, slots_of, sum_of_chunks, whole

STRINGS = ("user", "group", "account", "project", "queue", "jobname", "exec_host", "requestor")
_TIMES = ("ctime", "qtime", "etime", "start", "end")
_DURATIONS = ("Resource_List.walltime", "resources_used.walltime", "resources_used.cput", "eligible_time")
_COUNTS = ("resources_used.ncpus", "Resource_List.ncpus", "total_execution_slots")
_OPTIONAL_COUNTS = ("Resource_List.ngpus", "Resource_List.nodect", "unique_node_count", "run_count", "start_count")
_SIZES = ("Resource_List.mem", "resources_used.mem")
KEYS = (
    *STRINGS,
    *_TIMES,
    *_DURATIONS,
    *_COUNTS,
    *_OPTIONAL_COUNTS,
    *_SIZES,
    "Resource_List.select",
    "Resource_List.nodes",
    "Resource_List.mppwidth",
    "Resource_List.mppdepth",
    "exec_vnode",
    "Exit_status",
    "exit_status",
    "tasks",
    "nodes",
)

_EXEC_HOST = KEYS.index("exec_host")
_CTIME, _QTIME, _ETIME, _START, _STOP = (KEYS.index(key) for key in _TIMES)
_LIMIT, _USED, _CPU, _ELIGIBLE = (KEYS.index(key) for key in _DURATIONS)
_USED_NCPUS, _NCPUS, _SLOTS = (KEYS.index(key) for key in _COUNTS)
_GPUS, _NODECT, _UNIQUE_NODES, _RUNS, _STARTS = (KEYS.index(key) for key in _OPTIONAL_COUNTS)
_MEMORY, _USED_MEMORY = (KEYS.index(key) for key in _SIZES)
_SELECT, _NODES = KEYS.index("Resource_List.select"), KEYS.index("Resource_List.nodes")
_WIDTH, _DEPTH = KEYS.index("Resource_List.mppwidth"), KEYS.index("Resource_List.mppdepth")
_VNODES, REQUESTOR = KEYS.index("exec_vnode"), KEYS.index("requestor")
_TASKS, _RESERVED = KEYS.index("tasks"), KEYS.index("nodes")
_EXIT, _EXIT_TORQUE = KEYS.index("Exit_status"), KEYS.index("exit_status")
NUM_KEYS = len(KEYS)

NUMBER_COLUMNS = (
    "ctime_s",
    "qtime_s",
    "etime_s",
    "start_s",
    "end_s",
    "procs",
    "requested_procs",
    "requested_walltime_s",
    "used_walltime_s",
    "used_cpu_s",
    "exit_status",
    "eligible_wait_s",
    "gpus",
    "nodes",
    "run_count",
    "requested_memory_kb",
    "used_memory_kb",
    "logged_s",
)
_PREFIXES = np.frombuffer(b"kmgtp", dtype=np.uint8)


@compiled
def numbers_of(text, spans, numbers, is_end):
    """Fills the record's NUMBER_COLUMNS; False for what breaks a rule of the reader, and for what is rare. Of an end record (is_end)
    more is demanded."""
    if spans[_TASKS, 1] >= 0 or spans[_RESERVED, 1] >= 0 or (spans[_MEMORY, 1] < 0 and _names_memory(text, spans)):
        return False
    for k, key in enumerate((_CTIME, _QTIME, _ETIME, _START, _STOP)):
        numbers[k] = _unix_seconds(text, spans, key)
        if numbers[k] == -1:
            return False
    if numbers[0] == MISSING:
        numbers[0] = numbers[1]
    if is_end:
        if numbers[0] == MISSING or numbers[3] == MISSING or numbers[4] == MISSING:
            return False
        if numbers[0] > numbers[3] or numbers[3] > numbers[4]:
            return False
    requested = _requested_procs(text, spans)
    allocated = _allocated_procs(text, spans)
    if requested == -1 or allocated == -1 or (is_end and requested == 0 and allocated == 0):
        return False
    numbers[5] = allocated if allocated > 0 else requested if is_end else MISSING
    numbers[6] = requested if requested > 0 else MISSING
    for k, key in enumerate((_LIMIT, _USED, _CPU)):
        numbers[7 + k] = _duration(text, spans, key)
        if numbers[7 + k] == -1:
            return False
    numbers[10] = _exit_status(text, spans)
    eligible = _duration(text, spans, _ELIGIBLE)
    numbers[11] = eligible if eligible >= 0 else MISSING
    numbers[12] = _gpus(text, spans)
    if numbers[12] == -1:
        return False
    numbers[13] = _optional_count(text, spans, _NODECT)
    if numbers[13] == MISSING:
        numbers[13] = _optional_count(text, spans, _UNIQUE_NODES)
    if numbers[13] == MISSING and spans[_EXEC_HOST, 1] > 0:
        numbers[13] = different_hosts(text, spans[_EXEC_HOST])
        if numbers[13] == -1:
            return False
    numbers[14] = _optional_count(text, spans, _RUNS)
    if numbers[14] == MISSING:
        numbers[14] = _optional_count(text, spans, _STARTS)
    numbers[15] = _kilobytes(text, spans, _MEMORY)
    numbers[16] = _kilobytes(text, spans, _USED_MEMORY)
    return True


@compiled
def _unix_seconds(text, spans, key):
    """MISSING for none, -1 for what is no Unix time."""
    begin, length = spans[key, 0], spans[key, 1]
    if length <= 0 or (length == 1 and text[begin] == 48):
        return np.int64(MISSING)
    number = whole(text, begin, begin + length, 12)
    return number if number <= LARGEST_S else np.int64(-1)


@compiled
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
        number = whole(text, colon + 1, end, 12)
        if number < 0 or parts == 4:
            return np.int64(-1)
        parts += 1
        seconds += number * unit
        unit = np.int64(60 if parts == 1 else 3600 if parts == 2 else 86400)
        if colon < begin:
            return seconds if seconds <= LARGEST_S else np.int64(-1)
        end = colon


@compiled
def _count(text, spans, key):
    """0 where the key is missing, 0 or a word; -1 for a number that is too large."""
    begin, length = spans[key, 0], spans[key, 1]
    if length <= 0:
        return np.int64(0)
    for i in range(begin, begin + length):
        if text[i] < 48 or text[i] > 57:
            return np.int64(0)
    return whole(text, begin, begin + length, 9)


@compiled
def _optional_count(text, spans, key):
    """A whole number of up to 9 digits; MISSING for anything else."""
    number = whole(text, spans[key, 0], spans[key, 0] + spans[key, 1], 9)
    return number if number >= 0 else np.int64(MISSING)


@compiled
def _kilobytes(text, spans, key):
    """Of a size such as 10gb, 1024KB, 512mw or 30 (bytes), rounded up; MISSING for anything else."""
    begin, end = spans[key, 0], spans[key, 0] + max(spans[key, 1], 0)
    i = begin
    while i < end and 48 <= text[i] <= 57:
        i += 1
    number = whole(text, begin, i, 12)
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
    if i < end or number >> (63 - 10 * max(power - 1, 0)):  # no size, or more than a table can hold
        return np.int64(MISSING)
    if power == 0:
        return (number + 1023) >> 10
    return number << (10 * (power - 1))


@compiled
def _requested_procs(text, spans):
    """0 for none, -1 for what is odd."""
    if spans[_NODES, 1] > 0 and spans[_SELECT, 1] < 0:
        return sum_of_chunks(text, spans[_NODES], PPN, 1, True)
    count = _count(text, spans, _NCPUS)
    if count == 0 and spans[_WIDTH, 1] > 0:
        width, depth = _count(text, spans, _WIDTH), _count(text, spans, _DEPTH)
        if width < 0 or depth < 0 or width * max(depth, 1) > 1_000_000_000:
            return np.int64(-1)
        count = width * max(depth, 1)
    if count == 0 and spans[_SELECT, 1] > 0:
        count = sum_of_chunks(text, spans[_SELECT], NCPUS, 1, True)
    return count


@compiled
def _gpus(text, spans):
    """MISSING where the record does not tell, -1 for what is odd."""
    gpus = _optional_count(text, spans, _GPUS)
    if gpus == MISSING and spans[_VNODES, 1] > 0:
        gpus = sum_of_chunks(text, spans[_VNODES], NGPUS, 0, False)
    elif gpus == MISSING and spans[_NODES, 1] > 0:
        gpus = sum_of_chunks(text, spans[_NODES], TORQUE_GPUS, 0, True)
        if gpus == 0:
            gpus = np.int64(MISSING)
    return gpus


@compiled
def _allocated_procs(text, spans):
    """0 for none, -1 for what is odd."""
    for key in (_USED_NCPUS, _NCPUS, _SLOTS):
        # Torque writes ncpus=1 beside nodes=2:ppn=12, the slots then tell more; before the start it is a mere wish
        if key == _NCPUS and (spans[_SELECT, 1] < 0 or (spans[_EXEC_HOST, 1] < 0 and spans[_VNODES, 1] < 0)):
            continue
        count = _count(text, spans, key)
        if count != 0:
            return count
    if spans[_VNODES, 1] > 0:
        count = sum_of_chunks(text, spans[_VNODES], NCPUS, 0, False)
        if count != 0:
            return count
    if spans[_EXEC_HOST, 1] <= 0:
        return np.int64(0)
    return slots_of(text, spans[_EXEC_HOST])


@compiled
def _names_memory(text, spans):
    """Whether the chunks of select ask for memory."""
    for i in range(spans[_SELECT, 0], spans[_SELECT, 0] + spans[_SELECT, 1] - 3):
        if text[i] == 109 and text[i + 1] == 101 and text[i + 2] == 109 and text[i + 3] == 61:
            return True
    return False


@compiled
def _exit_status(text, spans):
    key = _EXIT if spans[_EXIT, 1] >= 0 else _EXIT_TORQUE
    begin, length = spans[key, 0], spans[key, 1]
    if length <= 0:
        return np.int64(MISSING)
    negative = text[begin] == 45
    number = whole(text, begin + 1 if negative else begin, begin + length, 9)
    if number < 0:
        return np.int64(MISSING)
    return -number if negative else number
