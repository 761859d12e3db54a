"""Synthetic PBS accounting logs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl


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


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _chunks(procs: int, per_node: int = 16) -> list[int]:
    return [min(per_node, procs - first) for first in range(0, procs, per_node)]
