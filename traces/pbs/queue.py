"""Reads what `qstat -f -F json` of PBS Professional and OpenPBS prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_BECAUSE = {
    "H": "held",
    "W": "waits for its time",
    "T": "in transit",
    "S": "suspended",
    "U": "suspended by the user of its nodes",
}
_DURATION = re.compile(r"(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2})|(\d{1,9})")
_LEFT_OF_ARRAY = re.compile(r"Queued:(\d+)")


def read_pbs_queue(document: dict[str, Any], place: str, time_zone: str) -> QueueSnapshot:
    """The jobs of a JSON document of qstat. place: its file, for messages. time_zone: of the cluster, in which qstat writes dates.

    Raises LogError where it has no jobs by id. A job that cannot be used becomes one of the faults.
    """
    jobs = document.get("Jobs", {})
    if not isinstance(jobs, dict):
        raise LogError(f'{place}: expected the JSON of `qstat -f -F json`, with "Jobs" by id')
    return snapshot_of(place, whole_seconds(document.get("timestamp")), _entries(jobs, ZoneInfo(time_zone)))


def _entries(jobs: dict[str, Any], zone: ZoneInfo) -> Iterator[QueueJob | QueueJobFault | None]:
    for job_id, job in jobs.items():
        try:
            if not isinstance(job, dict):
                raise QueueJobFault(f"job {job_id}: expected an object")
            yield _job(job_id, job, zone)
        except QueueJobFault as fault:
            yield fault


def _job(job_id: str, job: dict[str, Any], zone: ZoneInfo) -> QueueJob | None:
    letter = job.get("job_state")
    if letter in _OVER:
        return None
    tasks = _tasks(job_id, job)
    if letter == "B" and tasks == 0:  # all its tasks run or are over, and are listed by themselves
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
    )


def _because(letter: str, job: dict[str, Any]) -> str:
    if letter == "H" and _text(job.get("depend")):
        return "dependency"
    return _BECAUSE.get(letter, "")


def _tasks(job_id: str, job: dict[str, Any]) -> int:
    """How many waiting jobs an entry stands for: the tasks of an array, `12[]`, that are still to start."""
    if "[]" not in job_id:
        return 1
    left = _LEFT_OF_ARRAY.search(str(job.get("array_state_count") or ""))
    return int(left.group(1)) if left else 1


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
