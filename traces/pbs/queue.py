"""Reads what `qstat -f -F json` of PBS Professional and OpenPBS prints, also where a user's variable or comment makes it no JSON.

Older servers write values as they are: `"X":005`, `"X":"\\'a\\'"`, `"comment":"reboot "disk clean""`. Each job is read by itself, strictly
where that is possible. Otherwise a text ends at the quote that the next key or the end of its object follows.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from traces.common.log import LogError
from traces.common.queue import (
    HELD,
    RUNNING,
    WAITING,
    QueueJob,
    QueueJobFault,
    QueueRequest,
    QueueSnapshot,
    snapshot_of,
    whole_seconds,
)

PBS_STATES = {
    "R": RUNNING,
    "E": RUNNING,
    "B": WAITING,
    "Q": WAITING,
    "H": HELD,
    "W": HELD,
    "T": HELD,
    "S": HELD,
    "U": HELD,
}
"""What the letters of job_state say of a job; F, X and M are of jobs that are over or elsewhere."""
_OVER = ("F", "X", "M")
_PAST = ("ctime", "qtime", "mtime", "stime")
"""Times of a job that have been: etime may be a plan."""
_STARTED = ("R", "E", "S", "U")
"""A suspended task counts as one that runs in the array's sum."""
_BECAUSE = {
    "H": "held",
    "W": "waits for its time",
    "T": "in transit",
    "S": "suspended",
    "U": "suspended by the user of its nodes",
}
_DURATION = re.compile(r"(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2})|(\d{1,9})")
_OF_ARRAY = re.compile(r"(Queued|Running|Exiting):(\d{1,6})\b")
_SIZE = re.compile(r"(\d{1,15})([kmgt]?)b", re.IGNORECASE)
_KILOBYTES = {"": 1 / 1024, "k": 1, "m": 1 << 10, "g": 1 << 20, "t": 1 << 30}
_TASK = re.compile(r"\[\d+\]")
JSON = json.JSONDecoder(strict=False)
_JOB = re.compile(r'[{,]\s*"(\d+(?:\[\d*\])?(?:\.[\w.-]+)?)"\s*:\s*(?=\{)')
"""The id of a job, before its object."""
_TIMESTAMP = re.compile(r'"timestamp"\s*:\s*(\d{1,12})')
_KEY = re.compile(r'\s*"((?:[^"\\\n]|\\.)*)"\s*:\s*')
_END = r'\s*(?:,\s*"(?:[^"\\\n]|\\.)*"\s*:|\}\s*(?:[,}\]]|$)|\}\s*$)'
"""What comes after a value of an object: the next key, or the end of the object."""
_TEXT = re.compile(rf'"(.*?)"(?={_END})', re.DOTALL)
_BARE = re.compile(rf"(.*?)(?={_END})", re.DOTALL)
_SPACE = re.compile(r"\s*")


def read_pbs_queue(document: dict[str, Any], place: str, time_zone: str) -> QueueSnapshot:
    """The jobs of a JSON document of qstat. place: its file, for messages. time_zone: of the cluster, in which qstat writes dates.

    Raises LogError where it has no jobs by id. A job that cannot be used becomes one of the faults.
    """
    jobs = document.get("Jobs", {})
    if not isinstance(jobs, dict):
        raise LogError(f'{place}: expected the JSON of `qstat -f -F json`, with "Jobs" by id')
    written_s = whole_seconds(document.get("timestamp"))
    zone = ZoneInfo(time_zone)
    past = [_date(job.get(name), zone) for job in jobs.values() if isinstance(job, dict) for name in _PAST]
    latest_s = max((second for second in past if second is not None), default=None)
    return snapshot_of(place, written_s, _entries(jobs, zone, written_s), latest_s)


def _entries(jobs: dict[str, Any], zone: ZoneInfo, written_s: int | None) -> Iterator[QueueJob | QueueJobFault | None]:
    listed = _listed_tasks(jobs)
    for job_id, job in jobs.items():
        try:
            if not isinstance(job, dict):
                raise QueueJobFault(f"job {job_id}: expected an object")
            if "[]" in job_id and job.get("job_state") not in _OVER:
                yield from _array(job_id, job, zone, listed, written_s)
            else:
                yield _job(job_id, job, zone, 1)
        except QueueJobFault as fault:
            yield fault


