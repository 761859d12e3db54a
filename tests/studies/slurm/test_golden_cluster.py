"""The cluster of a recorded run."""

from __future__ import annotations

from studies.slurm.golden_cluster import golden_cluster
from tests.shared import shared_file


def test_a_recorded_cluster_is_read() -> None:
    cluster = golden_cluster(shared_file("golden", "slurm", "S11", "run1"))
    assert [partition.tier for partition in cluster.partitions] == [1, 1, 2]
    assert cluster.partitions[0].max_time_s == 7200 and len(cluster.partitions[0].nodes) == 12
    assert {account.name: account.parent for account in cluster.accounts}["a1"] == "a"
    assert sorted(limit.bound for limit in cluster.limits) == [3, 96, 256] and len(cluster.reservations) == 1
