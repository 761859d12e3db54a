"""What the values of a PBS record mean, in compiled code: numbers, durations, sizes, counts of processors.

Each function takes the bytes of a file, and where the values are in it. The rules are those of `traces.pbs.rules`.
"""

from __future__ import annotations

import numpy as np

from compilation.apart import apart
from traces.common.compiled import compiled
from traces.common.log import LARGEST_S
from traces.pbs.lists import GPUS, MISSING, NCPUS, PPN, different_nodes, slots_of, sum_of_chunks, whole

STRINGS = (
    "user",
    "group",
    "account",
    "project",
    "queue",
    "jobname",
    "exec_host",
    "requestor",
    "resvID",
    "exec_vnode",
    "Resource_List.select",
    "Resource_List.nodes",
    "Resource_List.place",
    "depend",
)
_TIMES = ("ctime", "qtime", "etime", "start", "end")
_DURATIONS = ("Resource_List.walltime", "resources_used.walltime", "resources_used.cput", "eligible_time")
_COUNTS = ("resources_used.ncpus", "Resource_List.ncpus", "total_execution_slots")
_OPTIONAL_COUNTS = ("Resource_List.nodect", "unique_node_count", "run_count", "start_count")
_GPU_COUNTS = ("Resource_List.ngpus", "Resource_List.gpus", "Resource_List.gpu")
_SIZES = ("Resource_List.mem", "resources_used.mem")
KEYS = (
    *STRINGS,
    *_TIMES,
    *_DURATIONS,
    *_COUNTS,
    *_OPTIONAL_COUNTS,
    *_GPU_COUNTS,
    *_SIZES,
    "Resource_List.mppwidth",
    "Resource_List.mppdepth",
    "Resource_List.mppnppn",
    "Resource_List.size",
    "Resource_List.procs",
    "resource_assigned.ncpus",
    "resource_assigned.ngpus",
    "Exit_status",
    "exit_status",
    "tasks",
    "nodes",
)

_EXEC_HOST = KEYS.index("exec_host")
_CTIME, _QTIME, _ETIME, _START, _STOP = (KEYS.index(key) for key in _TIMES)
_LIMIT, _USED, _CPU, _ELIGIBLE = (KEYS.index(key) for key in _DURATIONS)
_USED_NCPUS, _NCPUS, _SLOTS = (KEYS.index(key) for key in _COUNTS)
_NODECT, _UNIQUE_NODES, _RUNS, _STARTS = (KEYS.index(key) for key in _OPTIONAL_COUNTS)
_NGPUS, _GPUS, _GPU = (KEYS.index(key) for key in _GPU_COUNTS)
_MEMORY, _USED_MEMORY = (KEYS.index(key) for key in _SIZES)
_SELECT, _NODES = KEYS.index("Resource_List.select"), KEYS.index("Resource_List.nodes")
_WIDTH, _DEPTH, _PER_NODE = (KEYS.index(f"Resource_List.{key}") for key in ("mppwidth", "mppdepth", "mppnppn"))
_SIZE, _PROCS = KEYS.index("Resource_List.size"), KEYS.index("Resource_List.procs")
_ASSIGNED, _ASSIGNED_GPUS = (KEYS.index(f"resource_assigned.{key}") for key in ("ncpus", "ngpus"))
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
    "assigned_procs",
    "assigned_gpus",
)
_PREFIXES = np.frombuffer(b"kmgtp", dtype=np.uint8)


