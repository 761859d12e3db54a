"""A described cluster with more or fewer of its nodes, kind by kind in proportion."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, TypeVar

from traces.cluster.description import ClusterDescription, Node, Partition, Switch
from traces.cluster.hostlists import listed

Machine = tuple[Node, ...]
"""The nodes of one host. PBS may have several on it, other schedulers one."""
_Part = TypeVar("_Part", Partition, Switch)


@dataclass(frozen=True)
class ClusterSizes:
    """The sizes that a cluster takes as machines come and go, one at a time.

    Each is a copy of one that is there, of the kind that then lags most behind its share of all machines (Webster's method). So a size is
    one cluster, whether it was asked for as nodes, processors or a percentage. No kind goes altogether. Machines are of a kind that are
    equal but for their names, and in the same partitions."""

    cluster: ClusterDescription

    @property
    def machines(self) -> int:
        """How many the cluster has."""
        return sum(map(len, self._kinds))

    def procs(self, more: int) -> int:
        """CPUs with so many machines more, or fewer. Raises ValueError as `resized`."""
        return self.cluster.num_cpus + sum(
            count * self._cpus(kind) for kind, count in enumerate(self._more_of_kinds(more))
        )

    def nearest(self, procs: int) -> int:
        """How many machines more, or fewer, make a cluster of about so many CPUs."""
        more, size = 0, self.cluster.num_cpus
        if procs == size:
            return 0
        step = 1 if procs > size else -1
        for kind in self._steps(step):
            following = size + step * self._cpus(kind)
            if abs(following - procs) >= abs(size - procs):
                break
            more, size = more + step, following
        return more

    def resized(self, more: int) -> ClusterDescription:
        """The cluster with so many machines more, or fewer. New ones stand behind the last one of their kind, below its switch and in its
        partitions. The last ones of a kind go, and reservations of them alone.

        Raises ValueError where one machine of each kind is more than what is to be left."""
        counts = self._more_of_kinds(more)
        gone = {node.name for machine in self._taken(counts) for node in machine}
        behind: dict[str, list[Node]] = {}  # those of a machine stay together, behind the last one of their model
        names: dict[str, list[str]] = {}
        for machine, copies in self._copied_machines(counts):
            behind[machine[-1].name] = [node for copy in copies for node in copy]
            names |= {node.name: [copy[k].name for copy in copies] for k, node in enumerate(machine)}
        nodes = [
            each for node in self.cluster.nodes if node.name not in gone for each in (node, *behind.get(node.name, ()))
        ]
        reservations = tuple(
            replace(each, nodes=_kept(each.nodes, gone))
            for each in self.cluster.reservations
            if not each.nodes or _kept(each.nodes, gone)
        )
        return replace(
            self.cluster,
            nodes=tuple(nodes),
            partitions=tuple(_with_copies(each, names, gone) for each in self.cluster.partitions),
            switches=tuple(_with_copies(each, names, gone) for each in self.cluster.switches),
            reservations=reservations,
        )

    def words(self, more: int) -> str:
        """Which nodes come or go, and how much of the CPUs they are, such as "+ 8 nodes, +9.5 % of the CPUs: n[73-79] as n72, g13 as g12",
        "" for none. A cluster has whole nodes, so that this is not quite what was asked for. Raises ValueError as `resized`."""
        counts = self._more_of_kinds(more)
        share = f"{self.procs(more) / self.cluster.num_cpus - 1:+.1%}".replace("%", " %").replace(".0 ", " ")
        of_all = f"{share} of the CPUs"
        if more < 0:
            taken = [node.name for machine in self._taken(counts) for node in machine]
            return f"- {_nodes(len(taken))}, {of_all}: {listed(taken)}"
        new: dict[str, list[str]] = {}
        for machine, copies in self._copied_machines(counts):
            new.setdefault(listed([node.name for node in machine]), []).extend(
                node.name for copy in copies for node in copy
            )
        parts = [f"{listed(names)} as {model}" for model, names in new.items()]
        return f"+ {_nodes(sum(map(len, new.values())))}, {of_all}: {', '.join(parts)}" if parts else ""

    @cached_property
    def _kinds(self) -> tuple[tuple[Machine, ...], ...]:
        partitions: dict[str, list[int]] = {}
        for number, partition in enumerate(self.cluster.partitions):
            for name in partition.nodes:
                partitions.setdefault(name, []).append(number)
        kinds: dict[Any, list[Machine]] = {}
        for _, nodes in groupby(self.cluster.nodes, key=lambda node: node.host or (node.name,)):
            machine = tuple(nodes)
            kinds.setdefault(str([_kind_of(node, partitions) for node in machine]), []).append(machine)
        return tuple(map(tuple, kinds.values()))

    def _cpus(self, kind: int) -> int:
        return sum(node.cpus for node in self._kinds[kind][-1])

    def _steps(self, step: int) -> Iterator[int]:
        """The kinds of the machines that come, or go, one after another. step: 1 or -1."""
        counts = [len(machines) for machines in self._kinds]

        def place(kind: int, now: int) -> tuple[float, int]:
            return -step * counts[kind] / (now + step * 0.5), kind

        queue = [(*place(kind, count), count) for kind, count in enumerate(counts) if count > 1 or step > 0]
        heapq.heapify(queue)
        while queue:
            _, kind, now = heapq.heappop(queue)
            yield kind
            if now + step > 1 or step > 0:
                heapq.heappush(queue, (*place(kind, now + step), now + step))

    def _more_of_kinds(self, more: int) -> list[int]:
        """How many machines of each kind come, or go."""
        least = self.machines + more
        if least < len(self._kinds):
            cpus = sum(self._cpus(kind) for kind in range(len(self._kinds)))
            raise ValueError(
                f"{_nodes(max(least, 0))} would be left of the {self.machines} of the cluster {self.cluster.name}, which keeps one of each "
                f"kind: {_nodes(len(self._kinds))} with {cpus} CPUs are the fewest"
            )
        step, counts = (1 if more > 0 else -1), Counter[int]()
        steps = self._steps(step)
        for _ in range(abs(more)):
            counts[next(steps)] += step
        return [counts[kind] for kind in range(len(self._kinds))]

    def _taken(self, counts: Sequence[int]) -> Iterator[Machine]:
        for machines, count in zip(self._kinds, counts, strict=True):
            if count < 0:
                yield from machines[count:]

    def _copied_machines(self, counts: Sequence[int]) -> Iterator[tuple[Machine, list[Machine]]]:
        """The last machine of each kind that grows, and its copies."""
        taken = {name for node in self.cluster.nodes for name in (node.name, node.host)}
        for machines, count in zip(self._kinds, counts, strict=True):
            if count > 0:
                yield machines[-1], [_copy(machines[-1], taken) for _ in range(count)]


def _kind_of(node: Node, partitions: Mapping[str, list[int]]) -> tuple[Node, tuple[int, ...]]:
    """What nodes of a kind share. Neither name nor rank, nor what PBS derives of the name, is among it."""
    features = tuple(each for each in node.features if each.rpartition("=")[2] not in (node.name, node.host))
    same = replace(node, name="", host="", absences=(), weight=1, features=features)
    return same, tuple(partitions.get(node.name, ()))


def _copy(machine: Machine, taken: set[str]) -> Machine:
    """A machine like this one under a new name, which is then taken, too."""
    old = machine[0].host or machine[0].name
    new = _next_name(old, taken)

    def renamed(node: Node) -> Node:
        name = new + node.name.removeprefix(old) if node.name.startswith(old) else _next_name(node.name, taken)
        features = tuple(
            each.replace(old, new) if each.rpartition("=")[2] in (node.name, old) else each for each in node.features
        )
        taken.add(name)
        return replace(node, name=name, host=node.host and new, absences=(), features=features)

    taken.add(new)
    return tuple(map(renamed, machine))


def _next_name(name: str, taken: set[str]) -> str:
    """The name with the next number that is free: n073 after n072, fat-2 after fat."""
    parts = re.fullmatch(r"(.*?)(\d+)(\D*)", name)
    before, digits, behind = parts.groups() if parts is not None else (f"{name}-", "1", "")
    number = int(digits) + 1
    while (free := f"{before}{number:0{len(digits)}}{behind}") in taken:
        number += 1
    return free


def _with_copies(part: _Part, copies: Mapping[str, list[str]], gone: set[str]) -> _Part:
    """A partition or switch with the copies of its nodes, and without those that go."""
    return replace(part, nodes=_copied(part.nodes, copies, gone))


def _copied(names: Sequence[str], copies: Mapping[str, list[str]], gone: set[str]) -> tuple[str, ...]:
    return tuple(each for name in _kept(names, gone) for each in (name, *copies.get(name, ())))


def _kept(names: Sequence[str], gone: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in gone)


def _nodes(count: int) -> str:
    return f"{count:,} {'node' if count == 1 else 'nodes'}"
