"""Synthetic logs of `sacct`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from traces.cluster.hostlists import compress_names

_COLUMNS = (
    "JobID", "JobIDRaw", "Cluster", "Partition", "QOS", "Account", "Group", "User", "Submit", "Eligible", "Start", "End", "Elapsed",
    "ExitCode", "State", "NNodes", "NCPUS", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES", "Timelimit", "NodeList", "JobName",
)  # fmt: skip
_STATES = {
    "completed": ("COMPLETED", "0:0"),
    "failed": ("FAILED", "1:0"),
    "timeout": ("TIMEOUT", "0:0"),
    "cancelled": ("CANCELLED by 1000", "0:0"),
    "requeued": ("NODE_FAIL", "1:0"),
}
_REQUEUE_S = 120
"""A requeued job is eligible so long after its attempt."""


def write_sacct(jobs: pl.DataFrame, directory: Path, time_zone: str, cluster: str) -> list[Path]:
    """Writes what `sacct --duplicates -P` prints of these jobs into CLUSTER.sacct.psv. Times in Unix seconds.

    jobs: submit_s, start_s (null where it never started), end_s, requested_s. user, group, program, queue, quality, nodes. cores, gpus and
    memory_gb of each node. array and task (-1 for none), status. attempt_of: row of the attempt before, -1 for none. node_names.
    `directory` must exist."""
    zone = ZoneInfo(time_zone)
    rows = jobs.to_dicts()
    first_of_array: dict[int, int] = {}
    ids: list[tuple[str, int]] = []
    lines = ["|".join(_COLUMNS)]
    for place, row in enumerate(rows):
        number = 1000 + place
        name = str(number)
        if row["array"] >= 0:
            name = f"{first_of_array.setdefault(row['array'], number)}_{row['task']}"
        if row["attempt_of"] >= 0:
            name, number = ids[row["attempt_of"]]
            row["submit_s"] = rows[row["attempt_of"]]["end_s"]
        ids.append((name, number))
        lines.append("|".join(_words(row, name, number, cluster, zone)))
    path = directory / f"{cluster}.sacct.psv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [path]


def _words(row: dict[str, Any], name: str, number: int, cluster: str, zone: ZoneInfo) -> list[str]:
    def clock(second: int | None) -> str:
        return "None" if second is None else datetime.fromtimestamp(second, zone).strftime("%Y-%m-%dT%H:%M:%S")

    started = row["start_s"] is not None
    state, code = _STATES[row["status"]]
    cpus, gpus = row["nodes"] * row["cores"], row["nodes"] * row["gpus"]
    memory = f"{row['nodes'] * row['memory_gb'] * 1000}M"
    resources = f"billing={cpus},cpu={cpus},mem={memory},node={row['nodes']}"
    given = resources + (f",gres/gpu={gpus},gres/gpu:a100={gpus}" if gpus else "")
    eligible = row["submit_s"] + (_REQUEUE_S if row["attempt_of"] >= 0 else 0)
    eligible = min(eligible, row["start_s"]) if started else eligible
    return [
        name, str(number), cluster, row["queue"], row["quality"] or "normal", row["group"], row["group"], row["user"],
        clock(row["submit_s"]), clock(eligible), clock(row["start_s"]), clock(row["end_s"]),
        _span(row["end_s"] - row["start_s"]) if started else "00:00:00", code, state, str(row["nodes"]),
        str(cpus), str(cpus), memory, given, given if started else "", _span(row["requested_s"]),
        compress_names(row["node_names"]) if started else "None assigned", row["program"],
    ]  # fmt: skip


def _span(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    return (f"{days}-" if days else "") + f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
