"""What jobs ask for, as columns of whole numbers.

A reader gives one `Request` in words for each job. `request_arrays` holds them against a cluster, whose names become places in its
arrays, and says which names the cluster does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import ClusterArrays
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]

NOT_GIVEN = -1
"""In a column of places: none."""
UNLIMITED = 1 << 61
"""A time or an amount that nothing reaches."""
MEMORY_PER = ("node", "cpu", "gpu")
GPUS_PER = ("node", "job", "task")
DEPENDENCIES = ("after", "afterany", "afterok", "afternotok")
"""Of the job that is named: it has started, it has ended, it has ended well, it has not ended well."""


@dataclass(frozen=True)
class Request:
    """One job's submission in words. Times in seconds of the log's clock.

    min_nodes, max_nodes: 0 where the job does not say. tasks: 0 for one a node. cpus: 0, or CPUs of the job where it says so without
    tasks. memory_per, gpus_per: of MEMORY_PER and GPUS_PER. gpus: how many of each type, "" for any. features: an expression such as
    `ib&(a100|h100)`. partitions: in the order that the job gives, () for the default one. limit_s: None for the partition's.
    dependencies: (one of DEPENDENCIES, place of the other job among the requests). array: the same number for all tasks of an array,
    NOT_GIVEN for other jobs. array_limit: tasks at a time, 0 for all. priority: given by hand, None for the scheduler's. begin_s: earliest
    start. held: nobody has let it go. licences: how many of each.
    """

    submit_s: int
    limit_s: int | None = None
    min_nodes: int = 0
    max_nodes: int = 0
    tasks: int = 0
    cpus: int = 0
    cpus_per_task: int = 1
    tasks_per_node: int = 0
    memory_mib: int = 0
    memory_per: str = "node"
    gpus: Mapping[str, int] = field(default_factory=dict)
    gpus_per: str = "node"
    features: str = ""
    exclusive: bool = False
    partitions: tuple[str, ...] = ()
    qos: str = ""
    account: str = ""
    user: str = ""
    reservation: str = ""
    dependencies: tuple[tuple[str, int], ...] = ()
    array: int = NOT_GIVEN
    array_task: int = NOT_GIVEN
    array_limit: int = 0
    nice: int = 0
    priority: int | None = None
    begin_s: int = 0
    held: bool = False
    licences: Mapping[str, int] = field(default_factory=dict)


class Requests(NamedTuple):
    """One value a job in each column, int64 (jobs,), but for gpus (jobs, types), licences (jobs, kinds) and partitions (jobs, most
    partitions of a job).

    partitions, qos, account, member, reservation: places in the cluster's arrays, NOT_GIVEN for none. member: the association of user and
    account. user: a number for each name. memory_per, gpus_per: places in MEMORY_PER and GPUS_PER. gpus: of the types that the job
    names, and in the last column all of its GPUs. planned: seconds for which the scheduler plans the job, at most `limit`, which is usual.
    features: place in `ClusterArrays.feature_nodes`, 0 for none. first_dependency: those of
    job j are the rows first_dependency[j] to first_dependency[j + 1] of dependency (rows, 2): place in DEPENDENCIES, job. priority:
    NOT_GIVEN for its own.
    """

    submit: IntArray
    limit: IntArray
    planned: IntArray
    min_nodes: IntArray
    max_nodes: IntArray
    tasks: IntArray
    cpus_per_task: IntArray
    tasks_per_node: IntArray
    memory: IntArray
    memory_per: IntArray
    gpus: IntArray
    gpus_per: IntArray
    features: IntArray
    exclusive: IntArray
    partitions: IntArray
    qos: IntArray
    account: IntArray
    member: IntArray
    user: IntArray
    reservation: IntArray
    first_dependency: IntArray
    dependency: IntArray
    array: IntArray
    array_task: IntArray
    array_limit: IntArray
    nice: IntArray
    priority: IntArray
    begin: IntArray
    held: IntArray
    licences: IntArray


_PLAIN = {
    "submit": "submit_s",
    "max_nodes": "max_nodes",
    "cpus_per_task": "cpus_per_task",
    "tasks_per_node": "tasks_per_node",
    "memory": "memory_mib",
    "exclusive": "exclusive",
    "array": "array",
    "array_task": "array_task",
    "array_limit": "array_limit",
    "nice": "nice",
    "begin": "begin_s",
    "held": "held",
}
"""Columns that are an attribute of the request as it is."""


def request_arrays(asked: Sequence[Request], cluster: ClusterDescription, arrays: ClusterArrays) -> Requests:
    """The requests as columns. A job without a limit gets its partition's default, or its longest. The account of a job that names none
    is the user's default one.

    Raises ValueError for a partition, QOS or reservation that the cluster does not have, with the job's place.
    """
    columns: dict[str, IntArray] = {
        name: np.array([int(getattr(one, attribute)) for one in asked], dtype=np.int64)
        for name, attribute in _PLAIN.items()
    }
    columns["memory_per"] = _places(MEMORY_PER, [one.memory_per for one in asked], "memory per")
    columns["gpus_per"] = _places(GPUS_PER, [one.gpus_per for one in asked], "GPUs per")
    columns["min_nodes"] = np.array([max(one.min_nodes, 1) for one in asked], dtype=np.int64)
    columns["max_nodes"] = np.where(
        columns["max_nodes"] > 0, columns["max_nodes"], [one.min_nodes or UNLIMITED for one in asked]
    ).astype(np.int64)
    columns["tasks"] = np.array([_tasks(one) for one in asked], dtype=np.int64)
    columns["priority"] = np.array(
        [NOT_GIVEN if one.priority is None else one.priority for one in asked], dtype=np.int64
    )
    columns |= _gpus(asked, arrays) | _partitions(asked, cluster) | _owners(asked, cluster)
    columns["features"] = _places(arrays.feature_words, [one.features for one in asked], "features")
    columns["licences"] = np.array(
        [[one.licences.get(name, 0) for name in arrays.licence_names] for one in asked], dtype=np.int64
    ).reshape(len(asked), len(arrays.licence_names))
    names = tuple(one.name for one in cluster.reservations)
    columns["reservation"] = _places(names, [one.reservation for one in asked], "reservation", optional=True)
    return Requests(**columns, **_dependencies(asked))


def joined_requests(first: Requests, second: Requests) -> Requests:
    """The jobs of both, those of `first` in front. Users, arrays and places of names are numbers of the same cluster and log in both."""
    width = max(first.partitions.shape[1], second.partitions.shape[1])
    wide = [
        np.pad(each.partitions, ((0, 0), (0, width - each.partitions.shape[1])), constant_values=NOT_GIVEN)
        for each in (first, second)
    ]
    ahead = len(first.submit)
    rows = [first.dependency, second.dependency + np.array([0, ahead])]
    starts = [first.first_dependency[:-1], second.first_dependency + len(first.dependency)]
    apart = {
        "partitions": np.concatenate(wide),
        "dependency": np.concatenate(rows),
        "first_dependency": np.concatenate(starts),
    }
    plain = (name for name in Requests._fields if name not in apart)
    return Requests(**{name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in plain}, **apart)


def some_requests(requests: Requests, which: IntArray) -> Requests:
    """The requests of some jobs, in the order of their places. They depend on one another alone."""
    columns = {name: getattr(requests, name)[which] for name in Requests._fields if "dependency" not in name}
    place = np.full(len(requests.submit), NOT_GIVEN, dtype=np.int64)
    place[which] = np.arange(len(which))
    owner = place[np.repeat(np.arange(len(place)), np.diff(requests.first_dependency))]
    kind, other = requests.dependency.T
    kept = np.flatnonzero((owner >= 0) & (place[other] >= 0))
    kept = kept[np.argsort(owner[kept], kind="stable")]
    first = np.searchsorted(owner[kept], np.arange(len(which) + 1)).astype(np.int64)
    dependency = np.stack([kind[kept], place[other[kept]]], axis=1)
    return Requests(**columns, first_dependency=first, dependency=dependency)


def _tasks(one: Request) -> int:
    """Tasks of the job. One that gives tasks per node has that many on each of its nodes."""
    nodes = max(one.min_nodes, 1)
    if one.tasks:
        return one.tasks
    if one.cpus:
        return -(-one.cpus // one.cpus_per_task)
    return nodes * max(one.tasks_per_node, 1)


def _places(names: Sequence[str], words: Sequence[str], what: str, optional: bool = False) -> IntArray:
    place = {name: k for k, name in enumerate(names)}
    if optional:
        place[""] = NOT_GIVEN
    for job, word in enumerate(words):
        if word not in place:
            raise ValueError(f"job {job} has {what} {word!r}: expected one of {', '.join(names) or 'none'}")
    return np.array([place[word] for word in words], dtype=np.int64)


def _gpus(asked: Sequence[Request], arrays: ClusterArrays) -> dict[str, IntArray]:
    """GPUs of a type are also of all. Raises ValueError for a type that no node has."""
    types = arrays.gpu_types
    gpus = np.zeros((len(asked), len(types)), dtype=np.int64)
    place = {name: k for k, name in enumerate(types[:-1])}
    for job, one in enumerate(asked):
        for kind, count in one.gpus.items():
            if kind and kind not in place:
                raise ValueError(f"job {job} asks for GPUs of type {kind!r}: expected one of {', '.join(types[:-1])}")
            if kind:
                gpus[job, place[kind]] += count
            gpus[job, -1] += count
    return {"gpus": gpus}


def _partitions(asked: Sequence[Request], cluster: ClusterDescription) -> dict[str, IntArray]:
    places = {partition.name: k for k, partition in enumerate(cluster.queues)}
    most = max((len(one.partitions) for one in asked), default=1) or 1
    partitions = np.full((len(asked), most), NOT_GIVEN, dtype=np.int64)
    limit = np.zeros(len(asked), dtype=np.int64)
    for job, one in enumerate(asked):
        mine = [cluster.partition_named(name) for name in one.partitions or ("",)]
        partitions[job, : len(mine)] = [places[partition.name] for partition in mine]
        first = mine[0]
        default = first.max_time_s if first.default_time_s is None else first.default_time_s
        limit[job] = one.limit_s if one.limit_s is not None else UNLIMITED if default is None else default
    return {"partitions": partitions, "limit": limit, "planned": limit}


def _owners(asked: Sequence[Request], cluster: ClusterDescription) -> dict[str, IntArray]:
    accounts = {account.name: k for k, account in enumerate(cluster.accounts)}
    members = {(member.user, member.account): k for k, member in enumerate(cluster.members)}
    defaults = {member.user: member for member in reversed(cluster.members)}
    defaults |= {member.user: member for member in cluster.members if member.is_default}
    users: dict[str, int] = {}
    rows = []
    words = []
    for one in asked:
        account = one.account or (defaults[one.user].account if one.user in defaults else "")
        member = members.get((one.user, account), NOT_GIVEN)
        rows.append((users.setdefault(one.user, len(users)), accounts.get(account, NOT_GIVEN), member))
        words.append(one.qos or (cluster.members[member].default_qos if member != NOT_GIVEN else ""))
    qos = [quality.name for quality in cluster.qualities]
    if "normal" in qos:
        words = [word or "normal" for word in words]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return {
        "user": columns[:, 0].copy(),
        "account": columns[:, 1].copy(),
        "member": columns[:, 2].copy(),
        "qos": _places(qos, words, "QOS", optional=True),
    }


def _dependencies(asked: Sequence[Request]) -> dict[str, IntArray]:
    first = np.concatenate([[0], np.cumsum([len(one.dependencies) for one in asked], dtype=np.int64)]).astype(np.int64)
    rows = [(DEPENDENCIES.index(kind), job) for one in asked for kind, job in one.dependencies]
    return {"first_dependency": first, "dependency": np.array(rows, dtype=np.int64).reshape(-1, 2)}