@apart
@compiled
def numbers_of(text, spans, numbers, is_end, table, stamp):
    """Fills the record's NUMBER_COLUMNS. False for values that break a rule of the reader, and for rare ones. An end record (is_end)
    needs more of them. table, stamp: as for `different_nodes`."""
    if spans[_TASKS, 1] >= 0 or spans[_RESERVED, 1] >= 0 or (spans[_MEMORY, 1] < 0 and _names_memory(text, spans)):
        return False
    for k, key in enumerate((_CTIME, _QTIME, _ETIME, _START, _STOP)):
        numbers[k] = _unix_seconds(text, spans, key)
        if numbers[k] == -1:
            return False
    if numbers[2] == MISSING and spans[_ETIME, 1] == 1:  # the job is not eligible yet
        numbers[2] = 0
    if numbers[0] == MISSING:
        numbers[0] = numbers[1]
    if is_end:
        if numbers[0] == MISSING or numbers[3] == MISSING or numbers[4] == MISSING:
            return False
        if numbers[0] > numbers[3] or numbers[3] > numbers[4]:
            return False
    cray = _cray_procs(text, spans)
    requested = _requested_procs(text, spans) if cray == 0 else cray
    allocated = _allocated_procs(text, spans)
    if 0 < allocated < cray:
        allocated = cray
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
    numbers[13] = _nodes(text, spans, table, stamp)
    if numbers[12] == -1 or numbers[13] == -1:
        return False
    numbers[14] = _optional_count(text, spans, _RUNS)
    if numbers[14] == MISSING:
        numbers[14] = _optional_count(text, spans, _STARTS)
    numbers[15] = _kilobytes(text, spans, _MEMORY)
    numbers[16] = _kilobytes(text, spans, _USED_MEMORY)
    numbers[18] = _optional_count(text, spans, _ASSIGNED)
    numbers[19] = _optional_count(text, spans, _ASSIGNED_GPUS)
    return numbers[15] != -1 and numbers[16] != -1


@compiled
def _unix_seconds(text, spans, key):
    """MISSING for none, -1 for a value that is not a Unix time."""
    begin, length = spans[key, 0], spans[key, 1]
    if length <= 0 or (length == 1 and text[begin] == 48):
        return np.int64(MISSING)
    number = whole(text, begin, begin + length, 12)
    return number if number <= LARGEST_S else np.int64(-1)


@compiled
def _duration(text, spans, key):
    """Seconds of [[D:]H:]M:S. MISSING for none, -1 for a value that is not a duration."""
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
    """Zero where the key is missing, zero or a word. -1 for a number that is too large."""
    begin, length = spans[key, 0], spans[key, 1]
    if length <= 0:
        return np.int64(0)
    for i in range(begin, begin + length):
        if text[i] < 48 or text[i] > 57:
            return np.int64(0)
    return whole(text, begin, begin + length, 9)


@compiled
def _optional_count(text, spans, key):
    """A whole number of up to 9 digits. MISSING for anything else."""
    number = whole(text, spans[key, 0], spans[key, 0] + spans[key, 1], 9)
    return number if number >= 0 else np.int64(MISSING)


