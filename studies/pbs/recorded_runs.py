"""Recorded runs of real OpenPBS: the accounting log as events, and the scheduler's log as passes."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.pbs.requests import PbsJob
from studies.pbs.recorded_requests import job_of_request, pbs_request_of
from studies.slurm.decisions import SHARED
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription
from traces.pbs.configuration.folder import read_pbs_cluster
from traces.pbs.requests import placed_chunks
from traces.pbs.reservations import ReservationRecord, reservations_of_records

LEFT_OUT = ("P8",)
"""Runs in which operators suspended, requeued, held and deleted jobs by hand."""
CONFIGURATION = ("qmgr.txt", "qmgr_sched.txt", "sched_config", "resource_group", "pbsnodes.txt.gz")
_RECORD = re.compile(r"^([0-9/]+ [0-9:]+);(.);([^;]*);(.*)$", re.S)
_PAIR = re.compile(r'(\S+?)=("[^"]*"|\S*)')
_LINE = re.compile(r"^([0-9/]+ [0-9:]+);[0-9a-f]+;[^;]*;(Req|Job|Sched|Svr|Resv);([^;]*);(.*)$")
_LIMIT = re.compile(r"set server max_run = \[u:(\w+)=([0-9]+)\]")
_TOP = re.compile(r"Job is a top job and will run at (.*)$")
_FREE = re.compile(r"resource: ncpus \(R: [0-9]+ A: ([0-9]+) T")
_NO_REASON = ("Estimating", "Formula Evaluation", "Fairshare", "Job is a top job", "Error in calculation")
_PREEMPTED = ("Job preempted by suspension", "Job preempted by requeuing")


@dataclass
class RecordedJob:
    """A job, or a task of an array. label: such as 12 or 35[3]. start_s: of its last start, None for a job that never ran. nodes: of
    its chunks, in their order. ran_s: how long it ran, without suspensions. submit_turn, end_turn: places of its
    records in the log."""

    label: str
    job: PbsJob
    start_s: int | None = None
    end_s: int | None = None
    nodes: tuple[str, ...] = ()
    ran_s: int | None = None
    submit_turn: int = 0
    end_turn: int = 0


@dataclass(frozen=True)
class Record:
    """A line of the accounting log. kind: its letter."""

    time: int
    kind: str
    label: str
    attributes: dict[str, str]


@dataclass
class Pass:
    """A pass of the scheduler's log. considered: labels in the order in which it considered them. started: labels. tops: label and planned
    start. free: processors that it said were free, at its first job that did not fit, None where it said nothing. reasons: by label, why a
    job did not run, in PBS's words."""

    time: int
    considered: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    tops: dict[str, int] = field(default_factory=dict)
    free: int | None = None
    started_before_free: int = 0
    preempted: list[str] = field(default_factory=list)
    decayed: bool = False
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedRun:
    """One recorded run."""

    name: str
    cluster: ClusterDescription
    jobs: list[RecordedJob]
    records: list[Record]
    passes: list[Pass]
    decays: list[int]


def recorded_folders() -> list[Path]:
    """Folders of the recorded runs of the reference."""
    folders = sorted((SHARED / "golden" / "pbs").glob("*/run1"))
    return [folder for folder in folders if folder.parent.name not in LEFT_OUT]


def read_recorded_run(folder: Path) -> RecordedRun:
    """Reads a run's folder, such as P1/run1."""
    records = list(_records(_text(folder, "accounting.gz")))
    cluster = read_pbs_cluster([folder / name for name in CONFIGURATION], folder.parent.name).description
    reservations = reservations_of_records(
        ReservationRecord(record.kind, record.time, record.label, record.attributes)
        for record in records
        if record.kind in "UYBKkF"
    )
    passes, decays = _passes(_text(folder, "sched_log_decisions.gz"))
    limits = (*cluster.limits, *_limits_by_hand(json.loads(_text(folder, "scenario.json.gz"))["actions"]))
    return RecordedRun(
        folder.parent.name,
        replace(cluster, reservations=reservations, limits=limits),
        _jobs(records),
        records,
        passes,
        decays,
    )


def _text(folder: Path, name: str) -> str:
    return gzip.decompress((folder / name).read_bytes()).decode(errors="replace")


