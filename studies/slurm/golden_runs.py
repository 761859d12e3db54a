"""Recorded runs of real Slurm: jobs, and the log of the controller as events and cycles."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from simulator.cluster.requests import NOT_GIVEN, Request
from studies.slurm.golden_cluster import golden_cluster, text_of
from traces.cluster.description import ClusterDescription
from traces.cluster.hostlists import expand_hostlist

_TIME = re.compile(r"^\[([0-9T:.-]+)\] (.*)$")
_LOADED = re.compile(r"^\[([0-9T:.-]+)\] .*priority/\w+: init: Priority", re.MULTILINE)
_TEST = re.compile(r"BACKFILL: test for JobId=(\S+) Prio=([0-9]+) Partition=(\S+)")
_PLAN = re.compile(r"_dump_job_sched: JobId=\S+ to start at ([0-9]+), end at ([0-9]+) on nodes (\S+)")
_BACKFILLED = re.compile(r"_start_job: Started JobId=(\S+) in \S+ on (\S+)")
_ALLOCATED = re.compile(r"sched: Allocate JobId=(\S+) NodeList=(\S+) ")
_ENDED = re.compile(r"(?:_job_complete: JobId=(\S+) done|Time limit exhausted for JobId=(\S+))")
_PREEMPTED = re.compile(r"preempted JobId=(\S+) has been (\S+) to reclaim resources for JobId=(\S+)")
_WARNED = re.compile(r"setting ([0-9]+) sec preemption grace time for JobId=(\S+) to reclaim resources for JobId=(\S+)")
_SET = re.compile(r"update_node: node (\S+) state set to (\w+)|node (\S+) returned to service")
_FAILED = re.compile(r"requeue job JobId=(\S+) due to failure of node")
_SUSPENDED = re.compile(r"gang: (suspend|resum)ing JobId=(\S+)")
_PASS = re.compile(r"sched: Running job scheduler for (default depth|full queue)")
_SHORT = {"--nodes": "-N", "--ntasks": "-n", "--cpus-per-task": "-c", "--partition": "-p"}
_MEMORY = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}


@dataclass
class GoldenJob:
    """A job, or a task of an array. raw: its number in the log. label: such as 35_3 for task 3 of array 35. start_s, end_s: None for a
    job that never started. nodes: what it ran on."""

    raw: int
    label: str
    request: Request
    eligible_s: int
    start_s: int | None
    end_s: int | None
    nodes: tuple[str, ...]
    cpus: int
    partition: str


@dataclass
class Cycle:
    """A backfill cycle in the log. tests: the label, priority and partition of each job that was tested, and what became of it: "start",
    "plan" or "" with start, end and nodes."""

    time: float
    tests: list[Test] = field(default_factory=list)
    end_time: float = 0.0


@dataclass
class Test:
    """A job that a cycle tested."""

    label: str
    priority: int
    partition: str
    kind: str = ""
    start: int = 0
    end: int = 0
    nodes: tuple[str, ...] = ()
    raw: int = NOT_GIVEN
    time: float = 0.0


@dataclass(frozen=True)
class Event:
    """A line of the log. kind: "start" or "end" of a job, "requeue" of one that was preempted, "warn" of one that will be after so
    many seconds (label: for which job), "suspend" and "resume" of one that goes on later, "failed" of one that lost a node, "away" or
    "back" of a node, "cycle", or "pass" of the main scheduler (with which depth)."""

    time: float
    kind: str
    raw: int = NOT_GIVEN
    label: str = ""
    nodes: tuple[str, ...] = ()
    cycle: Cycle | None = None
    by_backfill: bool = False
    seconds: int = 0


@dataclass(frozen=True)
class GoldenRun:
    """One recorded run. counting_s: when the controller loaded its priorities, from which on it counts usage once a period."""

    name: str
    counting_s: int
    cluster: ClusterDescription
    jobs: list[GoldenJob]
    events: list[Event]


def read_golden_run(folder: Path) -> GoldenRun:
    """Reads a run's folder, such as S2/run1."""
    cluster = golden_cluster(folder)
    jobs = _jobs(text_of(folder, "sacct.psv"))
    began = _began_by_snapshots(text_of(folder, "snapshots.txt"))
    log = text_of(folder, "ctld.log")
    events = list(_events(log))
    shortened = {event.raw for event in events if event.kind in ("warn", "requeue", "failed", "suspend")}
    for job in jobs:
        # accounting has the second at which the batch script began, the controller counts from the decision
        end_by_limit = began.get(job.raw if job.request.array == NOT_GIVEN else job.label)
        if end_by_limit is not None and job.request.limit_s is not None and job.raw not in shortened:
            job.start_s = end_by_limit - job.request.limit_s
    ended = {event.raw for event in events if event.kind == "end"}
    # the log is silent when a job ends with its reservation
    events += [
        Event(float(job.end_s), "end", job.raw, job.label)
        for job in jobs
        if job.end_s is not None and job.start_s is not None and job.raw not in ended
    ]
    loaded = _LOADED.search(log)
    started_s = float(json.loads(text_of(folder, "meta.json"))["ctld_start"])
    counting_s = int(started_s if loaded is None else _stamp_s(loaded[1]))
    return GoldenRun(folder.parent.name, counting_s, cluster, jobs, sorted(events, key=lambda event: event.time))


