"""How often the predicted starts of a queue hold: `python -m studies queue_snapshot SOURCE ...`.

Queues of the later half of each log are written as `squeue --json` prints them, read again, and predicted. The run times are those
that were predicted before each job was submitted, so that nothing of the future is used. The true starts are the logged ones. Sources
have to be in the warehouse with predicted waits or run times.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC
from typing import Any

import numpy as np

from assets.common.storage import open_warehouse
from assets.predictions.waits import load_wait_source
from assets.replaying.running.grade import grade_of
from models.waits.answers import correction_of, queue_quantiles
from models.waits.history import History, IntArray, State, WaitSource, state_at
from models.waits.replays import queue_start_times
from traces.common.queue import RUNNING, WAITING
from traces.queues import parse_queue

MOMENTS, SAMPLES = 40, 100


def squeue_of(log: WaitSource, moment: int) -> dict[str, Any]:
    """What `squeue --json` would have printed at a second of a log's clock."""
    state, zero = state_at(log.history, moment), int(log.clock.zero.replace(tzinfo=UTC).timestamp())
    place_of = {index: place for place, index in enumerate(log.rows["job_index"].to_list())}
    jobs = []
    for word, group in (("RUNNING", state.running), ("PENDING", state.waiting)):
        for k, number in enumerate(group.number.tolist()):
            row = log.rows.row(place_of[int(log.history.job_index[number])], named=True)
            limit, start = row["requested_walltime_s"], zero + int(group.since[k]) if word == "RUNNING" else 0
            jobs.append({
                "job_id": int(row["job_id"]), "job_state": [word], "user_name": row["user_name"], "partition": "batch",
                "cpus": _number(int(group.procs[k])), "submit_time": _number(zero + int(log.history.submit[number])),
                "start_time": _number(start), "state_reason": "None" if word == "RUNNING" else "Priority",
                "time_limit": _number(max(limit, 0) / 60) if limit > 0 else {"set": False, "infinite": True, "number": 0},
            })  # fmt: skip
    return {"jobs": jobs, "last_update": _number(zero + moment)}


def _number(value: float) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


def queue_moments(history: History, count: int) -> list[int]:
    """Submissions of the later half of a log at which somebody waits, evenly over the jobs."""
    numbers = np.linspace(len(history) // 2, len(history) - 1, 4 * count).astype(int)
    waited = [n for n in numbers if len(state_at(history, int(history.submit[n])).waiting)]
    chosen = np.linspace(0, len(waited) - 1, min(count, len(waited))).astype(int)
    return sorted({int(history.submit[waited[k]]) for k in chosen})


def state_read(log: WaitSource, moment: int) -> State:
    """The state at a moment as the reader of snapshots gives it, with the run times that were predicted then."""
    snapshot = parse_queue(json.dumps(squeue_of(log, moment)), "snapshot", "UTC")
    state = state_at(log.history, moment)
    counts = snapshot.count(RUNNING), snapshot.count(WAITING)
    if counts != (len(state.running), len(state.waiting)):
        raise AssertionError(f"moment {moment}: {counts} jobs were read")
    return state


def scored(log: WaitSource, moment: int, policy: str, backfill: str) -> list[tuple[bool, bool, float, float, float]]:
    """Of the waiting jobs of a moment that started: whether the interval of replays holds and the corrected one, widths of both and the
    error of the median, in seconds."""
    state = state_read(log, moment)
    starts = queue_start_times(state, SAMPLES, [1, moment], policy, backfill)
    correction = correction_of(log.history, moment, 1, policy, backfill)
    true: IntArray = log.history.start[state.waiting.number] - moment
    plain, corrected = queue_quantiles(starts, None), queue_quantiles(starts, correction)
    return [
        (
            bool(plain[k, 0] <= true[k] <= plain[k, 2]),
            bool(corrected[k, 0] <= true[k] <= corrected[k, 2]),
            float(plain[k, 2] - plain[k, 0]),
            float(corrected[k, 2] - corrected[k, 0]),
            float(abs(plain[k, 1] - true[k])),
        )
        for k in np.flatnonzero(true < 1 << 50)
    ]


def main() -> None:
    sources = sys.argv[1:] or ["birch"]
    print(
        "| source | grade | queues | jobs | held, replays alone | held, corrected | width, replays alone | width, corrected "
        "| median error |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    warehouse = open_warehouse()
    for source in sources:
        log, grade = load_wait_source(warehouse, source), grade_of(warehouse, source)
        policy, backfill = (grade and grade.policy) or "FCFS", (grade and grade.backfill) or "easy"
        queues = [rows for m in queue_moments(log.history, MOMENTS) if (rows := scored(log, m, policy, backfill))]
        values = np.array([np.mean(rows, axis=0) for rows in queues])  # each queue counts the same
        held, hours = values[:, :2].mean(axis=0), np.median(values[:, 2:], axis=0) / 3600
        print(
            f"| {source} | {(grade and grade.grade) or 'none'} | {len(queues)} | {sum(map(len, queues)):,} "
            f"| {held[0]:.0%} | {held[1]:.0%} | {hours[0]:.1f} h | {hours[1]:.1f} h | {hours[2]:.1f} h |",
            flush=True,
        )
