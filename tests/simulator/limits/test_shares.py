"""Who has used least of the shares comes first."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.limits.replaying import LimitedReplayer
from simulator.limits.shares import ShareTree, change_use, sharing_of, stands_before, take_standing

n = np.array


def test_standing_is_usage_by_shares_from_the_top_floor_down() -> None:
    tree = ShareTree(n([[0, 1], [0, 2], [3, -1]]), n([2.0, 1.0, 4.0, 1.0]))
    sharing = sharing_of(tree, n([0, 1, 2]), 3, 0, 10.0)
    change_use(sharing, 0, 0, 8)
    change_use(sharing, 1, 0, 8)
    change_use(sharing, 2, 0, 4)
    for group in range(3):
        take_standing(sharing, group, 10)
    used = 10 / np.log(2) / 2  # of one processor in a half-life
    assert sharing.standing == pytest.approx(used * n([[8, 8], [8, 2], [4, 0]]))
    assert stands_before(sharing, 2, 9, 0, 1) and stands_before(sharing, 1, 9, 0, 1)
    assert stands_before(sharing, 0, 0, 0, 1) and not stands_before(sharing, 0, 1, 0, 1)


def test_the_account_with_more_shares_gets_more() -> None:
    """Jobs of one processor and 10 s on one processor: the account with 3 shares starts three of four."""
    count = 40
    submit = np.zeros(count, dtype=np.int64)
    length = np.full(count, 10)
    owner = np.arange(count) % 2
    jobs = Jobs(submit, length, np.ones_like(length), length, length)
    replayer = LimitedReplayer(OrderReplayer("fairshare"), shares=ShareTree(owner[:, None], n([1.0, 3.0])))
    start = replayer.replay(jobs, Cluster(1)).schedule.start
    first = np.argsort(start)[:20]
    assert owner[first].sum() == 15


@pytest.mark.parametrize(
    ("path", "shares", "message"),
    [([[1]], [1.0], "places below 1"), ([[0]], [0.0], "must be above 0"), ([0], [1.0], "a row for each job")],
)
def test_trees_that_make_no_sense_are_refused(path: list, shares: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ShareTree(n(path), n(shares))
