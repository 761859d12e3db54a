"""A cluster as data: its nodes, partitions, accounts, limits, reservations and its scheduler's settings.

Readers of configuration (traces/slurm/configuration, traces/pbs/configuration) make a `ClusterDescription`, a file of TOML shows
it as one file that people read, and `simulator/cluster` makes the arrays of it that compiled code takes. It is in traces since both the
readers and the simulator speak it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from traces.cluster.accounts import ROOT_ACCOUNT, Account, AccountUser, Limit, ServiceQuality
from traces.cluster.nodes import Node, Partition, Switch
from traces.cluster.reservations import AdvanceReservation, Gate

Setting = str | int | float | bool

SCHEDULERS = ("slurm", "pbs", "maui", "none")


@dataclass(frozen=True)
class SchedulerSettings:
    """name: one of SCHEDULERS. version: such as "22.05.8", "" where it is not known. values: by the scheduler's own names
    and in its units, in lower case for Slurm (`bf_interval`, `priorityweightage`), as they are spelt for PBS. Slurm's times that are no
    plain number (`prioritymaxage`) are in seconds, -1 for no limit."""

    name: str = "none"
    version: str = ""
    values: Mapping[str, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in SCHEDULERS:
            raise ValueError(f"expected a scheduler of {', '.join(SCHEDULERS)}, got {self.name!r}")


@dataclass(frozen=True)
class ClusterDescription:
    """Everything that a scheduler of this cluster decides by. valid_from_s: UTC second from which it holds, None for always.

    nodes are in the scheduler's order, which decides ties. licences: how many of each. switches: the network's tree, () where it does not
    matter. left_out: what a reader of the configuration found and could not put here, each with what it would have changed.

    Raises ValueError where a name stands twice, or one part names another that is missing.
    """

    name: str
    nodes: tuple[Node, ...]
    partitions: tuple[Partition, ...] = ()
    accounts: tuple[Account, ...] = ()
    members: tuple[AccountUser, ...] = ()
    qualities: tuple[ServiceQuality, ...] = ()
    limits: tuple[Limit, ...] = ()
    reservations: tuple[AdvanceReservation, ...] = ()
    gates: tuple[Gate, ...] = ()
    licences: Mapping[str, int] = field(default_factory=dict)
    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)
    switches: tuple[Switch, ...] = ()
    valid_from_s: int | None = None
    left_out: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ValueError(f"cluster {self.name} has no nodes")
        for what, names in self._names().items():
            for name, times in Counter(names).items():
                if times > 1:
                    raise ValueError(f"cluster {self.name} has {what} {name} twice")
        self._require_nodes(
            (f"{what} {part.name}", part.nodes)
            for what, parts in (
                ("partition", self.partitions),
                ("reservation", self.reservations),
                ("switch", self.switches),
            )
            for part in parts
        )
        self._require_accounts()

    @cached_property
    def node_index(self) -> Mapping[str, int]:
        """The place of each node in `nodes`."""
        return {node.name: place for place, node in enumerate(self.nodes)}

    @property
    def num_cpus(self) -> int:
        """CPUs of all nodes."""
        return sum(node.cpus for node in self.nodes)

    def partition_named(self, name: str) -> Partition:
        """The partition of a name, the default one for "". Raises ValueError with the names that there are."""
        for partition in self.partitions:
            if partition.name == name or (not name and partition.is_default):
                return partition
        names = ", ".join(partition.name for partition in self.partitions)
        raise ValueError(f"cluster {self.name} has no partition {name or '(default)'}; it has {names or 'none'}")

    def nodes_of(self, partition: Partition) -> tuple[str, ...]:
        """The names of a partition's nodes, in the cluster's order."""
        if not partition.nodes:
            return tuple(node.name for node in self.nodes)
        return tuple(sorted(partition.nodes, key=self.node_index.__getitem__))

    def _names(self) -> dict[str, list[str]]:
        return {
            "node": [node.name for node in self.nodes],
            "partition": [partition.name for partition in self.partitions],
            "account": [account.name for account in self.accounts],
            "user": [f"{member.user} of {member.account} {member.partition}".strip() for member in self.members],
            "QOS": [quality.name for quality in self.qualities],
            "switch": [switch.name for switch in self.switches],
        }

    def _require_nodes(self, owners: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        for owner, names in owners:
            for name in names:
                if name not in self.node_index:
                    raise ValueError(f"cluster {self.name}: {owner} names node {name}, which is not defined")

    def _require_accounts(self) -> None:
        parents = {account.name: account.parent for account in self.accounts} | {ROOT_ACCOUNT: ""}
        for account in self.accounts:
            if account.parent not in parents:
                raise ValueError(
                    f"cluster {self.name}: account {account.name} has parent {account.parent}, which is not defined"
                )
            above, steps = account.name, 0
            while above and steps <= len(parents):
                above, steps = ("" if above == ROOT_ACCOUNT else parents[above]), steps + 1
            if above:
                raise ValueError(f"cluster {self.name}: account {account.name} is its own ancestor")
        for member in self.members:
            if member.account not in parents:
                raise ValueError(
                    f"cluster {self.name}: user {member.user} is in account {member.account}, which is not defined"
                )


def description_at(descriptions: Iterable[ClusterDescription], second: int) -> ClusterDescription | None:
    """The description that holds at a UTC second: of those that hold from then or earlier, the latest. None where none does yet."""
    holding = [each for each in descriptions if each.valid_from_s is None or each.valid_from_s <= second]
    return max(holding, key=lambda each: -1 if each.valid_from_s is None else each.valid_from_s, default=None)
