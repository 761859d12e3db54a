"""What PBS jobs ask for: chunks and their placement, in words, and as the arrays that compiled code takes.

Jobs that ask for the same are one *ask*: what was found out about one of them in a pass holds for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.pbs.occurrences import is_dedicated, occurrences_between, queue_windows
from simulator.pbs.settings import FIVE_YEARS
from simulator.pbs.state import EXCLUSIVE, SHARED, UNDECIDED, Asks, PbsSite
from traces.cluster.description import AdvanceReservation, ClusterDescription, Node

IntArray = NDArray[np.int64]

ARRANGED = ("free", "pack", "scatter", "vscatter")
"""In this order the numbers of `Asks.arrangement`."""
_SHARING = {"": UNDECIDED, "shared": SHARED, "excl": EXCLUSIVE, "exclhost": EXCLUSIVE}
_NAMES = ("host", "vnode")
_AFTER_S = 366 * 86400
"""So long after the last submission standing reservations go on."""


@dataclass(frozen=True)
class Piece:
    """`count` equal chunks. amounts: of one chunk by the resource's name, memory in KiB. words: what its node must have."""

    count: int
    amounts: Mapping[str, int]
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class PbsJob:
    """One job's submission in words. Times in seconds of the log's clock.

    walltime_s: None for none. soft_walltime_s: what PBS plans by, None for the walltime. arrangement: one of ARRANGED. sharing: "",
    "shared", "excl" or "exclhost". array: the same number for all tasks of an array, -1 for other jobs. array_limit: tasks at a time, 0
    for all. dependencies: (kind, place of the other job). begin_s: earliest start. held: nobody lets it go. rate: usage in a second.
    """

    submit_s: int
    pieces: tuple[Piece, ...]
    walltime_s: int | None = None
    soft_walltime_s: int | None = None
    arrangement: str = "free"
    sharing: str = ""
    queue: str = ""
    user: str = ""
    group: str = ""
    project: str = ""
    account: str = ""
    reservation: str = ""
    priority: int = 0
    array: int = -1
    array_task: int = -1
    array_limit: int = 0
    dependencies: tuple[tuple[str, int], ...] = ()
    begin_s: int = 0
    held: bool = False
    rate: float | None = None
    whole_job: Mapping[str, int] = field(default_factory=dict)

    def amount(self, resource: str) -> int:
        """How much of a resource all chunks have."""
        return sum(piece.count * piece.amounts.get(resource, 0) for piece in self.pieces) + self.whole_job.get(
            resource, 0
        )

    @property
    def time_s(self) -> int:
        """The walltime, or what PBS takes for none."""
        return FIVE_YEARS if self.walltime_s is None else max(self.walltime_s, 1)


def site_and_asks(
    cluster: ClusterDescription, asked: Sequence[PbsJob], order: IntArray, clock_s: int = 0, is_closed: bool = False
) -> tuple[PbsSite, Asks, NDArray[np.int64]]:
    """Nodes and asks as arrays, and the ask of each job. order: (nodes,), the nodes in the order in which PBS looks at them.
    clock_s: UTC second of second 0. is_closed: whether some jobs follow others. The last one may come later than it says, so hours and
    standing reservations go on for twice as long.

    Raises ValueError for a queue or a reservation that the cluster does not have."""
    nodes = [cluster.nodes[int(place)] for place in order]
    resources = resources_of(asked)
    reaches = _Reaches(cluster)
    masks: dict[tuple[int, tuple[str, ...]], int] = {}
    groups = _groups(cluster)
    kinds: dict[object, int] = {}
    rows: list[tuple[int, int, tuple[int, ...]]] = []
    first, arrangement, exclusive, reserved = [0], [], [], []
    ask = np.zeros(len(asked), dtype=np.int64)
    for job, one in enumerate(asked):
        if one.reservation and one.reservation not in groups:
            raise ValueError(f"job {job} is of reservation {one.reservation!r}, which the cluster does not have")
        of = groups.get(one.reservation, -1)
        pieces = tuple(
            (piece.count, tuple(piece.amounts.get(name, 0) for name in resources), piece.words) for piece in one.pieces
        )
        reach = reaches.of_queue(one.queue) if of < 0 else -1
        key = (pieces, one.arrangement, one.sharing, reach, of)
        if key not in kinds:
            kinds[key] = len(kinds)
            for count, amounts, words in pieces:
                rows.append((count, masks.setdefault((reach, words), len(masks)), amounts))
            first.append(len(rows))
            arrangement.append(ARRANGED.index(one.arrangement))
            exclusive.append(_SHARING[one.sharing])
            reserved.append(of)
        ask[job] = kinds[key]
    chunks = np.array([row[0] for row in rows], dtype=np.int64)
    of_chunk = np.array([row[2] for row in rows], dtype=np.int64).reshape(len(rows), len(resources))
    bounds = np.array(first, dtype=np.int64)
    asks = Asks(
        first=bounds,
        count=chunks,
        mask=np.array([row[1] for row in rows], dtype=np.int64),
        amounts=of_chunk,
        total=np.add.reduceat(of_chunk * chunks[:, None], bounds[:-1], axis=0) if len(rows) else of_chunk,
        chunks=np.add.reduceat(chunks, bounds[:-1]) if len(rows) else chunks,
        arrangement=np.array(arrangement, dtype=np.int64),
        exclusive=np.array(exclusive, dtype=np.int64),
        reservation=np.array(reserved, dtype=np.int64),
    )
    usable = np.array([_usable(nodes, reaches, *key) for key in masks], dtype=np.bool_).reshape(-1, len(nodes))
    first_s, last_s = (each((one.submit_s for one in asked), default=0) for each in (min, max))
    last_s += _AFTER_S + (last_s - first_s if is_closed else 0)
    return _site(cluster, nodes, resources, usable, (first_s, last_s, clock_s)), asks, ask