@compiled
def _kilobytes(text, spans, key):
    """Of a size such as 10gb, 12.27M, 1024KB, 512mw or 30 (bytes), rounded up. MISSING for anything else, -1 for many decimals."""
    begin, end = spans[key, 0], spans[key, 0] + max(spans[key, 1], 0)
    i = begin
    while i < end and 48 <= text[i] <= 57:
        i += 1
    number = whole(text, begin, i, 12)
    if number < 0:
        return np.int64(MISSING)
    fraction, tenths = np.int64(0), np.int64(1)
    if i < end and text[i] == 46:  # the decimals
        first = i + 1
        i = first
        while i < end and 48 <= text[i] <= 57:
            i += 1
        if i - first > 6:
            return np.int64(-1)
        fraction = whole(text, first, i, 6)
        if fraction < 0:
            return np.int64(MISSING)
        tenths = np.int64(10) ** (i - first)
    power = 0
    for k in range(len(_PREFIXES)):
        if i < end and text[i] | 32 == _PREFIXES[k]:
            power = k + 1
            i += 1
            break
    if i < end and text[i] | 32 == 119:  # w: words of 8 bytes
        number *= 8
        fraction *= 8
        i += 1
    elif i < end and text[i] | 32 == 98:  # b
        i += 1
    shift = 10 * max(power - 1, 0)
    if i < end or (number + 8) >> (63 - shift):  # no size, or about as much as a table can hold
        return np.int64(MISSING if i < end else -1)
    if power == 0:
        return (number + (fraction + tenths - 1) // tenths + 1023) >> 10
    return (number << shift) + ((fraction << shift) + tenths - 1) // tenths


@compiled
def _cray_procs(text, spans):
    """Processing elements times the processors of each, or the size. 0 for none, -1 for odd values."""
    width = _count(text, spans, _WIDTH)
    if width == 0:
        return _count(text, spans, _SIZE)
    depth = _count(text, spans, _DEPTH)
    procs = width * max(depth, 1)
    return np.int64(-1) if width < 0 or (width > 0 and depth < 0) or procs > 1_000_000_000 else procs


@compiled
def _requested_procs(text, spans):
    """Of a job that is not a Cray's. 0 for none, -1 for odd values."""
    if spans[_SELECT, 1] < 0 and (spans[_NODES, 1] > 0 or spans[_PROCS, 1] > 0):
        of_nodes = sum_of_chunks(text, spans[_NODES], PPN, 1, True) if spans[_NODES, 1] > 0 else np.int64(0)
        procs = _count(text, spans, _PROCS)
        if of_nodes < 0 or procs < 0:
            return np.int64(-1)
        if spans[_NODES, 1] > 0 or procs > 0:
            return max(of_nodes, procs)
    count = _count(text, spans, _NCPUS)
    if count == 0 and spans[_SELECT, 1] > 0:
        count = sum_of_chunks(text, spans[_SELECT], NCPUS, 1, True)
    return count


@compiled
def _gpus(text, spans):
    """MISSING where the record does not have it, -1 for odd values."""
    gpus = _optional_count(text, spans, _NGPUS)
    if gpus <= 0 and (spans[_GPUS, 1] > 0 or spans[_GPU, 1] > 0):
        gpus = max(gpus, _optional_count(text, spans, _GPUS), _optional_count(text, spans, _GPU))
    if gpus != MISSING:
        return gpus
    gpus = np.int64(0)
    if spans[_VNODES, 1] > 0:
        gpus = sum_of_chunks(text, spans[_VNODES], GPUS, 0, False)
    if gpus == 0 and spans[_SELECT, 1] > 0:
        gpus = sum_of_chunks(text, spans[_SELECT], GPUS, 0, True)
    if gpus == 0 and spans[_NODES, 1] > 0:
        gpus = sum_of_chunks(text, spans[_NODES], GPUS, 0, True)
    return np.int64(MISSING) if gpus == 0 and spans[_VNODES, 1] <= 0 else gpus


@compiled
def _nodes(text, spans, table, stamp):
    """MISSING where the record does not have it, -1 for odd values."""
    fewest = 1
    if spans[_WIDTH, 1] > 0 or spans[_SIZE, 1] > 0:
        width, per_node = _optional_count(text, spans, _WIDTH), _optional_count(text, spans, _PER_NODE)
        if width <= 0:
            width = _optional_count(text, spans, _SIZE)
        if width > 0 and per_node > 0:
            return -(-width // per_node)
        fewest = 2 if width > 0 else 1
    count = np.int64(MISSING)
    for key in (_VNODES, _EXEC_HOST):  # a host may be several vnodes, which are what PBS calls nodes
        if spans[key, 1] > 0:
            count = different_nodes(text, spans[key], table, stamp)
            if count == -1 or count >= fewest:
                return count
    count = _optional_count(text, spans, _NODECT)
    if count == MISSING:
        count = _optional_count(text, spans, _UNIQUE_NODES)
    return np.int64(MISSING) if fewest == 2 and count < 2 else count


@compiled
def _allocated_procs(text, spans):
    """0 for none, -1 for odd values."""
    for key in (_USED_NCPUS, _NCPUS, _SLOTS):
        # Torque writes ncpus=1 beside nodes=2:ppn=12. Then the slots say more. Before the start it is only a request
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
    """Whether the chunks of select request memory."""
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
