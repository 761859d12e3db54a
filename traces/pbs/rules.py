"""The rules of the PBS reader in full, one line at a time, for the lines that the compiled scan (`traces.pbs.scan`) does not take.

A record is `MM/DD/YYYY HH:MM:SS;TYPE;ID;key=value key=value ...` (Altair PBS Professional Administrator's Guide,
"Accounting").
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from traces.common.log import LARGEST_S

_T = TypeVar("_T")
END_RECORD = "E"
ARRAY_END = "E[]"
"""Type of the event for the end record of an array as a whole (`E;12[].server`). Its tasks, not the array, are the jobs that ran."""
_MOST_PROCS = 1_000_000_000
_GPU_WORDS = ("ngpus", "gpus", "gpu")
"""PBS Pro's resource, Torque's, and one that sites define."""
_GPU_CHUNKS = ("exec_vnode", "nodes", "Resource_List.select", "Resource_List.nodes", "tasks")
"""Lists of chunks that may name GPUs. The first two say what was given, to the job or to a reservation."""

_RECORD = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);(.);([^;]*);(.*)$", re.DOTALL)
# a value ends at the next ` key=`, since PBS writes values with blanks. A quoted value ends at its closing quote
_PAIR = re.compile(r'([A-Za-z_][\w.\-]*)=("(?:[^"\\]|\\.)*"|.*?)(?=\s+[A-Za-z_][\w.\-]*=|\s*$)', re.DOTALL)


def read_line(
    number: int,
    raw: bytes,
    records: list[dict[str, object]],
    rejects: list[tuple[int, str, str]],
    ignored: Counter[str],
) -> None:
    """Puts one line (with its number, without its end) where it belongs."""
    text = raw.rstrip(b"\r").decode("utf-8", errors="backslashreplace")
    if not text.strip():
        ignored["blank line"] += 1
        return
    parts = _RECORD.match(text)
    if not parts:
        rejects.append((number, "not an accounting record (date time;type;id;message)", text))
        return
    stamp, kind, job_id, message = parts.groups()
    if kind == END_RECORD and "[]" in job_id:
        kind = ARRAY_END
    try:
        values = _end_record(job_id, message) if kind == END_RECORD else _event(message)
    except ValueError as error:
        rejects.append((number, str(error), text))
        return
    records.append({"line": number, "record_type": kind, "logged_s": _logged_s(stamp), "job_id": job_id} | values)


def _logged_s(stamp: str) -> int | None:
    """Seconds from 1970 to the stamp of the record, as if its clock showed UTC. None for a time that the calendar does not have."""
    try:
        return calendar.timegm(datetime.strptime(stamp, "%m/%d/%Y %H:%M:%S").timetuple())
    except ValueError:
        return None


def _end_record(job_id: str, message: str) -> dict[str, object]:
    """An end record. Raises ValueError where a rule is broken."""
    if not job_id:
        raise ValueError("end record without a job id")
    values = _values(record_pairs(message), lambda read, *given: read(*given))
    submitted, start, end = values["ctime_s"], values["start_s"], values["end_s"]
    if not isinstance(submitted, int) or not isinstance(start, int) or not isinstance(end, int):
        raise ValueError("end record without ctime, start or end")
    if not submitted <= start <= end:
        raise ValueError("times out of order: expected ctime <= start <= end")
    if values["procs"] is None:
        values["procs"] = values["requested_procs"]
    if values["procs"] is None:
        raise ValueError("end record without a processor count (ncpus, select, nodes, mppwidth or exec_host)")
    return values


def _event(message: str) -> dict[str, object]:
    """Any other record. Faulty values in it count as unknown."""
    if "=" not in message:
        return {"message": message.strip() or None}
    return _values(record_pairs(message), _or_none)


def _or_none(read: Callable[..., _T | None], *given: object) -> _T | None:
    try:
        return read(*given)
    except ValueError:
        return None


def record_pairs(message: str) -> dict[str, str]:
    """Values by key. Of a key that comes twice the last counts, except for Torque's tasks (-L), which are joined by +."""
    pairs = {key: value.strip('"') for key, value in _PAIR.findall(message)}
    if "tasks" in pairs:
        words = (value.partition(" ")[0] for key, value in _PAIR.findall(message) if key == "tasks")
        pairs["tasks"] = "+".join(words)
    return pairs


