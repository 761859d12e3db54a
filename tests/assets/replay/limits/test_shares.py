"""Shares of a description as a tree above the jobs."""

from __future__ import annotations

import polars as pl

from assets.replay.limits.shares import follows_shares, share_tree
from traces.cluster.accounts import Account, AccountUser
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node

NODES = (Node("all", 8),)
ROWS = pl.DataFrame(
    {
        "account": ["optics", "physics", None, "chemistry", "optics", None],
        "user_name": ["ann", "bob", "ann", "cyd", None, None],
    }
)


def test_accounts_stand_above_their_users() -> None:
    cluster = ClusterDescription(
        "mine",
        NODES,
        accounts=(Account("physics", shares=3), Account("optics", "physics", 0)),
        members=(AccountUser("ann", "optics", 5, is_default=True), AccountUser("bob", "physics", -1)),
    )
    tree = share_tree(cluster, ROWS)
    physics, optics, ann, bob, chemistry, cyd = range(6)
    assert tree.path.tolist() == [
        [physics, optics, ann],
        [physics, bob, -1],
        [physics, optics, ann],
        [chemistry, cyd, -1],
        [physics, optics, -1],
        [-1, -1, -1],
    ]
    assert tree.shares.tolist() == [3, 1e-9, 5, 1, 1, 1]


def test_without_accounts_users_have_equal_shares() -> None:
    tree = share_tree(ClusterDescription("mine", NODES), ROWS)
    assert tree.path.tolist() == [[0], [1], [0], [2], [-1], [-1]] and tree.shares.tolist() == [1, 1, 1]


def test_which_policy_follows_shares() -> None:
    assert follows_shares("FairShare:half_life_days=3") and not follows_shares("FCFS")
