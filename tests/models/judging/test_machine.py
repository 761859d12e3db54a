"""Machines of a log, and replays on them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from models.judging.machine import Machine, partitions_of
from models.judging.size_over_time import SizeOverTime
from simulator.jobs.jobs import jobs_from_log

JOBS = jobs_from_log(np.array([0, 0, 0]), np.array([10, 10, 10]), np.array([2, 2, 2]), np.array([10, 10, 10]))


def test_jobs_share_all_processors() -> None:
    assert Machine(4).replay(JOBS, "FCFS", "none").start.tolist() == [0, 0, 10]
    assert Machine(4).cluster.procs == 4 and not len(Machine(4).cluster.outages)


def test_a_size_over_time() -> None:
    grew = Machine(6, SizeOverTime((2, 6), (5,)))
    assert grew.replay(JOBS, "FCFS", "none").start.tolist() == [0, 5, 5]
    assert len(grew.cluster.outages) == 1


def test_queues_that_own_processors() -> None:
    owned = Machine(4, None, (("gpu", 2),))
    assert owned.replay(JOBS, "FCFS", "none", pl.Series(["gpu", "gpu", None])).start.tolist() == [0, 10, 0]
    with pytest.raises(ValueError, match="the queues own 5 processors, the cluster has 4"):
        Machine(4, None, (("gpu", 5),)).replay(JOBS, "FCFS", "none", pl.Series(["gpu"] * 3))


def test_the_partition_of_a_queue() -> None:
    queues = pl.Series(["gpu", None, "long", "debug"])
    assert partitions_of(queues, {"gpu": 4, "debug": 2}).tolist() == [0, 2, 2, 1]
    assert partitions_of(queues, {}).tolist() == [0, 0, 0, 0]
    assert partitions_of(pl.Series([None, None], dtype=pl.Utf8), {"gpu": 4}).tolist() == [1, 1]