def _values(pairs: dict[str, str], apply: Callable[..., object]) -> dict[str, object]:
    """The columns of a record, but for those of its head. apply(f, ...) is f(...), or the result for a failure."""
    qtime = apply(_unix_seconds, pairs, "qtime")
    ctime = apply(_unix_seconds, pairs, "ctime")
    exit_status = pairs.get("Exit_status", pairs.get("exit_status", ""))
    return {
        "user_name": pairs.get("user"),
        "group_name": pairs.get("group"),
        "account": pairs.get("account"),
        "project": pairs.get("project"),
        "queue": pairs.get("queue"),
        "job_name": pairs.get("jobname"),
        "ctime_s": qtime if ctime is None else ctime,
        "qtime_s": qtime,
        "etime_s": 0 if pairs.get("etime") == "0" else apply(_unix_seconds, pairs, "etime"),
        "start_s": apply(_unix_seconds, pairs, "start"),
        "end_s": apply(_unix_seconds, pairs, "end"),
        "exec_host": pairs.get("exec_host"),
        "procs": apply(_allocated_procs, pairs),
        "requested_procs": apply(_requested_procs, pairs),
        "requested_walltime_s": apply(_duration, pairs, "Resource_List.walltime"),
        "used_walltime_s": apply(_duration, pairs, "resources_used.walltime"),
        "used_cpu_s": apply(_duration, pairs, "resources_used.cput"),
        "exit_status": int(exit_status) if re.fullmatch(r"-?[0-9]{1,9}", exit_status) else None,
        "eligible_wait_s": _or_none(duration_s, pairs.get("eligible_time", "")),
        "gpus": _or_none(_gpus, pairs),
        "nodes": _nodes(pairs),
        "run_count": _known_count(pairs, "run_count", "start_count"),
        "requested_memory_kb": _requested_memory(pairs),
        "used_memory_kb": kilobytes(pairs.get("resources_used.mem", "")),
        "requestor": pairs["requestor"].partition("@")[0] if "requestor" in pairs else None,
        "reservation": pairs.get("resvID"),
        "assigned_procs": _known_count(pairs, "resource_assigned.ncpus"),
        "assigned_gpus": _known_count(pairs, "resource_assigned.ngpus"),
        "exec_vnode": pairs.get("exec_vnode"),
        "selected_chunks": pairs.get("Resource_List.select"),
        "torque_nodes": pairs.get("Resource_List.nodes"),
        "place": pairs.get("Resource_List.place"),
        "dependency": pairs.get("depend"),
    }


def duration_s(text: str) -> int:
    """Seconds of "[[D:]H:]M:S" or of a plain number of seconds. Raises ValueError."""
    parts = text.split(":")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"[0-9]{1,12}", part) for part in parts):
        raise ValueError(f"not a duration: {text}")
    seconds = sum(int(part) * unit for part, unit in zip(reversed(parts), (1, 60, 3600, 86400), strict=False))
    if seconds > LARGEST_S:
        raise ValueError(f"not a duration: {text}")
    return seconds


