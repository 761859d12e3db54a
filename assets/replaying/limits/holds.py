"""What of a described cluster holds jobs back, as the simulator takes it. Rules: docs/reference/limits.md.

Shares of a described cluster's accounts and users, as the simulator takes them. Rules: docs/reference/limits.md, "Shares".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.jobs.cluster import FOREVER, Outages
from simulator.limits.rules import (
    BOUNDLESS,
    NO_KEY,
    OUTSTANDING,
    REPEATS,
    RUNNING_JOBS,
    RUNNING_PROCS,
    USED,
    JobLimit,
    StartGate,
    gate_changes,
    occurrences,
)
from simulator.limits.shares import ShareTree
from traces.cluster.accounts import ROOT_ACCOUNT, Limit
from traces.cluster.checking import accounts_below, counted_by
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate

IntArray = NDArray[np.int64]

COUNTED = {
    ("running", "jobs"): RUNNING_JOBS,
    ("running", "cpu"): RUNNING_PROCS,
    ("outstanding", "cpu"): OUTSTANDING,
    ("used", "cpu"): USED,
}
"""What is counted, and of what, of limits that an order honours."""
KEY_COLUMNS = {"all": None, "user": "user_name", "group": "group_name", "account": "account"}
"""Whose jobs are counted together, and their column in core.jobs."""


class _Kind(NamedTuple):
    owner: str
    owner_name: str
    counts: str
    each: str
    resource: str


def is_honoured(limit: Limit) -> bool:
    """Whether an order honours the limit."""
    is_counted = (limit.counts, limit.resource) in COUNTED and limit.each in KEY_COLUMNS
    return is_counted and not limit.is_soft and not limit.is_least


class HeldLimit(NamedTuple):
    """A limit on the jobs of a trace. counts, resource: as those of a `Limit`. key, bound, changes: as those of a `JobLimit`. limits: of
    each key those of the description that say its bound."""

    counts: str
    resource: str
    key: IntArray  # (jobs,)
    bound: IntArray  # (keys,)
    changes: IntArray  # (changes, 3)
    limits: tuple[list[Limit], ...]


def job_limits(cluster: ClusterDescription, rows: pl.DataFrame, zero_s: int = 0) -> list[JobLimit]:
    """The limits that an order honours. rows, zero_s: as `held_limits` takes them."""
    held = held_limits(filter(is_honoured, cluster.limits), cluster, rows, zero_s)
    return [JobLimit(COUNTED[each.counts, each.resource], each.bound, each.key, each.changes) for each in held]


def held_limits(
    limits: Iterable[Limit], cluster: ClusterDescription, rows: pl.DataFrame, zero_s: int = 0
) -> list[HeldLimit]:
    """Limits of a cluster, which count by all, user, group or account, on the jobs of a trace. rows: of the trace, with user_name,
    group_name, account, queue and qos. zero_s: UTC second of the log's second 0."""
    kinds: dict[_Kind, dict[str, list[Limit]]] = {}
    for limit in limits:
        kind = _Kind(limit.owner, limit.owner_name, limit.counts, limit.each, limit.resource)
        kinds.setdefault(kind, {}).setdefault(limit.who, []).append(limit)
    below = accounts_below(cluster)
    return [
        limit for kind, of_kind in kinds.items() for limit in _job_limit(kind, of_kind, cluster, below, rows, zero_s)
    ]


def _job_limit(
    kind: _Kind,
    limits: dict[str, list[Limit]],
    cluster: ClusterDescription,
    below: dict[str, list[str]],
    rows: pl.DataFrame,
    zero_s: int,
) -> Iterator[HeldLimit]:
    """limits: by name, that of "" for all others. Nothing where it holds for no job."""
    owner = Limit(kind.owner, kind.owner_name, kind.counts, "all", kind.resource, 0)
    is_owned = rows.with_columns(is_owned=counted_by(owner, cluster, below).fill_null(False))["is_owned"].to_numpy()
    column = KEY_COLUMNS[kind.each]
    if column is None:
        names, key = [""], np.zeros(rows.height, dtype=np.int64)
    else:
        names = rows[column].drop_nulls().unique().sort().to_list()
        key = (rows[column].rank("dense").cast(pl.Int64) - 1).fill_null(NO_KEY).to_numpy().copy()
    has_bound = np.array([name in limits or "" in limits for name in names] + [False])  # the last is nobody's
    key[~(is_owned & has_bound[key])] = NO_KEY
    if (key != NO_KEY).any():
        holding = [limits.get(name, limits.get("", [])) for name in names]
        bound = np.array([_bound_at(each, None) for each in holding], dtype=np.int64)
        changes = [
            (second - zero_s, place, _bound_at(each, second))
            for place, each in enumerate(holding)
            for second in _changes(each)
        ]
        yield HeldLimit(
            kind.counts, kind.resource, key, bound, np.array(changes, dtype=np.int64).reshape(-1, 3), tuple(holding)
        )


