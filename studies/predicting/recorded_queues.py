"""Logs of schedulers as their sites had them at a moment: the queue of then, and the log up to then.

A home has each log twice. One source has all of it: it says who waited, and when they started. The other one is cut at a moment, and has
only the jobs that had ended by then, or what had been written to the accounting log.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.generated import generated_log
from assets.ingest.update import update_raw_log
from models.runtime.predictor import QUANTILE_COLUMNS
from models.waits.history import History, history_of
from studies.pbs.recorded_runs import CONFIGURATION as PBS_CONFIGURATION
from studies.slurm.decisions import SHARED
from studies.slurm.golden_cluster import CONFIGURATION as SLURM_CONFIGURATION
from studies.slurm.golden_cluster import text_of
from tracehouse.clusters import import_cluster
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import write_site_files
from traces.catalogue.places import home, local_catalogue_path
from traces.common.queue import HELD, RUNNING, WAITING, QueueJob, QueueRequest, QueueSnapshot
from traces.slurm.queue import read_slurm_queue
from traces.synthetic.sites import SITES

RUNS = {
    **{name: f"slurm/{name}/run1" for name in ("S2", "S5", "S6", "S7", "S11")},
    "T1": "slurm24/T1/run1",
    **{name: f"pbs/{name}/run1" for name in ("P3", "P4", "P5")},
}
"""Recorded runs of real schedulers, by name: the folder below shared/golden."""
PBS_SECOND_S = 60
"""A second of the runs of PBS stands for a minute."""
LOG_MOMENTS = 1000
"""Moments of a log without snapshots among which some are chosen."""
_NODES_AWAY = "Nodes required for job are DOWN"
"""How the text of squeue describes a job that `squeue --json` has with the reason Resources."""
_CATALOGUE = '[sources.{name}]\nformat = "{format}"\npath = "{path}"\ncluster = "{cluster}"\ntime_zone = "{zone}"\npseudonyms = []\n'
_JOBS = """
SELECT
    job_index, job_id, epoch(submit_time)::BIGINT AS submit_s, epoch(eligible_time)::BIGINT AS eligible_s,
    epoch(start_time)::BIGINT AS start_s, epoch(end_time)::BIGINT AS end_s, procs, requested_procs, requested_walltime_s, gpus, nodes,
    requested_nodes, requested_gpu_types, requested_memory_kb, qos, reservation, features, is_exclusive, user_name, group_name, account,
    queue, executable
