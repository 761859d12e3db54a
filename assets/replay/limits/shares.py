"""Shares of a described cluster's accounts and users, as the simulator takes them. Rules: docs/reference/limits.md, "Shares"."""

from __future__ import annotations

import numpy as np
import polars as pl

from simulator.limits.rules import NO_KEY
from simulator.limits.shares import ShareTree
from traces.cluster.accounts import ROOT_ACCOUNT
from traces.cluster.description import ClusterDescription

LEAST_SHARES = 1e-9
"""Of those that have 0, so that they come after everybody once they have used something."""


def follows_shares(policy: str) -> bool:
    """Whether a policy, as people write it, follows shares."""
    return policy.partition(":")[0].strip().lower() == "fairshare"


def share_tree(cluster: ClusterDescription, rows: pl.DataFrame) -> ShareTree:
    """The tree above each job. rows: of a trace, with account and user_name. Without accounts it is a floor of users with equal shares."""
    named = ("account", "user_name")
    owners = rows.select(named).unique(maintain_order=True).with_row_index("place")
    places: dict[tuple[str, ...], int] = {}
    shares: list[float] = []
    paths = []
    for account, user in owners.select(named).iter_rows():
        path = []
        for owner, count in _owners_of(cluster, account, user):
            if owner not in places:
                places[owner] = len(shares)
                shares.append(1.0 if count < 0 else max(float(count), LEAST_SHARES))
            path.append(places[owner])
        paths.append(path)
    floors = max(map(len, paths), default=0)
    table = np.array([path + [NO_KEY] * (floors - len(path)) for path in paths], dtype=np.int64).reshape(-1, floors)
    of_rows = rows.select(named).join(owners, on=named, how="left", nulls_equal=True, maintain_order="left")
    return ShareTree(table[of_rows["place"].to_numpy()], np.array(shares))


def _owners_of(cluster: ClusterDescription, account: str | None, user: str | None) -> list[tuple[tuple[str, ...], int]]:
    """The accounts above a job and its user, the top one first, each with its shares. -1 shares stand for those of its parent."""
    if not cluster.accounts and not cluster.members:
        account = None
    elif account is None:
        account = next((one.account for one in cluster.members if one.user == user and one.is_default), None)
    accounts = {one.name: one for one in cluster.accounts}
    owners: list[tuple[tuple[str, ...], int]] = []
    name = account
    while name is not None and name != ROOT_ACCOUNT:
        of_account = accounts.get(name)
        owners.insert(0, ((name,), 1 if of_account is None else of_account.shares))
        name = None if of_account is None else of_account.parent
    if user is not None:
        mine = [one.shares for one in cluster.members if (one.account, one.user) == (account, user)]
        owners.append(((account or "", user), mine[0] if mine else 1))
    return owners
