"""The order of the queue."""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import Request
from simulator.slurm.queue import enqueue, sort_queue
from tests.simulator.slurm_site import engine_of


def test_jobs_join_and_are_sorted_by_priority_then_time_then_number() -> None:
    random = np.random.default_rng(5)
    engine = engine_of([Request(int(submit_s), limit_s=60) for submit_s in random.integers(0, 9, 200)])
    priority = random.integers(0, 12, 200)
    joined, room = np.zeros((200, 3), dtype=np.int64), np.zeros((200, 3), dtype=np.int64)
    for job in range(200):
        enqueue(engine, joined, job, job, 0, priority[job])
    expected = sorted(range(200), key=lambda job: (-priority[job], engine.jobs.submit[job], job))
    assert joined[:, 0].tolist() == expected and joined[:, 2].tolist() == priority[expected].tolist()
    priority = np.where(random.random(200) < 0.3, priority + 5, priority)
    joined[:, 2] = priority[joined[:, 0]]
    sort_queue(engine, joined, 200, room)
    assert joined[:, 0].tolist() == sorted(range(200), key=lambda job: (-priority[job], engine.jobs.submit[job], job))
