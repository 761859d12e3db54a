"""Tests of assets/predictions: queue_now.

Starts of a live queue by trees, where log and queue have priorities.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assets.common.storage import open_warehouse
from assets.predictions.queue_now import (
    NEW_JOB,
    NewJob,
    five_quantiles,
    logged_tree_starts,
    new_job_tree_starts,
    tree_starts,
)
from assets.usage.cluster_check import described_cluster
from tests.assets.replaying.own.homes import CLUSTER, COLUMNS, SUBMITTED, own_home
from traces.queues import parse_queue

MULTIFACTOR = CLUSTER.replace("priority/basic", "priority/multifactor").replace(
    'selecttype = "select/cons_tres"',
    'selecttype = "select/cons_tres"\npriorityweightage = 1000\nprioritymaxage = 86400',
)


def log_with_priorities(jobs: int) -> tuple[str, int]:
    """A log of one node that runs a job after another, those of higher priority first, and when the last one ends."""
    rng = np.random.default_rng(4)
    lines = ["|".join((*COLUMNS, "Priority"))]
    free, waiting = 0, []
    submit = np.cumsum(rng.exponential(600, jobs)).astype(int)
    priority = rng.integers(1, 9, jobs) * 1000
    nextjob = 0
    while nextjob < jobs or waiting:
        if not waiting:
            free = max(free, int(submit[nextjob]))
        while nextjob < jobs and submit[nextjob] <= free:
            waiting.append(nextjob)
            nextjob += 1
        job = max(waiting, key=lambda each: (priority[each], -each))
        waiting.remove(job)
        times = "|".join(str(SUBMITTED + int(second)) for second in (submit[job], free, free + 570))
        held = "cpu=8,mem=100M,node=2"
        lines.append(
            f"{job + 1}|ann|physics|main|{times}|00:10:00|COMPLETED|2|8|8|100M|{held}|{held}|n[1-2]|{priority[job]}"
        )
        free += 570
    return "\n".join(lines) + "\n", SUBMITTED + free


def live(now: int, priorities: dict[int, int | None]) -> Any:
    jobs = [
        {
            "job_id": job, "job_state": ["PENDING"], "state_reason": "Priority", "user_name": "ann", "account": "physics",
            "partition": "main", "cpus": 8, "tres_req_str": "cpu=8,mem=100M,node=2", "time_limit": 10, "submit_time": now - 60,
            "start_time": 0, "priority": priority,
        }
        for job, priority in priorities.items()
    ]  # fmt: skip
    return parse_queue(json.dumps({"jobs": jobs, "last_update": now}), "queue", "UTC")


def test_a_job_of_high_priority_starts_before_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, now = log_with_priorities(900)
    monkeypatch.setattr("tests.assets.replaying.own.homes.log_of", lambda jobs: text)
    own_home(tmp_path / "home", [], monkeypatch, MULTIFACTOR)
    snapshot = live(now, {2000 + k: 8000 - 700 * k for k in range(10)})
    answer = tree_starts(open_warehouse(), "mine", described_cluster(open_warehouse(), "mine"), snapshot, now, 1)
    assert answer is not None and answer.queues >= 30
    assert answer.fuller >= 1, "ten jobs wait as often"
    fullest = tree_starts(
        open_warehouse(),
        "mine",
        described_cluster(open_warehouse(), "mine"),
        live(now, {2000 + k: 8000 for k in range(400)}),
        now,
        1,
    )
    assert fullest is not None and fullest.fuller == 0
    middle = [answer.starts[str(2000 + k)][1] for k in range(10)]
    assert middle[0] < 0.5 * middle[9] and np.corrcoef(middle, range(10))[0, 1] > 0.7
    for ends in answer.starts.values():
        assert 0 <= ends[0] <= ends[1] <= ends[2]
    with open_warehouse().read() as connection:
        jobs = connection.execute(
            "SELECT job_id, epoch(submit_time - clock_zero)::BIGINT, wait_s FROM core.jobs JOIN core.sources USING (source) "
            "ORDER BY job_index"
        ).fetchall()
    ids, submit, wait = (np.array(column) for column in zip(*jobs, strict=True))
    waiting = [(submit <= moment) & (submit + wait > moment) for moment in submit[600:].tolist()]
    longest = int(np.argmax([queue.sum() for queue in waiting]))
    moment, queue = int(submit[600 + longest]), waiting[longest]
    logged = logged_tree_starts(open_warehouse(), "mine", described_cluster(open_warehouse(), "mine"), moment, 1)
    assert logged is not None and set(logged.starts) == set(ids[queue].tolist()) and queue.sum() > 5
    middle = [logged.starts[name][1] for name in ids[queue].tolist()]
    assert np.corrcoef(np.log1p(middle), np.log1p(submit[queue] + wait[queue] - moment))[0, 1] > 0.6
    ends = next(iter(logged.starts.values()))
    quantiles = five_quantiles(ends)
    assert (np.diff(quantiles) >= 0).all() and quantiles[[0, 2, 4]] == pytest.approx(ends[[0, 3, 2]])
    new = NewJob(8, 600, 0, "main", "physics")
    asked = new_job_tree_starts(open_warehouse(), "mine", described_cluster(open_warehouse(), "mine"), moment, new, 1)
    assert asked is not None and set(asked.starts) == set(logged.starts) | {NEW_JOB}
    low, likeliest, high, _ = asked.starts[NEW_JOB]  # of the usual priority, amid the queue
    assert 0 <= low <= likeliest <= high and low < max(middle)
    assert new_job_tree_starts(open_warehouse(), "mine", None, moment, new, 1) is None
    without = live(now, dict.fromkeys(range(2000, 2005)))
    assert tree_starts(open_warehouse(), "mine", described_cluster(open_warehouse(), "mine"), without, now, 1) is None


def test_without_a_cluster_of_slurm_or_priorities_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_home(tmp_path / "home", [(0, 0, 100, 100)] * 5, monkeypatch)
    assert (
        tree_starts(
            open_warehouse(),
            "mine",
            described_cluster(open_warehouse(), "mine"),
            live(SUBMITTED + 500, {9: 5}),
            SUBMITTED + 500,
            1,
        )
        is None
    )