def _changes(limits: list[Limit]) -> list[int]:
    """UTC seconds at which one of these begins or ends."""
    return sorted({second for limit in limits for second in (limit.begin_s, limit.end_s) if second is not None})


def _bound_at(limits: list[Limit], second: int | None) -> int:
    """The lowest bound that holds at a UTC second, None for before all changes."""
    now = -FOREVER if second is None else second
    bounds = [
        limit.bound
        for limit in limits
        if (limit.begin_s is None or limit.begin_s <= now) and (limit.end_s is None or now < limit.end_s)
    ]
    return min(bounds, default=BOUNDLESS)


def start_gates(
    gates: Iterable[Gate], rows: pl.DataFrame, limit: IntArray, zero_s: int, span: tuple[int, int]
) -> list[StartGate]:
    """The gates of a cluster. rows: with queue and procs. limit: requested times of the jobs, seconds. zero_s: UTC second of the log's
    second 0. span: seconds of the first and of the last submission."""
    queue, procs = rows["queue"].fill_null("").to_numpy(), rows["procs"].to_numpy()
    made = []
    for gate in gates:
        stops = np.ones(rows.height, dtype=np.bool_)
        if gate.partition:
            stops &= queue == gate.partition
        if gate.over_time_s is not None:
            stops &= limit > gate.over_time_s
        if gate.over_cpus is not None:
            stops &= procs > gate.over_cpus
        if stops.any():
            made.append(StartGate(stops, gate_changes(gate, zero_s, *span)))
    return made


def takes_processors(reservation: AdvanceReservation) -> bool:
    """Whether a reservation is one that an order honours: it is for nobody, as for maintenance, and its times are whole words."""
    who = (reservation.users, reservation.accounts, reservation.groups, reservation.partitions, reservation.qos)
    return not any(who) and not reservation.queue and reservation.repeats in ("", *REPEATS)


def missing_processors(
    cluster: ClusterDescription, procs: int, longest_s: int, zero_s: int, span: tuple[int, int]
) -> Outages:
    """Processors that reservations and absences of nodes take away, in seconds of the log's clock.

    procs: of the cluster that replays. longest_s: the longest requested time. A reservation is known from its announcement on, at the
    earliest twice that time before it begins. zero_s: UTC second of the log's second 0. span: the seconds of the clock that matter.
    """
    cpus = {node.name: node.cpus for node in cluster.nodes}
    rows = []
    for reservation in filter(takes_processors, cluster.reservations):
        named = sum(cpus[name] for name in reservation.nodes)
        taken = min(named or reservation.cpus or procs, procs)
        for begin, end in occurrences(reservation, zero_s + span[0], zero_s + span[1]):
            early = begin - 2 * longest_s
            announced = early if reservation.announced_s is None else min(max(reservation.announced_s, early), begin)
            rows.append((begin - zero_s, end - zero_s, taken, announced - zero_s))
    for node in cluster.nodes:
        for absence in node.absences:
            begin, end = absence.begin_s - zero_s, FOREVER if absence.end_s is None else absence.end_s - zero_s
            if end > begin:
                rows.append((begin, end, min(node.cpus, procs), begin))
    return Outages(*np.array(sorted(rows), dtype=np.int64).reshape(-1, 4).T)


# --- shares


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
    table = np.array([path + [NO_KEY] * (floors - len(path)) for path in paths], dtype=np.int64).reshape(
        len(paths), floors
    )
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