def _groups(cluster: ClusterDescription) -> dict[str, int]:
    """The number of each reservation by its name and by the name of its queue."""
    names = {name: k for k, name in enumerate(dict.fromkeys(each.name for each in _held(cluster)))}
    return names | {each.queue: names[each.name] for each in _held(cluster) if each.queue}


def _held(cluster: ClusterDescription) -> list[AdvanceReservation]:
    """The reservations of nodes."""
    return [each for each in cluster.reservations if not is_dedicated(each)]


def resources_of(asked: Sequence[PbsJob]) -> tuple[str, ...]:
    """What any job asks for, processors first."""
    names = dict.fromkeys(["ncpus", *(name for one in asked for piece in one.pieces for name in piece.amounts)])
    return tuple(
        name
        for name in names
        if name == "ncpus" or any(piece.amounts.get(name, 0) for one in asked for piece in one.pieces)
    )


def _site(
    cluster: ClusterDescription,
    nodes: Sequence[Node],
    resources: tuple[str, ...],
    usable: NDArray[np.bool_],
    span: tuple[int, int, int],
) -> PbsSite:
    hosts = {name: k for k, name in enumerate(dict.fromkeys(node.host or node.name for node in nodes))}
    host = np.array([hosts[node.host or node.name] for node in nodes], dtype=np.int64)
    by_host = np.argsort(host, kind="stable")
    groups, reservations = _groups(cluster), _held(cluster)
    held = occurrences_between(reservations, *span)
    windows = [queue_windows(cluster, queue.name, *span) for queue in cluster.queues]
    times = [(begin, end, _announced_s(reservations[entry]), end + 1, end) for begin, end, entry in held]
    reserved = [
        [not one.nodes or node.name in names for node in nodes]
        for one, names in ((one, set(one.nodes)) for one in reservations)
    ]
    first = np.cumsum([0, *map(len, windows)]).astype(np.int64)
    return PbsSite(
        amounts=np.array([[node_amount(node, name) for name in resources] for node in nodes], dtype=np.int64),
        host=host,
        host_first=np.searchsorted(host[by_host], np.arange(host.max() + 2)).astype(np.int64),
        host_nodes=by_host.astype(np.int64),
        all_nodes=np.arange(len(nodes), dtype=np.int64),
        sharing=np.array([_SHARING.get(_own_sharing(node), UNDECIDED) for node in nodes], dtype=np.int64),
        forced=np.array(
            [node.sharing.startswith("force_") or node.sharing == "ignore_excl" for node in nodes], dtype=np.bool_
        ),
        usable=usable,
        reservation_nodes=np.array(reserved, dtype=np.bool_).reshape(-1, len(nodes)),
        reservation_times=np.array(times, dtype=np.int64).reshape(-1, 5),
        reservation_entry=np.array([one.entry for one in held], dtype=np.int64),
        reservation_group=np.array([groups[reservations[one.entry].name] for one in held], dtype=np.int64),
        reservation_first=np.zeros(1, dtype=np.int64),
        windows=np.array([row for rows in windows for row in rows], dtype=np.int64).reshape(-1, 3),
        window_first=first,
        window_next=first[:-1].copy(),
    )


def _announced_s(one: AdvanceReservation) -> int:
    return -(1 << 61) if one.announced_s is None else one.announced_s


def _own_sharing(node: Node) -> str:
    return "shared" if node.sharing == "ignore_excl" else node.sharing.partition("_")[2]


def node_amount(node: Node, resource: str) -> int:
    """How much a node has of a resource. Memory that is not counted is without end."""
    if resource == "ncpus":
        return node.cpus
    if resource == "mem":
        return node.memory_mib * 1024 or 1 << 50
    return node.num_gpus if resource == "ngpus" else node.resources.get(resource, 0)


class _Reaches:
    """The different sets of nodes that queues have, by number."""

    def __init__(self, cluster: ClusterDescription) -> None:
        self.cluster = cluster
        self.numbers: dict[frozenset[str], int] = {}
        self.queues: dict[str, int] = {}

    def of_queue(self, queue: str) -> int:
        """The number of a queue's nodes."""
        if queue not in self.queues:
            nodes = frozenset(self.cluster.nodes_of(self.cluster.partition_named(queue)))
            self.queues[queue] = self.numbers.setdefault(nodes, len(self.numbers))
        return self.queues[queue]


def _usable(nodes: Sequence[Node], reaches: _Reaches, reach: int, words: tuple[str, ...]) -> list[bool]:
    """Whether jobs that reach a set of nodes (-1 for those of a reservation: all) may have each node, and it has what they want of it."""
    allowed = list(reaches.numbers)[reach] if reach >= 0 else {node.name for node in nodes}
    return [node.name in allowed and all(_has(node, word) for word in words) for node in nodes]


def _has(node: Node, word: str) -> bool:
    key, _, value = word.partition("=")
    if value and key in _NAMES:
        return value == ((node.host or node.name) if key == "host" else node.name)
    return word in node.features or word == node.name