FROM core.jobs WHERE source = $source ORDER BY job_index
"""


class Listed(NamedTuple):
    """A job in a snapshot of squeue. start_s: when it began, or is planned to begin, Unix seconds; None where Slurm has no plan."""

    state: str
    priority: int
    reason: str
    start_s: int | None


@dataclass(frozen=True)
class RecordedLog:
    """A log to score. lines: of it, with the head first where the format has one. zone: of its times. listed: by the second of each
    snapshot, the jobs in it; empty where nobody took any. scale: seconds that one second of the log stands for."""

    name: str
    format: str
    lines: list[str]
    zone: str
    listed: dict[int, dict[str, Listed]]
    scale: int = 1


def read_run(name: str) -> RecordedLog:
    """A recorded run; its cluster is imported into the home. Raises ValueError where it is unknown or not there."""
    if name not in RUNS:
        raise ValueError(f"no run {name!r}: expected one of {', '.join(RUNS)}")
    folder = SHARED / "golden" / RUNS[name]
    if not folder.exists():
        raise ValueError(f"{folder}: no such folder; name the one above golden with TRACEHOUSE_SHARED")
    if RUNS[name].startswith("pbs/"):
        import_cluster([folder / file for file in PBS_CONFIGURATION], name.lower())
        lines = gzip.decompress((folder / "accounting.gz").read_bytes()).decode().splitlines()
        return RecordedLog(name.lower(), "pbs", lines, "UTC", {}, PBS_SECOND_S)
    zero = int(json.loads(text_of(folder, "meta.json"))["T0"])
    files = [folder / f"{file}.gz" for file in SLURM_CONFIGURATION]
    reserved = home() / f"{name.lower()}.reservations.txt"
    reserved.write_text(_reservations(json.loads(text_of(folder, "scenario.json")), zero), encoding="utf-8")
    import_cluster([reserved, *(file for file in files if file.exists())], name.lower())
    listed = dict(_snapshots(text_of(folder, "snapshots.txt"), zero))
    return RecordedLog(name.lower(), "slurm", text_of(folder, "sacct.txt").splitlines(), "UTC", listed)


def _reservations(scenario: dict[str, Any], zero: int) -> str:
    """What `scontrol show reservation` said during a run: those of all nodes that its scenario made at the beginning. At its end they were
    over."""
    lines = ["No reservations in the system"]
    nodes = ",".join(f"{each['prefix']}{k + 1:02}" for each in scenario["nodes"] for k in range(each["count"]))
    for command in scenario.get("scontrol") or []:
        words = dict(word.split("=", 1) for word in command.split() if "=" in word)
        begin = zero + int(words["starttime"].removeprefix("{t:").removesuffix("}"))
        times = (datetime.fromtimestamp(second, UTC) for second in (begin, begin + 60 * int(words["duration"])))
        start, end = (f"{time:%Y-%m-%dT%H:%M:%S}" for time in times)
        lines = [
            f"ReservationName={words['reservationname']} StartTime={start} EndTime={end}",
            f"   Nodes={nodes} Users={words['users']} Flags={words['flags'].upper()} State=INACTIVE",
        ]
    return "\n".join(lines) + "\n"


def read_bundled(name: str) -> RecordedLog:
    """A bundled example; its cluster is imported into the home. Raises ValueError for another name."""
    if name not in SITES:
        raise ValueError(f"no bundled source {name!r}: expected one of {', '.join(SITES)}")
    source = load_catalogue().source(name)
    folder = home() / "configurations" / name
    folder.mkdir(parents=True)
    import_cluster(write_site_files(name, folder), name)
    path = generated_log(source)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    texts = [gzip.decompress(each.read_bytes()) if each.suffix == ".gz" else each.read_bytes() for each in files]
    lines = [line for text in texts for line in text.decode().splitlines()]
    return RecordedLog(name, source.format, lines, source.time_zone or "UTC", {})


def _snapshots(text: str, zero: int) -> Iterator[tuple[int, dict[str, Listed]]]:
    """(second, jobs by their ids) of each snapshot. Columns of squeue: id, name, state, priority, reason, submission, end, start."""
    second, jobs = 0, dict[str, Listed]()
    for line in text.splitlines():
        words = line.split("|")
        if line.startswith("### ") and line[4:].replace(".", "", 1).isdigit():
            if jobs:
                yield second, jobs
            second, jobs = zero + int(float(line[4:])), {}
        elif len(words) == 13 and words[2] in ("PENDING", "RUNNING"):
            jobs[words[0]] = Listed(words[2], int(words[3]), words[4], int(words[7]) if words[7].isdigit() else None)
    if jobs:
        yield second, jobs


class Recording:
    """A log in the home's warehouse. jobs: all of it, in order of submission. history: of them. zero_s: the Unix second of its clock's
    second 0. source: the name of what is cut at a moment. whole: that of all of it."""

    def __init__(self, log: RecordedLog) -> None:
        self.log, self.source = log, f"{log.name}_then"
        self._place, whole_place = (home() / f"{log.name}.{part}.log" for part in ("then", "whole"))
        self.whole = whole = f"{log.name}_whole"
        with local_catalogue_path().open("a", encoding="utf-8") as file:
            for name, path in ((self.source, self._place), (whole, whole_place)):
                file.write(_CATALOGUE.format(name=name, format=log.format, path=path, cluster=log.name, zone=log.zone))
        self._known_s = known_from(log)
        whole_place.write_text("\n".join(with_ends(log)) + "\n", encoding="utf-8")
        warehouse = open_warehouse()
        update_raw_log(warehouse, load_catalogue().source(whole))
        write_jobs(warehouse, whole)
        with warehouse.read() as connection:
            self.jobs = connection.sql(_JOBS, params={"source": whole}).pl()
            nodes = connection.execute(
                "SELECT job_index, list(DISTINCT node_name ORDER BY node_name) FROM core.job_nodes WHERE source = ? GROUP BY 1",
                [whole],
            ).fetchall()
        self._nodes = {index: tuple(names) for index, names in nodes}
        trace = load_trace(warehouse, whole, cancelled=True)
        self.zero_s = int(trace.clock_zero.replace(tzinfo=UTC).timestamp())
        rows = trace.rows.with_columns(pl.lit(1.0).alias(name) for name in QUANTILE_COLUMNS)
        self.history: History = history_of(rows, trace.cluster_procs)

    def cut(self, moment: int) -> None:
        """Leaves of the source what its site knew at a moment. Raises LogError where that is no job."""
        known = [line for line, second in zip(self.log.lines, self._known_s, strict=True) if second <= moment]
        self._place.write_text("\n".join(known) + "\n", encoding="utf-8")
        update_raw_log(open_warehouse(), load_catalogue().source(self.source), replace=True)
        write_jobs(open_warehouse(), self.source)

    def moments(self, count: int) -> list[int]:
        """Unix seconds at which somebody waits, evenly over the snapshots or else the time of the log, without its first tenth."""
        if self.log.listed:
            every = sorted(self.log.listed)
        else:
            first, last = int(self.jobs["submit_s"].to_numpy().min()), int(np.nanmax(self.jobs["start_s"].to_numpy()))
            every = sorted({*np.linspace(first, last, LOG_MOMENTS).astype(int).tolist()})
        ended = int(np.nanmin(self.jobs["end_s"].to_numpy()))
        every = [moment for moment in every[len(every) // 10 :] if moment >= ended]
        waited = [moment for moment in every if self.snapshot(moment).count(WAITING)]
        chosen = np.linspace(0, len(waited) - 1, min(count, len(waited))).astype(int)
        return sorted({waited[k] for k in chosen})

    def snapshot(self, moment: int) -> QueueSnapshot:
        """The queue at a moment, as its scheduler would have shown it. Where a snapshot was recorded, that says who waits and who runs."""
        listed = self.log.listed.get(moment)
        present = self.jobs.filter(pl.col("submit_s") <= moment, pl.col("end_s").is_null() | (pl.col("end_s") > moment))
        jobs = []
        for row in present.iter_rows(named=True):
            if listed is None:
                jobs.append(self._job(row, moment, None))
            elif row["job_id"] in listed:
                jobs.append(self._job(row, moment, listed[row["job_id"]]))
        return QueueSnapshot(f"{self.log.name} at {moment}", moment, tuple(jobs), 0, ())

    def _job(self, row: dict[str, Any], moment: int, listed: Listed | None) -> QueueJob:
        start_s = row["start_s"] if listed is None else listed.start_s
        runs = start_s is not None and start_s <= moment if listed is None else listed.state == "RUNNING"
        state, because, limit = (RUNNING, "", "") if runs else (WAITING, "", "")
        if not runs and listed is not None:
            state, because, limit = _kept(listed.reason)
        elif not runs and row["eligible_s"] is not None and row["eligible_s"] > moment:
            state, because = HELD, "BeginTime"
        asked = QueueRequest(
            nodes=row["nodes"] if runs else row["requested_nodes"] or row["nodes"],
            gpus=row["gpus"],
            gpu_types=row["requested_gpu_types"],
            memory_kb=row["requested_memory_kb"],
            qos=row["qos"],
            reservation=row["reservation"],
            features=row["features"],
            is_exclusive=row["is_exclusive"] or None,
            eligible_s=row["eligible_s"],
            priority=None if listed is None else listed.priority,
            reason=None if runs or listed is None else listed.reason,
            node_names=self._nodes.get(row["job_index"], ()) if runs else (),
        )
        procs = row["procs"] if runs else row["requested_procs"] or row["procs"]
        requested_s = -1 if row["requested_walltime_s"] is None else row["requested_walltime_s"]
        start = min(start_s or moment, moment) if runs else None
        return QueueJob(
            row["job_id"], state, because, 1, procs, requested_s, row["submit_s"], start, row["user_name"], row["group_name"],
            row["account"], row["queue"], row["executable"], asked, limit,
        )  # fmt: skip

    def planned(self, moment: int) -> dict[str, float]:
        """Slurm's own plan at a moment: seconds from then to the start, of the jobs that it had planned."""
        jobs = self.log.listed.get(moment, {})
        return {
            job_id: float(max(job.start_s - moment, 0))
            for job_id, job in jobs.items()
            if job.state == "PENDING" and job.start_s is not None
        }

    def true_starts(self, moment: int) -> dict[str, float]:
        """Seconds from a moment to the start, of the jobs in the queue at it that start within the log; 0 for one that has just started."""
        present = self.jobs.filter(pl.col("submit_s") <= moment, pl.col("end_s").is_null() | (pl.col("end_s") > moment))
        started = present.drop_nulls("start_s")
        return {row["job_id"]: float(max(row["start_s"] - moment, 0)) for row in started.iter_rows(named=True)}


