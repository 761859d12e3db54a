"""Reads what `squeue --json` prints, of Slurm 21.08 to 26.05 (openapi v0.0.37 to data_parser v0.0.45).

Older versions print plain numbers and one word as the state. Newer ones print an object with "set", "infinite" and "number", and the
state as a list of words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from traces.cluster.hostlists import expand_hostlist
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
from traces.slurm.asked_gpus import gpus_of_job
from traces.slurm.numbers import slurm_number
from traces.slurm.values import array_tasks

_RUNS = ("RUNNING", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SIGNALING", "RESIZING")
"""States in which a job holds its processors."""
_OVER = (
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
)
WAITS_FOR_PROCESSORS = ("", "None", "Resources", "Priority", "ReqNodeNotAvail", "NodeDown", "WaitingForScheduling")
"""Reasons of a pending job that any other policy could remove."""
_LIMIT = re.compile(
    r"(?!\w*PerJob)(?:QOS|Assoc)(?:Max|Grp)\w+|(?:QOS|Association)(?:Job|Resource)Limit|QOSUsageThreshold|JobArrayTaskLimit|Licenses"
)
"""Reasons of a pending job that starts as soon as other jobs use less. With every other reason it is held."""
_PAST = ("submit_time", "accrue_time", "last_sched_evaluation", "preempt_time", "suspend_time")
"""Times of a job that have been, while eligible_time and the start and end of a pending job may be plans."""
_TASKS_OF_TRES = re.compile(r"(?:^|,)cpu=(\d{1,9})(?:,|$)")
_MEMORY_OF_TRES = re.compile(r"(?:^|,)mem=(\d{1,12}(?:\.\d+)?)([KMGTP]?)(?:,|$)")
_NODES_OF_TRES = re.compile(r"(?:^|,)node=(\d{1,9})(?:,|$)")
_GPUS_OF_TRES = re.compile(r"(?:^|,)gres/gpu(?::([^=,]+))?=(\d{1,9})")
_ALONE = {"shared": ("none", "exclusive", "topo"), "exclusive": ("true", "yes", "node", "topo", "exclusive")}
"""Words of jobs whose nodes have no other job."""
_KILOBYTES = {"K": 1, "": 1 << 10, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30, "P": 1 << 40}


def read_slurm_queue(document: dict[str, Any], place: str) -> QueueSnapshot:
    """The jobs of a JSON document of squeue. place: its file, for messages.

    Raises LogError where it has no list of jobs. A job that cannot be used becomes one of the faults.
    """
    jobs = document.get("jobs")
    if not isinstance(jobs, list):
        raise LogError(f'{place}: expected the JSON of `squeue --json`, with a list "jobs"')
    written_s = _second(document, "last_update")
    latest_s = max((second for job in jobs if isinstance(job, dict) for second in _past_seconds(job)), default=None)
    return snapshot_of(place, written_s, _entries(jobs), latest_s)


def _past_seconds(job: dict[str, Any]) -> Iterator[int]:
    """The times of a job that are no plans, Unix seconds."""
    states = _states(job)
    names = [*_PAST, "start_time"] if any(word in _RUNS for word in states) else [*_PAST]
    names += ["end_time"] if any(word in _OVER for word in states) else []
    for name in names:
        second = _second(job, name)
        if second is not None:
            yield second


def _states(job: dict[str, Any]) -> list[str]:
    words = job.get("job_state")
    return [str(word).upper() for word in (words if isinstance(words, list) else [words])]


def _entries(jobs: list[Any]) -> Iterator[QueueJob | QueueJobFault | None]:
    for place, job in enumerate(jobs, start=1):
        try:
            if not isinstance(job, dict):
                raise QueueJobFault(f"job {place} of the list: expected an object")
            yield _job(job)
        except QueueJobFault as fault:
            yield fault


def _job(job: dict[str, Any]) -> QueueJob | None:
    job_id, tasks = _id_and_tasks(job)

    def fault(expected: str) -> QueueJobFault:
        return QueueJobFault(f"job {job_id}: {expected}", tasks)

    states = _states(job)
    if any(word in _OVER for word in states) and "COMPLETING" not in states:
        return None
    runs = any(word in _RUNS for word in states)
    if not runs and "PENDING" not in states and "SUSPENDED" not in states:
        raise fault(
            f"expected job_state to be PENDING, RUNNING or a state of a job that is over, found {job.get('job_state')!r}"
        )
    procs = _procs(job)
    if procs is None:
        raise fault("expected a number of processors above 0 as cpus or in tres_req_str")
    submit_s, start_s = _second(job, "submit_time"), _second(job, "start_time")
    if submit_s is None:
        raise fault(f"expected submit_time in Unix seconds, found {job.get('submit_time')!r}")
    if runs and start_s is None:
        raise fault(f"expected start_time in Unix seconds of a job that runs, found {job.get('start_time')!r}")
    because = "" if runs else _held_because(job, states)
    limit = slurm_number(job.get("time_limit"), is_time=True)
    return QueueJob(
        job_id,
        RUNNING if runs else HELD if because else WAITING,
        because,
        tasks,
        procs,
        -1 if limit is None or limit <= 0 else int(limit * 60),
        submit_s,
        start_s if runs else None,
        *_names(job),
        asked=_asked(job, runs),
        limit="" if runs or because else _limit(job),
    )


def _names(job: dict[str, Any]) -> tuple[str | None, str | None, str | None, str | None, str | None]:
    user, group, account, partition, name = (
        _text(job.get(each)) for each in ("user_name", "group_name", "account", "partition", "name")
    )
    return user, group, account, partition, name


def _asked(job: dict[str, Any], runs: bool) -> QueueRequest:
    tres = _text(job.get("tres_req_str")) or _text(job.get("tres_alloc_str")) or ""
    memory, listed = _MEMORY_OF_TRES.search(tres), _NODES_OF_TRES.search(tres)
    nodes = int(listed.group(1)) if listed else _count(job, "node_count")
    priority = slurm_number(job.get("priority"))
    try:
        names = tuple(expand_hostlist(_text(job.get("nodes")) or "")) if runs else ()
    except ValueError:
        names = ()
    gpus, typed = _gpus(job, len(names) or nodes)
    return QueueRequest(
        nodes=nodes,
        gpus=gpus,
        gpu_types=",".join(f"{kind}={amount}" for kind, amount in sorted(typed.items()) if kind) or None,
        memory_kb=int(float(memory.group(1)) * _KILOBYTES[memory.group(2)]) if memory else None,
        qos=_text(job.get("qos")),
        reservation=_text(job.get("resv_name")),
        features=_text(job.get("features")),
        is_exclusive=True if _is_exclusive(job) else None,
        eligible_s=_second(job, "eligible_time"),
        priority=None if priority is None else int(priority),
        reason=None if runs else _text(job.get("state_reason")),
        node_names=names,
    )


def _gpus(job: dict[str, Any], nodes: int | None) -> tuple[int | None, Counter[str]]:
    """GPUs of a job, and how many of each type it asked for: of its trackable resources, else of its other fields.

    Where the requested resources name no type, the other fields may. What a job got may have a type though it asked for any."""
    number, asked = gpus_of_job(job, nodes)
    for name in ("tres_req_str", "tres_alloc_str"):
        tracked: Counter[str] = Counter()
        for kind, amount in _GPUS_OF_TRES.findall(_text(job.get(name)) or ""):
            tracked[kind] += int(amount)
        if tracked:
            total = max(tracked[""], sum(count for kind, count in tracked.items() if kind))
            is_asked = name == "tres_req_str" and any(tracked)
            return total, asked if 0 < asked.total() <= total and not is_asked else tracked
    return number, asked


def _is_exclusive(job: dict[str, Any]) -> bool:
    """Whether no other job may be on its nodes. With "user" and "mcs" jobs of the same user or label may.

    Slurm 21.08 and 22.05 write "shared" as a word, where "none" is of exclusive jobs. From 23.02 it is a list of words, and "exclusive"
    another one, with "true" for these jobs. 26.05 writes "exclusive" as a word."""
    for name, of_alone in _ALONE.items():
        value = job.get(name)
        words = {str(each).lower() for each in (value if isinstance(value, list) else [value]) if each is not None}
        if not words.isdisjoint(of_alone):
            return True
    return False


def _second(job: dict[str, Any], name: str) -> int | None:
    return whole_seconds(slurm_number(job.get(name), is_time=True))


def _count(job: dict[str, Any], name: str) -> int | None:
    number = slurm_number(job.get(name), is_time=True)
    return int(number) if number is not None and number > 0 else None


def _id_and_tasks(job: dict[str, Any]) -> tuple[str, int]:
    """The id as squeue prints it, and how many jobs it stands for."""
    array, task, listed = (
        slurm_number(job.get("array_job_id")),
        slurm_number(job.get("array_task_id")),
        job.get("array_task_string"),
    )
    if array and isinstance(listed, str) and listed:
        job_id = f"{array}_[{listed}]"
        return job_id, int(pl.select(array_tasks(pl.lit(job_id))).item())
    if array and task is not None:
        return f"{array}_{task}", 1
    first, offset = slurm_number(job.get("het_job_id")), slurm_number(job.get("het_job_offset"))
    if first and offset is not None:
        return f"{first}+{offset}", 1
    number = slurm_number(job.get("job_id"))
    if number is None:
        raise QueueJobFault(f"expected a number as job_id, found {job.get('job_id')!r}")
    return str(number), 1


def _procs(job: dict[str, Any]) -> int | None:
    allocated = _TASKS_OF_TRES.search(str(job.get("tres_alloc_str") or ""))
    requested = _TASKS_OF_TRES.search(str(job.get("tres_req_str") or ""))
    number = slurm_number(job.get("cpus"), is_time=True)
    amounts = [int(each.group(1)) for each in (allocated, requested) if each]
    amounts += [int(number)] if number is not None else []
    return next((amount for amount in amounts if amount > 0), None)


def _held_because(job: dict[str, Any], states: list[str]) -> str:
    """Why a job that does not run could not start on an idle machine; "" where it could."""
    if "SUSPENDED" in states:
        return "suspended"
    if (
        "REQUEUE_HOLD" in states
        or "SPECIAL_EXIT" in states
        or job.get("hold") is True
        or slurm_number(job.get("priority")) == 0
    ):
        return "held"
    reason = _reason(job)
    if reason == "BeginTime" and slurm_number(job.get("restart_cnt")):
        return ""  # it was requeued, after which Slurm lets no job start for two minutes
    if reason not in WAITS_FOR_PROCESSORS and not _limit(job):
        return reason
    return "Dependency" if _text(job.get("dependency")) else ""


def _reason(job: dict[str, Any]) -> str:
    return (_text(job.get("state_reason")) or "").partition(",")[0]


def _limit(job: dict[str, Any]) -> str:
    """The limit that keeps a pending job, "" where none does."""
    reason = _reason(job)
    return reason if _LIMIT.fullmatch(reason) else ""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value not in ("", "(null)") else None
