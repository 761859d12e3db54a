"""Partitions are replayed alone, and put together again."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.engine.replay import NeverStarts, OrderReplayer, replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.partitions import PartitionReplayer, shares_of


def random_jobs(seed: int, count: int, widest: int) -> Jobs:
    rng = np.random.default_rng(seed)
    runtime = rng.integers(1, 200, count)
    submit = np.sort(rng.integers(0, 60 * count, count))
    procs = rng.integers(1, widest + 1, count)
    return jobs_from_log(submit, runtime, procs, runtime * rng.integers(1, 4, count), user=rng.integers(0, 3, count))


def test_the_rest_is_the_last_share() -> None:
    assert shares_of({"gpu": 4, "debug": 2}, 16) == [4, 2, 10]
    assert shares_of({}, 16) == [16]
    with pytest.raises(ValueError, match="the queues own 20 processors, the cluster has 16: correct their sizes"):
        shares_of({"gpu": 20}, 16)


@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
@pytest.mark.parametrize("policy", ["FCFS", "SAF", "fairshare"])
def test_each_partition_is_a_cluster_of_its_own(policy: str, backfill: str) -> None:
    jobs, shares = random_jobs(4, 300, 5), [6, 5, 9]
    partition = np.random.default_rng(5).integers(0, 3, len(jobs))
    replayer = PartitionReplayer(OrderReplayer(policy, backfill), partition, shares)
    whole = replayer.replay(jobs, Cluster(sum(shares))).schedule
    for number, procs in enumerate(shares):
        of = partition == number
        alone = jobs_from_log(jobs.submit[of], jobs.runtime[of], jobs.procs[of], jobs.limit[of], user=jobs.user[of])
        expected = replay(alone, procs, policy, backfill)
        assert (whole.start[of] == expected.start).all() and (whole.backfilled[of] == expected.backfilled).all()
    assert whole.backfilled.any() == (backfill != "none")


def test_one_partition_is_the_cluster() -> None:
    jobs = random_jobs(6, 200, 8)
    replayer = PartitionReplayer(OrderReplayer("SJF"), np.zeros(len(jobs), dtype=np.int64), [8])
    alone = replayer.replay(jobs, Cluster(8)).schedule
    assert (alone.start == replay(jobs, 8, "SJF", "easy").start).all()


def test_a_job_that_is_wider_than_its_partition_never_starts() -> None:
    jobs = random_jobs(7, 50, 8)
    with pytest.raises(NeverStarts, match=r"\(8 processors\) can never start") as fault:
        PartitionReplayer(OrderReplayer(), np.arange(50) % 2, [8, 3]).replay(jobs, Cluster(11))
    assert fault.value.index % 2 == 1 and jobs.procs[fault.value.index] == 8