def kilobytes(text: str) -> int | None:
    """Of a size such as 10gb, 12.27M, 1024KB, 512mw (words of 8 bytes) or 30 (bytes), rounded up. None for anything else."""
    size = re.fullmatch(r"([0-9]{1,12})(?:\.([0-9]+))?([kKmMgGtTpP]?)([bBwW]?)", text)
    if size is None:
        return None
    decimals = size.group(2) or ""
    word = 8 if size.group(4) in ("w", "W") else 1
    power = " kmgtp".index(size.group(3).lower() or " ")
    bytes_in_unit = word * 1024**power
    kb = -(-int(size.group(1) + decimals) * bytes_in_unit // (1024 * 10 ** len(decimals)))
    return kb if kb < 1 << 63 else None  # a table cannot hold more


def _known_count(pairs: dict[str, str], *keys: str) -> int | None:
    """The first of the keys that is a whole number."""
    for key in keys:
        if re.fullmatch(r"[0-9]{1,9}", pairs.get(key, "")):
            return int(pairs[key])
    return None


def _unix_seconds(pairs: dict[str, str], key: str) -> int | None:
    value = pairs.get(key)
    if value is None or value == "" or value == "0":  # PBS writes etime=0 for a job that was never eligible
        return None
    if not re.fullmatch(r"[0-9]{1,12}", value) or int(value) > LARGEST_S:
        raise ValueError(f"{key} is not a Unix time")
    return int(value)


def _duration(pairs: dict[str, str], key: str) -> int | None:
    value = pairs.get(key)
    if value is None:
        return None
    try:
        return duration_s(value)
    except ValueError:
        raise ValueError(f"{key} is not a duration") from None


def _allocated_procs(pairs: dict[str, str]) -> int | None:
    """Processors given to the job. They are those that the record lists, and for a Cray job no fewer than its width."""
    count = _listed_procs(pairs)
    return max(count, _cray_procs(pairs) or 0) if count else None


def _cray_procs(pairs: dict[str, str]) -> int | None:
    """Processors that a Cray job needs on compute nodes, its processing elements times the processors of each, or its size. None for
    other jobs.

    Other values of such a record may be of the login node, where the job's script runs.
    """
    width = _count(pairs, "Resource_List.mppwidth")
    if not width:
        return _count(pairs, "Resource_List.size")
    procs = width * (_count(pairs, "Resource_List.mppdepth") or 1)
    if procs > _MOST_PROCS:
        raise ValueError("mppwidth times mppdepth is no sound count of processors")
    return procs


def _listed_procs(pairs: dict[str, str]) -> int | None:
    """PBS Pro's ncpus, else Torque's slots, else the number that exec_vnode or exec_host list."""
    for key in ("resources_used.ncpus", "Resource_List.ncpus", "total_execution_slots"):
        # Torque writes ncpus=1 beside nodes=2:ppn=12. Then the slots say more. Before the start it is only a request
        placed = "exec_host" in pairs or "exec_vnode" in pairs
        trusted = key != "Resource_List.ncpus" or ("Resource_List.select" in pairs and placed)
        if trusted and (count := _count(pairs, key)):
            return count
    for key in ("exec_vnode", "nodes"):  # the second is of a reservation
        if pairs.get(key) and (count := _sum_of_chunks(pairs, key, "ncpus", 0, counted=False)):
            return count
    return _slots(pairs["exec_host"]) if pairs.get("exec_host") else None


def _slots(exec_host: str) -> int:
    """Execution slots of `n1/0*4+n2/0-3,7`: chunks joined by +, slots as indices, ranges, or index*count (PBS Pro)."""
    slots = 0
    for chunk in exec_host.split("+"):
        where = chunk.partition("/")[2]
        if "*" in where:
            slots += _whole("exec_host", where.partition("*")[2])
            continue
        for part in where.split(","):
            first, dash, last = part.partition("-")
            slots += _whole("exec_host", last) - _whole("exec_host", first) + 1 if dash else 1
    return max(slots, 1)


def _requested_procs(pairs: dict[str, str]) -> int | None:
    """Processors requested: those of a Cray job, else Torque's nodes or procs, the larger, else ncpus, else the chunks of select, else
    Torque's tasks. Torque adds its default of one node to a request for procs."""
    if procs := _cray_procs(pairs):
        return procs
    if "Resource_List.select" not in pairs:
        listed = bool(pairs.get("Resource_List.nodes"))
        of_nodes = _sum_of_chunks(pairs, "Resource_List.nodes", "ppn", 1, counted=True) if listed else 0
        procs = _count(pairs, "Resource_List.procs") or 0
        if listed or procs:
            return max(of_nodes, procs) or None
    if count := _count(pairs, "Resource_List.ncpus"):
        return count
    if pairs.get("Resource_List.select"):
        return _sum_of_chunks(pairs, "Resource_List.select", "ncpus", 1, counted=True) or None
    if pairs.get("tasks"):
        return _sum_of_chunks(pairs, "tasks", "lprocs", 1, counted=True) or None
    return None


def _requested_memory(pairs: dict[str, str]) -> int | None:
    """Kilobytes of the whole job: of Resource_List.mem, else of the chunks of select or of Torque's tasks."""
    if "Resource_List.mem" in pairs:
        return kilobytes(pairs["Resource_List.mem"])
    for key, word in (("Resource_List.select", "mem"), ("tasks", "memory")):
        chunks = [
            re.fullmatch(rf"(?:([0-9]{{1,9}}):)?(?:.*:)?{word}=([^:]+)(?::.*)?", c)
            for c in pairs.get(key, "").split("+")
        ]
        amounts = [(int(chunk.group(1) or 1), kilobytes(chunk.group(2))) for chunk in chunks if chunk]
        if amounts and all(amount is not None for _, amount in amounts):
            total = sum(times * (amount or 0) for times, amount in amounts)
            return total if total < 1 << 63 else None
    return None


def _nodes(pairs: dict[str, str]) -> int | None:
    """For a Cray job its width divided by its processing elements per node. Else the different vnodes of exec_vnode, else the different
    hosts of exec_host, else the server's count, else the nodes of a reservation.

    A host may be several vnodes. PBS Pro's nodect is the number of chunks, of which a vnode may hold several. One node of a Cray job may
    be the login node.
    """
    width, per_node = (_known_count(pairs, f"Resource_List.{key}") for key in ("mppwidth", "mppnppn"))
    width = width or _known_count(pairs, "Resource_List.size")
    if width and per_node:
        return -(-width // per_node)
    held, hosts, reserved = (_names_of_nodes(pairs.get(key, "")) for key in ("exec_vnode", "exec_host", "nodes"))
    counted = _known_count(pairs, "Resource_List.nodect", "unique_node_count")
    fewest = 2 if width else 1
    for count in (len(held), len(hosts), counted, len(reserved)):
        if count is not None and count >= fewest:
            return count
    return None if width else counted


def _names_of_nodes(text: str) -> set[str]:
    """Of `n1/0*4+n2/0-3,7`, or of `(n1:ncpus=4+n2:ncpus=4)+(n1:mem=1gb)`."""
    return {re.split("[/:)]", chunk.lstrip("("), maxsplit=1)[0] for chunk in text.split("+")} - {""}


def _sum_of_chunks(pairs: dict[str, str], key: str, word: str, default: int, counted: bool) -> int:
    """Sum over the chunks of `2:ncpus=4:mem=1gb+1:ncpus=8`, `2:ppn=12+node01` or `(a:ncpus=2+b:ncpus=1)+(c:ncpus=4)`.

    A chunk counts with the number after `word=` (or one of several words, between |), or the default, times the number that it begins
    with, if `counted`."""
    total = 0
    for chunk in filter(None, re.split(r"[+()]", pairs[key])):
        parts = chunk.split(":")
        times = _whole(key, parts[0]) if counted and re.fullmatch(r"[0-9]+", parts[0]) else 1
        amounts = (match.group(1) for part in parts if (match := re.fullmatch(rf"(?:{word})=([0-9]+)", part)))
        amount = next(amounts, None)
        total += times * (default if amount is None else _whole(key, amount))
    if total > _MOST_PROCS:
        raise ValueError(f"{key} has no sound count of processors")
    return total


def _gpus(pairs: dict[str, str]) -> int | None:
    """The most that the list of resources names, else those of exec_vnode, of a reservation, of select, of Torque's nodes or tasks."""
    listed = [_known_count(pairs, f"Resource_List.{word}") for word in _GPU_WORDS]
    if counts := [count for count in listed if count is not None]:
        return max(counts)
    of_chunks = {key: key in ("exec_vnode", "nodes") for key in _GPU_CHUNKS if pairs.get(key)}
    for key, is_given in of_chunks.items():
        if gpus := _sum_of_chunks(pairs, key, "|".join(_GPU_WORDS), 0, counted=not is_given):
            return gpus
    return 0 if any(of_chunks.values()) else None


def _count(pairs: dict[str, str], key: str) -> int | None:
    """The count of processors under key. None where it is missing, 0 or a word."""
    value = pairs.get(key, "")
    return _whole(key, value) or None if re.fullmatch(r"[0-9]+", value) else None


def _whole(key: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(f"{key} has no sound count of processors")
    return int(text)