@cache
def _kept(reason: str) -> tuple[str, str, str]:
    """(state, why it is held, the limit that keeps it) of a pending job, as the reader of `squeue --json` has them."""
    word = "Resources" if reason.startswith(_NODES_AWAY) else reason
    job = {"job_id": 1, "job_state": ["PENDING"], "state_reason": word, "cpus": 1, "submit_time": 1}
    read = read_slurm_queue({"jobs": [job]}, "a snapshot").jobs[0]
    return read.state, read.because, read.limit


def known_from(log: RecordedLog) -> list[int]:
    """When each line of a log was known, Unix seconds: a line of sacct from the end of its job on, one of PBS since it was written. 0 for
    a head."""
    zone, far = ZoneInfo(log.zone), 1 << 60
    if log.format == "pbs":
        stamps = [line.partition(";")[0] for line in log.lines]
        return [int(datetime.strptime(each, "%m/%d/%Y %H:%M:%S").replace(tzinfo=zone).timestamp()) for each in stamps]
    place = log.lines[0].split("|").index("End")
    ends = [_second(line.split("|")[place], zone) for line in log.lines[1:]]
    return [0, *(far if end is None else end for end in ends)]


def with_ends(log: RecordedLog) -> list[str]:
    """The lines of a log, in which jobs of Slurm that wait to the end of the recording leave the queue after it: the tables of jobs have
    only what has ended."""
    if log.format == "pbs":
        return log.lines
    head, *lines = log.lines
    end, state = (head.split("|").index(name) for name in ("End", "State"))
    ends = [second for second in known_from(log)[1:] if second < 1 << 60]
    after = datetime.fromtimestamp(max(ends, default=0) + 1, ZoneInfo(log.zone)).strftime("%Y-%m-%dT%H:%M:%S")
    changed = []
    for line in lines:
        words = line.split("|")
        if words[state] == "PENDING":
            words[end], words[state] = after, "CANCELLED"
        changed.append("|".join(words))
    return [head, *changed]


def _second(text: str, zone: ZoneInfo) -> int | None:
    """A time of sacct in Unix seconds, None for Unknown."""
    if text.isdigit():
        return int(text)
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp())
    except ValueError:
        return None
