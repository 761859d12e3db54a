"""Synthetic PBS accounting logs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl


def write_pbs(jobs: pl.DataFrame, directory: Path, time_zone: str, server: str) -> list[Path]:
    """Writes one PBS Pro accounting file a day (named YYYYMMDD by the local day of the record), S and E records.

    jobs: job_number, submit_s, start_s, runtime_s, procs, requested_walltime_s, user, group, queue, executable;
    times in Unix seconds. `directory` must exist. Returns the files in order.
    """
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
    return _write_days(entries, directory, time_zone)


def _write_days(entries: list[tuple[int, int, str]], directory: Path, time_zone: str) -> list[Path]:
    """Writes records into files by the local day. entries: second, what decides between those of one second, and text."""
    zone = ZoneInfo(time_zone)
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


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _chunks(procs: int, per_node: int = 16) -> list[int]:
    return [min(per_node, procs - first) for first in range(0, procs, per_node)]


def write_pbs_site(jobs: pl.DataFrame, directory: Path, time_zone: str, server: str) -> list[Path]:
    """Writes one PBS Pro accounting file a day with the records Q, S, E, R, D, z and r, as a server of our bundled cluster would.

    jobs: submit_s, start_s (null where it never started), end_s, runtime_s, requested_s. user, group, program, queue, nodes, exclusive.
    cores and memory_gb of each node. array and task (-1 for none), status. attempt_of: row of the attempt before, -1 for none.
    suspend_s (null for never), suspended_s, node_names. Times in Unix seconds. `directory` must exist. Returns the files in order."""
    rows = jobs.to_dicts()
    first_of_array: dict[int, int] = {}
    ids: list[str] = []
    entries: list[tuple[int, int, str]] = []
    for place, row in enumerate(rows):
        name = f"{1000 + place}"
        if row["array"] >= 0:
            name = f"{first_of_array.setdefault(row['array'], 1000 + place)}[{row['task']}]"
        job_id = f"{name}.{server}" if row["attempt_of"] < 0 else ids[row["attempt_of"]]
        ids.append(job_id)
        entries += [(second, len(entries) + k, text) for k, (second, text) in enumerate(_records(row, job_id))]
    return _write_days(entries, directory, time_zone)


def _records(job: dict[str, Any], job_id: str) -> list[tuple[int, str]]:
    """Second and text of each record of one job, or of one attempt."""
    queued = [(job["submit_s"], f"Q;{job_id};{_queue_message(job)}")] if job["attempt_of"] < 0 else []
    if job["start_s"] is None:
        return [*queued, (job["end_s"], f"D;{job_id};requestor={job['user']}@{job_id.partition('.')[2]}")]
    message = _message(job)
    records = [*queued, (job["start_s"], f"S;{job_id};{message}")]
    if job["suspend_s"] is not None:
        whole = min(job["suspend_s"] + job["suspended_s"], job["end_s"])
        records += [(job["suspend_s"], f"z;{job_id};"), (whole, f"r;{job_id};")]
    procs, was_lost = job["nodes"] * job["cores"], job["status"] == "requeued"
    code = {"completed": 0, "failed": 1, "timeout": -29, "cancelled": 271, "requeued": -24}[job["status"]]
    used = (
        f" session={1000 + job['start_s'] % 30_000} end={job['end_s']} Exit_status={code} "
        f"resources_used.cput={_clock(job['runtime_s'] * procs)} resources_used.ncpus={procs} "
        f"resources_used.walltime={_clock(job['runtime_s'])} run_count={2 if job['attempt_of'] >= 0 else 1}"
    )
    return [*records, (job["end_s"], f"{'R' if was_lost else 'E'};{job_id};{message}{used}")]


def _queue_message(job: dict[str, Any]) -> str:
    return (
        f'user={job["user"]} group={job["group"]} account="{job["group"]}" project=_pbs_project_default '
        f"jobname={job['program']} queue={job['queue']} ctime={job['submit_s']} qtime={job['submit_s']} etime={job['submit_s']} "
        + _asked(job)
    )


def _asked(job: dict[str, Any]) -> str:
    procs, memory = job["nodes"] * job["cores"], job["nodes"] * job["memory_gb"]
    place = "scatter:excl" if job["exclusive"] else "free"
    return (
        f"Resource_List.mem={memory}gb Resource_List.ncpus={procs} Resource_List.nodect={job['nodes']} Resource_List.place={place} "
        f"Resource_List.select={job['nodes']}:ncpus={job['cores']}:mem={job['memory_gb']}gb "
        f"Resource_List.walltime={_clock(job['requested_s'])}"
    )


def _message(job: dict[str, Any]) -> str:
    head, _, asked = _queue_message(job).partition("Resource_List.")
    hosts = "+".join(f"{node}/0*{job['cores']}" for node in job["node_names"])
    held = "+".join(
        f"({node}:ncpus={job['cores']}:mem={job['memory_gb'] * 1024 * 1024}kb)" for node in job["node_names"]
    )
    return f"{head}start={job['start_s']} exec_host={hosts} exec_vnode={held} Resource_List.{asked}"