def _listed_tasks(jobs: dict[str, Any]) -> Counter[tuple[str, bool]]:
    """How many tasks of each array have an entry of their own, by the array's id and by whether they run (`qstat -t`)."""
    listed: Counter[tuple[str, bool]] = Counter()
    for job_id, job in jobs.items():
        letter = job.get("job_state") if isinstance(job, dict) else None
        if letter not in _OVER and _TASK.search(job_id):
            listed[_TASK.sub("[]", job_id), letter in _STARTED] += 1
    return listed


def _array(
    job_id: str, job: dict[str, Any], zone: ZoneInfo, listed: Counter[tuple[str, bool]], written_s: int | None
) -> Iterator[QueueJob]:
    """What the entry of an array, `12[]`, stands for: the tasks that have no entry of their own. Of those that run, only the start of the
    array is known. They are taken to have run since then, but for no more than half of what they request."""
    states = Counter({word: int(count) for word, count in _OF_ARRAY.findall(str(job.get("array_state_count") or ""))})
    if not states:
        states["Queued"] = 1 if not any(listed[job_id, runs] for runs in (False, True)) else 0
    waiting = states["Queued"] - listed[job_id, False]
    running = states["Running"] + states["Exiting"] - listed[job_id, True]
    if waiting > 0 and (waits := _job(job_id, job, zone, waiting)):
        yield waits
    if running > 0 and (runs := _job(job_id, job | {"job_state": "R"}, zone, 1)):
        if written_s and runs.start_s and runs.requested_walltime_s > 0:
            runs = replace(runs, start_s=max(runs.start_s, written_s - runs.requested_walltime_s // 2))
        yield from [runs] * running


def _job(job_id: str, job: dict[str, Any], zone: ZoneInfo, tasks: int) -> QueueJob | None:
    """tasks: how many jobs the entry stands for."""
    letter = job.get("job_state")
    if letter in _OVER:
        return None

    def fault(expected: str) -> QueueJobFault:
        return QueueJobFault(f"job {job_id}: {expected}", max(tasks, 1))

    if letter not in PBS_STATES:
        raise fault(f"expected job_state to be one of {' '.join((*PBS_STATES, *_OVER))}, found {letter!r}")
    asked = job.get("Resource_List")
    asked = asked if isinstance(asked, dict) else {}
    procs = _count(asked.get("ncpus")) or _count(asked.get("nodect"))
    if procs is None:
        raise fault("expected a number above 0 as Resource_List.ncpus or nodect")
    submit_s = next((second for name in ("ctime", "qtime", "etime") if (second := _date(job.get(name), zone))), None)
    if submit_s is None:
        raise fault(f"expected qtime or ctime such as 'Mon Mar  2 08:00:00 2026', found {job.get('qtime')!r}")
    start_s = _date(job.get("stime"), zone)
    if PBS_STATES[letter] == RUNNING and start_s is None:
        raise fault(f"expected stime such as 'Mon Mar  2 08:00:00 2026' of a job that runs, found {job.get('stime')!r}")
    return QueueJob(
        job_id.partition(".")[0],
        PBS_STATES[letter],
        _because(letter, job),
        tasks,
        procs,
        _seconds(asked.get("walltime")),
        submit_s,
        start_s if PBS_STATES[letter] == RUNNING else None,
        (_text(job.get("Job_Owner")) or "").partition("@")[0] or None,
        _text(job.get("egroup")) or _text(job.get("group_list")),
        _text(job.get("Account_Name")),
        _text(job.get("queue")),
        _text(job.get("Job_Name")),
        _asked(job, asked),
    )


def _asked(job: dict[str, Any], resources: dict[str, Any]) -> QueueRequest:
    size = _SIZE.fullmatch(str(resources.get("mem", "")))
    gpus = str(resources.get("ngpus", "0"))
    hosts = (
        (_text(job.get("exec_host")) or "").split("+") if PBS_STATES.get(str(job.get("job_state"))) == RUNNING else []
    )
    return QueueRequest(
        nodes=_count(resources.get("nodect")),
        gpus=int(gpus) if re.fullmatch(r"\d{1,9}", gpus) else None,
        memory_kb=int(int(size.group(1)) * _KILOBYTES[size.group(2).lower()]) if size else None,
        is_exclusive=True if "excl" in str(resources.get("place", "")).split(":") else None,
        reason=_text(job.get("comment")),
        node_names=tuple(dict.fromkeys(host.partition("/")[0] for host in hosts if host)),
    )


def _because(letter: str, job: dict[str, Any]) -> str:
    if letter == "H" and _text(job.get("depend")):
        return "dependency"
    return _BECAUSE.get(letter, "")


def _count(value: Any) -> int | None:
    whole = int(value) if isinstance(value, int | str) and re.fullmatch(r"\d{1,9}", str(value)) else 0
    return whole or None


def _seconds(value: Any) -> int:
    """Seconds of H:M:S, M:S or a plain number; -1 for none."""
    parts = _DURATION.fullmatch(str(value).strip())
    if parts is None:
        return -1
    hours, minutes, seconds, plain = (int(part or 0) for part in parts.groups())
    return hours * 3600 + minutes * 60 + seconds + plain or -1


def _date(value: Any, zone: ZoneInfo) -> int | None:
    """Unix seconds of `Mon Mar  2 08:00:00 2026` in the zone of the cluster, or of a plain number of them."""
    if isinstance(value, str) and not value.isdigit():
        try:
            return int(datetime.strptime(value.strip(), "%a %b %d %H:%M:%S %Y").replace(tzinfo=zone).timestamp())
        except ValueError:
            return None
    return whole_seconds(int(value) if isinstance(value, str) else value)


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and str(value) not in ("", "_pbs_project_default") else None


def jobs_of_document(text: str) -> dict[str, Any] | None:
    """The document of `qstat -f -F json`: "timestamp", and "Jobs" by id. A job that cannot be read is None. None for a text without
    jobs, or one that ends before its last brace."""
    heads = list(_JOB.finditer(text))
    if not heads or not re.search(r'"Jobs"\s*:', text[: heads[0].end()]) or not text.rstrip().endswith("}"):
        return None
    jobs: dict[str, Any] = {}
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        of_job = text[head.end() : following.start() if following else len(text)]
        jobs[head.group(1)] = _json_job(of_job)
    stamp = _TIMESTAMP.search(text, 0, heads[0].start())
    return {"timestamp": int(stamp.group(1)) if stamp else None, "Jobs": jobs}


def _json_job(text: str) -> dict[str, Any] | None:
    """The object at the beginning of the text, behind which nothing but the ends of other objects may come."""
    try:
        job, end = JSON.raw_decode(text)
        if isinstance(job, dict) and not text[end:].strip(" \t\r\n,}"):
            return job
    except json.JSONDecodeError:
        pass
    parsed = _object(text, 0, 0)
    return parsed[0] if parsed and not text[parsed[1] :].strip(" \t\r\n,}") else None


def _object(text: str, begin: int, depth: int) -> tuple[dict[str, Any], int] | None:
    """The object that begins here, and where it ends. None where it cannot be read."""
    values: dict[str, Any] = {}
    i = begin + 1
    while True:
        i = _skip(text, i)
        if text[i : i + 1] == "}":
            return values, i + 1
        key = _KEY.match(text, i)
        if key is None:
            return None
        parsed = _value(text, key.end(), depth)
        if parsed is None:
            return None
        values[key.group(1)], i = parsed
        i = _skip(text, i)
        if text[i : i + 1] == ",":
            i += 1


def _value(text: str, i: int, depth: int) -> tuple[Any, int] | None:
    if text[i : i + 1] == "{" and depth < 3 and (parsed := _object(text, i, depth + 1)):
        return parsed
    quoted = _TEXT.match(text, i)
    if quoted:
        return _unescaped(quoted.group(1)), quoted.end()
    bare = _BARE.match(text, i)
    if bare is None:
        return None
    word = bare.group(1).strip()
    return (int(word) if re.fullmatch(r"0|-?[1-9]\d{0,17}", word) else word), bare.end()


def _skip(text: str, i: int) -> int:
    space = _SPACE.match(text, i)
    return space.end() if space else i


def _unescaped(raw: str) -> str:
    """A text as JSON has it, or as it stands where JSON does not allow it."""
    try:
        value = JSON.decode(f'"{raw}"')
    except json.JSONDecodeError:
        return raw
    return str(value)