def _limits_by_hand(actions: list[dict[str, Any]]) -> Iterator[Limit]:
    """Limits that the driver of a run set at its beginning, and took back before the configuration was saved."""
    for action in actions:
        for user, bound in _LIMIT.findall(action.get("cmd", "")):
            yield Limit("cluster", "", "running", "user", "jobs", int(bound), user)


def second_of(stamp: str) -> int:
    """UTC second of a stamp such as 11/26/2026 07:09:46."""
    return int(datetime.strptime(stamp, "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC).timestamp())


def _records(text: str) -> Iterator[Record]:
    for line in text.splitlines():
        parts = _RECORD.match(line)
        if parts:
            is_resv = parts[3].startswith("R") or parts[2] in "UYBKkF"
            label = parts[3] if is_resv else parts[3].partition(".")[0]
            yield Record(second_of(parts[1]), parts[2], label, dict(_PAIR.findall(parts[4])))


def _jobs(records: list[Record]) -> list[RecordedJob]:
    """Jobs in the order of their submission."""
    jobs: dict[str, RecordedJob] = {}
    arrays: dict[str, Record] = {}
    suspended: dict[str, list[Record]] = {}
    for turn, record in enumerate(records):
        if record.kind == "Q":
            if "[" in record.label:
                arrays[record.label] = record
            else:
                job = job_of_request(pbs_request_of(record.attributes), int(record.attributes["ctime"]))
                jobs[record.label] = RecordedJob(record.label, job, submit_turn=turn)
        elif record.kind in "zr":
            suspended.setdefault(record.label, []).append(record)
        elif record.kind in "SE" and not record.label.endswith("[]"):
            if record.label not in jobs:
                jobs[record.label] = _task(record, arrays, len(jobs))
            _run(jobs[record.label], record)
            jobs[record.label].end_turn = turn
    for label, each in jobs.items():
        if each.start_s is not None and each.end_s is not None:
            each.ran_s = each.end_s - each.start_s - _suspended_s(suspended.get(label, []), each)
    return sorted(jobs.values(), key=lambda each: (each.job.submit_s, _number(each.label)))


def _number(label: str) -> tuple[int, int]:
    job, _, task = label.partition("[")
    return int(job), int(task.rstrip("]") or 0)


def _task(record: Record, arrays: dict[str, Record], count: int) -> RecordedJob:
    parent = record.label.partition("[")[0] + "[]"
    job = job_of_request(pbs_request_of(record.attributes), int(arrays[parent].attributes["ctime"]))
    array = list(arrays).index(parent)
    return RecordedJob(record.label, replace(job, array=array, array_task=_number(record.label)[1]))


def _run(each: RecordedJob, record: Record) -> None:
    attributes = record.attributes
    each.start_s = int(attributes["start"])
    each.nodes = tuple(node for node, _ in placed_chunks(attributes["exec_vnode"]))
    eligible = int(attributes.get("etime", 0))
    if eligible > each.job.submit_s:
        each.job = replace(each.job, begin_s=eligible)
    if record.kind == "E":
        each.end_s = int(attributes["end"])


def _suspended_s(records: list[Record], each: RecordedJob) -> int:
    total, since = 0, None
    for record in records:
        if record.kind == "z":
            since = record.time
        elif since is not None:
            total += record.time - since
            since = None
    return total


def _passes(text: str) -> tuple[list[Pass], list[int]]:
    passes: list[Pass] = []
    decays: list[int] = []
    for line in text.splitlines():
        parts = _LINE.match(line)
        if not parts:
            continue
        time, label, said = second_of(parts[1]), parts[3].partition(".")[0], parts[4]
        if said == "Starting Scheduling Cycle":
            passes.append(Pass(time))
        elif said == "Decaying Fairshare Tree":
            decays.append(time)
            if passes:
                passes[-1].decayed = True
        elif passes:
            _note(passes[-1], label, said)
    return passes, decays


def _note(current: Pass, label: str, said: str) -> None:
    if said == "Considering job to run":
        current.considered.append(label)
    elif said == "Job run":
        current.started.append(label)
    elif said.startswith(_PREEMPTED):
        current.preempted.append(label)
    elif not said.startswith(_NO_REASON):
        current.reasons[label] = said
    if top := _TOP.match(said):
        planned = datetime.strptime(top[1], "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
        current.tops[label] = int(planned.timestamp())
    elif current.free is None and (free := _FREE.search(said)):
        current.free = int(free[1])
        current.started_before_free = len(current.started)
