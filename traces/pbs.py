"""PBS accounting logs (PBS Pro, OpenPBS, Torque): end-of-job and requeue records, and a writer for synthetic logs.

A record is `MM/DD/YYYY HH:MM:SS;TYPE;ID;key=value key=value ...` (Altair PBS Professional Administrator's Guide,
"Accounting"). `E` records become jobs, `R` records their earlier attempts; the others are counted by type.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from traces.log import LARGEST_S, REJECT_SCHEMA, ParsedLog, read_bytes, sha256
from traces.pbs_scan import BLANK, ODD, OTHER, Scan, scan
from traces.pbs_values import MISSING, NUMBERS, STRINGS
from traces.spans import texts_of

RECORD_SCHEMA = {
    "line": pl.Int64, "job_id": pl.Utf8, "user_name": pl.Utf8, "group_name": pl.Utf8, "account": pl.Utf8,
    "project": pl.Utf8, "queue": pl.Utf8, "job_name": pl.Utf8, "ctime_s": pl.Int64, "qtime_s": pl.Int64, "etime_s": pl.Int64,
    "start_s": pl.Int64, "end_s": pl.Int64, "exec_host": pl.Utf8, "procs": pl.Int64, "requested_procs": pl.Int64,
    "requested_walltime_s": pl.Int64, "used_walltime_s": pl.Int64, "used_cpu_s": pl.Int64, "exit_status": pl.Int64,
    "eligible_wait_s": pl.Int64, "gpus": pl.Int64, "nodes": pl.Int64, "run_count": pl.Int64,
    "requested_memory_kb": pl.Int64, "used_memory_kb": pl.Int64,
}  # fmt: skip
"""Columns of the records and of the requeues; times are Unix seconds, memory is of the whole job."""

_COLUMN_OF = {"user": "user_name", "group": "group_name", "account": "account", "project": "project",
              "queue": "queue", "jobname": "job_name", "exec_host": "exec_host"}  # fmt: skip

REQUEUE = "requeue"
"""`ignored` counts requeue records under this reason: none is a finished job; what they tell is in `requeues`."""

_RECORD = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;(.);([^;]*);(.*)$", re.DOTALL)
# a value runs to the next ` key=`, since PBS writes values with blanks; a quoted value runs to its closing quote
_PAIR = re.compile(r'([A-Za-z_][\w.\-]*)=("(?:[^"\\]|\\.)*"|.*?)(?=\s+[A-Za-z_][\w.\-]*=|\s*$)', re.DOTALL)


def read_pbs(path: Path) -> ParsedLog:
    """Reads one accounting file, plain or packed; records as in `RECORD_SCHEMA`.

    Processors are `resources_used.ncpus`, else `Resource_List.ncpus` (beside a `select`), else `total_execution_slots`, else
    the slots of `exec_host`, else what was requested (nodes x ppn).
    `E` records are the records; `R` records, the attempts that ended in a requeue, are the requeues, with the same columns.
    An `E` record is rejected when a time is missing or out of order (submission <= start <= end), or when no
    processor count can be found. Raises LogError when the file cannot be read.
    """
    stored, content = read_bytes(path)
    found = scan(content)
    rejects: list[tuple[int, str, str]] = []
    ignored: Counter[str] = Counter()
    if blank := int((found.kind == BLANK).sum()):
        ignored["blank line"] = blank
    per_type = np.bincount(found.type[found.kind == OTHER], minlength=256)
    ignored.update({f"record type {chr(code)}": int(per_type[code]) for code in np.flatnonzero(per_type)})
    odd: dict[str, list[dict[str, object]]] = {"E": [], "R": []}
    for line in np.flatnonzero(found.kind == ODD).tolist():
        raw = content[found.line_start[line] : found.line_start[line + 1]].removesuffix(b"\n")
        _read_line(line + 1, raw, odd, rejects, ignored)
    taken = _frame(content, found)
    is_end = pl.Series(found.type[found.row_line] == ord("E"))
    records, requeues = (
        pl.concat([part, pl.DataFrame(odd[kind], schema=RECORD_SCHEMA)]).sort("line")
        for kind, part in (("E", taken.filter(is_end)), ("R", taken.filter(~is_end)))
    )
    if requeues.height:
        ignored[REQUEUE] = requeues.height
    return ParsedLog(
        path, "pbs", len(stored), sha256(stored), len(found.kind), records,
        pl.DataFrame(rejects, schema=REJECT_SCHEMA, orient="row"), dict(ignored), requeues=requeues,
    )  # fmt: skip


def _frame(content: bytes, found: Scan) -> pl.DataFrame:
    """The records that the scan has taken, as in RECORD_SCHEMA."""
    columns: dict[str, pl.Series] = {"line": pl.Series(found.row_line + 1), "job_id": texts_of(content, found.job_id)}
    columns |= {_COLUMN_OF[key]: texts_of(content, found.strings[:, k]) for k, key in enumerate(STRINGS)}
    for k, name in enumerate(NUMBERS):
        values = np.ascontiguousarray(found.numbers[:, k])
        columns[name] = pl.Series(values).set(pl.Series(values == MISSING), None)
    return pl.DataFrame(columns).select(pl.col(name).cast(kind) for name, kind in RECORD_SCHEMA.items())


def _read_line(
    number: int,
    raw: bytes,
    records: dict[str, list[dict[str, object]]],
    rejects: list[tuple[int, str, str]],
    ignored: Counter[str],
) -> None:
    """Puts one line where it belongs: the rules in full, for lines that the scan does not take."""
    text = raw.rstrip(b"\r").decode("utf-8", errors="backslashreplace")
    if not text.strip():
        ignored["blank line"] += 1
        return
    found = _RECORD.match(text)
    if not found:
        rejects.append((number, "not an accounting record (date time;type;id;message)", text))
        return
    kind = found.group(1)
    if kind not in records:
        ignored[f"record type {kind}"] += 1
        return
    try:
        records[kind].append({"line": number} | _end_record(found.group(2), found.group(3)))
    except ValueError as error:
        if kind == "R":  # Torque writes some without anything: there is no attempt to be told
            ignored["record type R"] += 1
        else:
            rejects.append((number, str(error), text))


def duration_s(text: str) -> int:
    """Seconds of "[[D:]H:]M:S" or of a plain number of seconds. Raises ValueError."""
    parts = text.split(":")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"[0-9]{1,12}", part) for part in parts):
        raise ValueError(f"not a duration: {text}")
    seconds = sum(int(part) * unit for part, unit in zip(reversed(parts), (1, 60, 3600, 86400), strict=False))
    if seconds > LARGEST_S:
        raise ValueError(f"not a duration: {text}")
    return seconds


def write_pbs(jobs: pl.DataFrame, directory: Path, time_zone: str, server: str) -> list[Path]:
    """Writes one PBS Pro accounting file a day (named YYYYMMDD by the local day of the record), S and E records.

    jobs: job_number, submit_s, start_s, runtime_s, procs, requested_walltime_s, user, group, queue, executable;
    times in Unix seconds. `directory` must exist. Returns the files in order.
    """
    zone = ZoneInfo(time_zone)
    entries: list[tuple[int, int, str]] = []  # record time, tie-break, line
    for job in jobs.iter_rows(named=True):
        start, end, procs = job["start_s"], job["start_s"] + job["runtime_s"], job["procs"]
        host = "+".join(
            f"n{job['job_number'] % 64 + chunk:03d}/0*{width}" for chunk, width in enumerate(_chunks(procs))
        )
        message = (
            f'user={job["user"]} group={job["group"]} account="{job["group"]}" project=_pbs_project_default '
            f"jobname={job['executable']} queue={job['queue']} ctime={job['submit_s']} qtime={job['submit_s']} "
            f"etime={job['submit_s']} start={start} exec_host={host} "
            f"Resource_List.ncpus={procs} Resource_List.nodect={len(_chunks(procs))} Resource_List.place=scatter "
            f"Resource_List.select={procs}:ncpus=1 Resource_List.walltime={_clock(job['requested_walltime_s'])}"
        )
        job_id = f"{job['job_number']}.{server}"
        killed = job["runtime_s"] >= job["requested_walltime_s"]
        used = (
            f" session={1000 + job['job_number']} end={end} Exit_status={-29 if killed else 0} "
            f"resources_used.cput={_clock(job['runtime_s'] * procs)} resources_used.ncpus={procs} "
            f"resources_used.walltime={_clock(job['runtime_s'])} run_count=1"
        )
        entries.append((start, 2 * job["job_number"], f"S;{job_id};{message}"))
        entries.append((end, 2 * job["job_number"] + 1, f"E;{job_id};{message}{used}"))
    files: dict[str, list[str]] = {}
    for time_s, _, text in sorted(entries):
        moment = datetime.fromtimestamp(time_s, tz=UTC).astimezone(zone)
        files.setdefault(f"{moment:%Y%m%d}", []).append(f"{moment:%m/%d/%Y %H:%M:%S};{text}\n")
    written = []
    for name, lines in sorted(files.items()):
        path = directory / name
        path.write_text("".join(lines))
        written.append(path)
    return written


def _end_record(job_id: str, message: str) -> dict[str, object]:
    pairs = {key: value.strip('"') for key, value in _PAIR.findall(message)}
    if not job_id:
        raise ValueError("end record without a job id")
    ctime, qtime = _unix_seconds(pairs, "ctime"), _unix_seconds(pairs, "qtime")
    start, end = _unix_seconds(pairs, "start"), _unix_seconds(pairs, "end")
    if start is None or end is None or (ctime is None and qtime is None):
        raise ValueError("end record without ctime, start or end")
    submitted = ctime if ctime is not None else qtime
    assert submitted is not None
    if not submitted <= start <= end:
        raise ValueError("times out of order: expected ctime <= start <= end")
    requested, allocated = _requested_procs(pairs), _allocated_procs(pairs)
    if requested is None and allocated is None:
        raise ValueError("end record without a processor count (ncpus, nodes or exec_host)")
    exit_status = pairs.get("Exit_status", pairs.get("exit_status", ""))
    return {
        "job_id": job_id,
        "user_name": pairs.get("user"),
        "group_name": pairs.get("group"),
        "account": pairs.get("account"),
        "project": pairs.get("project"),
        "queue": pairs.get("queue"),
        "job_name": pairs.get("jobname"),
        "ctime_s": submitted,
        "qtime_s": qtime,
        "etime_s": _unix_seconds(pairs, "etime"),
        "start_s": start,
        "end_s": end,
        "exec_host": pairs.get("exec_host"),
        "procs": allocated if allocated is not None else requested,
        "requested_procs": requested,
        "requested_walltime_s": _duration(pairs, "Resource_List.walltime"),
        "used_walltime_s": _duration(pairs, "resources_used.walltime"),
        "used_cpu_s": _duration(pairs, "resources_used.cput"),
        "exit_status": int(exit_status) if re.fullmatch(r"-?[0-9]{1,9}", exit_status) else None,
        "eligible_wait_s": _known_duration(pairs.get("eligible_time", "")),
        "gpus": _known_count(pairs, "Resource_List.ngpus"),
        "nodes": _known_count(pairs, "Resource_List.nodect", "unique_node_count"),
        "run_count": _known_count(pairs, "run_count", "start_count"),
        "requested_memory_kb": kilobytes(pairs.get("Resource_List.mem", "")),
        "used_memory_kb": kilobytes(pairs.get("resources_used.mem", "")),
    }


def kilobytes(text: str) -> int | None:
    """Of a size such as 10gb, 1024KB, 512mw (words of 8 bytes) or 30 (bytes), rounded up; None for anything else."""
    found = re.fullmatch(r"([0-9]{1,12})([kKmMgGtT]?)([bBwW]?)", text)
    if found is None:
        return None
    number = int(found.group(1)) * (8 if found.group(3) in ("w", "W") else 1)
    power = " kmgt".index(found.group(2).lower() or " ")
    return number * 1024 ** (power - 1) if power else -(-number // 1024)


def _known_duration(text: str) -> int | None:
    try:
        return duration_s(text)
    except ValueError:
        return None


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
    """Processors given to the job: PBS Pro's ncpus, else Torque's slots, else the slots of exec_host."""
    for key in ("resources_used.ncpus", "Resource_List.ncpus", "total_execution_slots"):
        # Torque writes ncpus=1 beside nodes=2:ppn=12; the slots then tell more
        trusted = key != "Resource_List.ncpus" or "Resource_List.select" in pairs
        if trusted and (count := _count(pairs, key)):
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
    nodes = pairs.get("Resource_List.nodes")
    if not nodes or "Resource_List.select" in pairs:
        return _count(pairs, "Resource_List.ncpus")
    total = 0
    for chunk in nodes.split("+"):
        head, *properties = chunk.split(":")
        count = _whole("nodes", head) if re.fullmatch(r"[0-9]+", head) else 1  # else the name of a node
        ppn = next((_whole("nodes", p[4:]) for p in properties if re.fullmatch(r"ppn=[0-9]+", p)), 1)
        total += count * ppn
    return total or None


def _count(pairs: dict[str, str], key: str) -> int | None:
    """The count of processors under key; None where it is missing, 0 or a word."""
    value = pairs.get(key, "")
    return _whole(key, value) or None if re.fullmatch(r"[0-9]+", value) else None


def _whole(key: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(f"{key} has no sound count of processors")
    return int(text)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _chunks(procs: int, per_node: int = 16) -> list[int]:
    return [min(per_node, procs - first) for first in range(0, procs, per_node)]