def _began_by_snapshots(text: str) -> dict[int | str, int]:
    """When running jobs end by their limits, as squeue said, by number, or by label for tasks of an array."""
    ends: dict[int | str, int] = {}
    for line in text.splitlines():
        words = line.split("|")
        if len(words) > 7 and words[2] == "RUNNING" and words[6].isdigit():
            ends[int(words[0]) if words[0].isdigit() else words[0]] = int(words[6])
    return ends


def _jobs(text: str) -> list[GoldenJob]:
    names, *lines = text.strip().splitlines()
    rows = [dict(zip(names.split("|"), line.split("|"), strict=False)) for line in lines]
    rows = [row for row in rows if "." not in row["JobID"]]
    rows = [task for row in rows for task in _tasks(row)]
    rows.sort(key=lambda row: [int(part) for part in row["JobID"].split("_")])
    rows = list({row["JobID"]: row for row in rows}.values())  # of a job that was requeued, its last run
    place = {row["JobID"]: k for k, row in enumerate(rows)}
    of_array: dict[str, list[int]] = {}
    for label, k in place.items():
        of_array.setdefault(label.split("_")[0], []).append(k)
    arrays = {
        name: k for k, name in enumerate(name for name, tasks in of_array.items() if "_" in rows[tasks[0]]["JobID"])
    }
    return [_job(row, of_array, arrays) for row in rows]


def _tasks(row: dict[str, str]) -> Iterator[dict[str, str]]:
    """Tasks of an array that never started share a line."""
    array, _, tasks = row["JobID"].partition("_")
    if tasks.startswith("["):
        for name in expand_hostlist(f"t[{tasks.strip('[]').partition('%')[0]}]"):
            yield row | {"JobID": f"{array}_{int(name[1:])}"}
    else:
        yield row


def _job(row: dict[str, str], of_array: dict[str, list[int]], arrays: dict[str, int]) -> GoldenJob:
    options = _options(row["SubmitLine"])
    array, _, task = row["JobID"].partition("_")
    dependencies = []
    for word in options.get("--dependency", "").split(","):
        kind, *others = word.split(":")
        dependencies += [(kind, place) for other in others for place in of_array[other]]
    memory, per = ("--mem-per-cpu", "cpu") if "--mem-per-cpu" in options else ("--mem", "node")
    nodes = int(options.get("-N", 0))
    gres = options.get("--gres", "")
    began, ended = _second(row["Start"]), _second(row["End"])
    request = Request(
        submit_s=int(row["Submit"]),
        limit_s=int(row["TimelimitRaw"]) * 60,
        min_nodes=nodes,
        max_nodes=nodes,
        tasks=int(options.get("-n", 0)),
        cpus_per_task=int(options.get("-c", 1)),
        tasks_per_node=int(options.get("--ntasks-per-node", 0)),
        memory_mib=_mebibytes(options.get(memory, "0")),
        memory_per=per,
        gpus={"": int(gres.rpartition(":")[2])} if gres else {},
        exclusive="--exclusive" in options,
        partitions=tuple(options["-p"].split(",")) if "-p" in options else (),
        qos=row["QOS"],
        account=row["Account"],
        user=row["User"],
        reservation=options.get("--reservation", ""),
        dependencies=tuple(dependencies),
        array=arrays.get(array, NOT_GIVEN) if task else NOT_GIVEN,
        array_task=int(task) if task else NOT_GIVEN,
        licences=_licences(options.get("--licenses", "")),
        array_limit=int(options.get("--array", "").partition("%")[2] or 0),
        nice=int(options.get("--nice", 0)),
    )
    return GoldenJob(
        raw=int(row["JobIDRaw"]),
        label=row["JobID"],
        request=request,
        eligible_s=_second(row["Eligible"]) or 1 << 60,
        start_s=began,
        end_s=ended,
        nodes=tuple(expand_hostlist(row["NodeList"])) if began is not None else (),
        cpus=int(row["AllocCPUS"] or 0),
        partition=row["Partition"],
    )


