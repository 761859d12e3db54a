"""The machine of a replay: what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.cluster import Cluster, Outages, RunningJobs, joined_outages

n = np.array


def test_a_number_is_an_empty_cluster() -> None:
    cluster = Cluster.of(8)
    assert (cluster.procs, len(cluster.running), len(cluster.outages)) == (8, 0, 0)
    assert Cluster.of(cluster) is cluster


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([5], [5], [1], [0]), "must end after it starts"),
        (([5], [9], [0], [0]), "at least 1 processor"),
        (([5], [9], [1], [6]), "announced before or when it starts"),
        (([5, 6], [9], [1], [0]), "Outages.end must have one value per row"),
    ],
)
def test_undefined_outages_are_refused(columns: tuple[list[int], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Outages(*map(n, columns))


def test_nothing_takes_more_than_the_cluster_has() -> None:
    running = RunningJobs(n([0, 0]), n([9, 9]), n([3, 2]), n([9, 9]), n([9, 9]), n([0, 0]))
    with pytest.raises(ValueError, match="the running jobs hold 5 processors, the cluster has 4"):
        Cluster(4, running)
    with pytest.raises(ValueError, match="an outage takes more than the cluster's 4 processors: broken at index 0"):
        Cluster(4, outages=Outages(n([0]), n([9]), n([5]), n([0])))
    with pytest.raises(ValueError, match="needs at least 1 processor"):
        Cluster(0)


def test_outages_are_joined() -> None:
    one, other = (Outages(n([k]), n([9]), n([k]), n([0])) for k in (1, 2))
    assert joined_outages(one, other).procs.tolist() == [1, 2]
    assert len(joined_outages(one, Outages())) == 1