def _licences(text: str) -> dict[str, int]:
    """Licences of a list such as `fluent:2`."""
    return {name: int(count or 1) for name, _, count in (word.partition(":") for word in text.split(",")) if name}


def _second(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _mebibytes(text: str) -> int:
    return int(float(text[:-1]) * _MEMORY[text[-1]]) if text[-1] in _MEMORY else int(text)


def _options(line: str) -> dict[str, str]:
    """Options of a line of sbatch with their values."""
    options = {}
    words = shlex.split(line)[1:]
    for k, word in enumerate(words):
        if word.startswith("--"):
            name, _, value = word.partition("=")
            options[_SHORT.get(name, name)] = value
        elif word.startswith("-"):
            options[word] = words[k + 1]
    return options


def _raw_of(word: str) -> tuple[str, int]:
    """Label and raw number of `35_3(51)`, `35_*` or `35`."""
    label, _, raw = word.partition("(")
    if raw:
        return label, int(raw.rstrip(")"))
    return label, int(label) if label.isdigit() else NOT_GIVEN


def _stamp_s(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _events(text: str) -> Iterator[Event]:
    cycle: Cycle | None = None
    for line in text.splitlines():
        stamped = _TIME.match(line)
        if not stamped:
            continue
        time = _stamp_s(stamped[1])
        said = stamped[2]
        if said.endswith("_attempt_backfill: beginning"):
            cycle = Cycle(time)
            yield Event(time, "cycle", cycle=cycle)
        elif cycle is not None and (test := _TEST.search(said)):
            label, raw = _raw_of(test[1])
            cycle.tests.append(Test(label, int(test[2]), test[3], raw=raw, time=time))
        elif cycle is not None and cycle.tests and (plan := _PLAN.search(said)):
            last = cycle.tests[-1]
            last.kind, last.start, last.end = "plan", int(plan[1]), int(plan[2])
            last.nodes = tuple(expand_hostlist(plan[3]))
        elif cycle is not None and "No reservation created" in said:
            cycle.tests[-1].kind = ""
        elif cycle is not None and (started := _BACKFILLED.search(said)):
            label, raw = _raw_of(started[1])
            nodes = tuple(expand_hostlist(started[2]))
            last = cycle.tests[-1]
            last.kind, last.start, last.nodes, last.time = "start", int(time), nodes, time
            yield Event(time, "start", raw, label, nodes, by_backfill=True)
        elif allocated := _ALLOCATED.search(said):
            label, raw = _raw_of(allocated[1])
            yield Event(time, "start", raw, label, tuple(expand_hostlist(allocated[2])))
        elif ended := _ENDED.search(said):
            label, raw = _raw_of(ended[1] or ended[2])
            yield Event(time, "end", raw, label)
        elif gone := _PREEMPTED.search(said):
            yield Event(time, "requeue" if gone[2] == "requeued" else "end", _raw_of(gone[1])[1], gone[3])
        elif warned := _WARNED.search(said):
            yield Event(time, "warn", _raw_of(warned[2])[1], warned[3], seconds=int(warned[1]))
        elif halted := _SUSPENDED.search(said):
            yield Event(time, "suspend" if halted[1] == "suspend" else "resume", _raw_of(halted[2])[1])
        elif of_node := _SET.search(said):
            name, state = of_node[1] or of_node[3], of_node[2] or ""
            yield Event(time, "away" if state.startswith(("DOWN", "DRAIN")) else "back", nodes=(name,))
        elif failed := _FAILED.search(said):
            yield Event(time, "failed", _raw_of(failed[1])[1])
        elif began := _PASS.search(said):
            yield Event(time, "pass", label=began[1])
        if cycle is not None and "completed testing" in said:
            cycle.end_time = time
            cycle = None
