"""A cluster as data: its nodes, partitions, accounts, limits, reservations and its scheduler's settings.

Readers of configuration (traces/slurm/configuration, traces/pbs/configuration) make a `ClusterDescription`, a file of TOML shows
it as one file that people read, and `simulator/cluster` makes the arrays of it that compiled code takes. It is in traces since both the
readers and the simulator speak it.

Nodes of a cluster, and the partitions (Slurm) or queues (PBS, Maui's classes) over them, which may share nodes.

Times that are not like others: advance reservations, and gates that close by hour and day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from traces.cluster.accounts import ROOT_ACCOUNT, Account, AccountUser, Limit, ServiceQuality


@dataclass(frozen=True)
class Absence:
    """A span of a node's life in which nothing starts on it. begin_s, end_s: UTC seconds, end_s None while it lasts.

    state: "down" (jobs on it are lost), "drain" (jobs on it end as they would) or "reboot".
    """

    begin_s: int
    end_s: int | None
    state: str = "down"


@dataclass(frozen=True)
class Node:
    """One node as its scheduler counts it.

    cores: schedulable cores; with threads_per_core above 1 a scheduler may count cores * threads_per_core CPUs (`cpus`).
    sockets: 0 where the configuration does not say. memory_mib: schedulable memory, 0 where memory is not counted.
    gpus: how many of each type, the type "" where none is named. resources: further countable resources by name.
    features: words that a job may require; PBS's are `key=value`, for resources that are not counted. weight: the scheduler takes the
    lowest first. host: the machine that it is part of, where several nodes share one (PBS's vnodes), "" where it is one itself.
    sharing: PBS's word for whether a job has the node for itself, such as "default_excl", "" where jobs decide.

    Raises ValueError where a count is negative or the node has no core.
    """

    name: str
    cores: int
    memory_mib: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    weight: int = 1
    sockets: int = 0
    threads_per_core: int = 1
    cpus: int = 0
    resources: Mapping[str, int] = field(default_factory=dict)
    absences: tuple[Absence, ...] = ()
    host: str = ""
    sharing: str = ""

    def __post_init__(self) -> None:
        if not self.cpus:
            object.__setattr__(self, "cpus", self.cores * self.threads_per_core)
        if self.cores < 1 or self.cpus < 1 or self.threads_per_core < 1:
            raise ValueError(f"node {self.name} needs at least 1 core, got {self.cores} cores and {self.cpus} CPUs")
        counts = {"memory_mib": self.memory_mib, "sockets": self.sockets, "weight": self.weight}
        counts |= {f"gpus.{kind or 'any'}": count for kind, count in self.gpus.items()} | dict(self.resources)
        for what, count in counts.items():
            if count < 0:
                raise ValueError(f"node {self.name} has a negative {what}: {count}")

    @property
    def num_gpus(self) -> int:
        """GPUs of all types."""
        return sum(self.gpus.values())


@dataclass(frozen=True)
class Switch:
    """A switch of the network. nodes: names of those below it. switches: names of switches below it."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Partition:
    """nodes: names, where () means all nodes. Times in seconds, None for no limit.

    tier: the scheduler looks at higher tiers first (PriorityTier, or the queue's priority under PBS's by_queue). factor: the partition's
    part of a job's priority (PriorityJobFactor). allow_*: empty means everybody. deny_*: nobody else. qos: the partition's own QOS, whose
    limits hold for its jobs. oversubscribe: "no", "exclusive" (a job holds its whole nodes), "yes" or "force". max_nodes, min_nodes: nodes
    of a job. *_memory_mib: per CPU, node or GPU, as default for jobs that do not say, and as the most. None where none is set.
    billing: weights of resources (TRESBillingWeights). state: "up", "down" (jobs queue), "drain" (queued jobs run), "inactive".
    preempt_mode: "" for the cluster's own. extra: further settings of this scheduler by its own names.
    """

    name: str
    nodes: tuple[str, ...] = ()
    is_default: bool = False
    state: str = "up"
    max_time_s: int | None = None
    default_time_s: int | None = None
    tier: int = 1
    factor: int = 1
    allow_accounts: tuple[str, ...] = ()
    deny_accounts: tuple[str, ...] = ()
    allow_qos: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
    allow_groups: tuple[str, ...] = ()
    allow_users: tuple[str, ...] = ()
    qos: str = ""
    oversubscribe: str = "no"
    min_nodes: int = 0
    max_nodes: int | None = None
    max_cpus_per_node: int | None = None
    default_memory_mib: int | None = None
    default_memory_per: str = "cpu"
    max_memory_mib: int | None = None
    max_memory_per: str = "cpu"
    default_cpus_per_gpu: int | None = None
    billing: Mapping[str, float] = field(default_factory=dict)
    preempt_mode: str = ""
    grace_s: int = 0
    extra: Mapping[str, str | int | float | bool] = field(default_factory=dict)


# --- reservations


@dataclass(frozen=True)
class AdvanceReservation:
    """Nodes or CPUs set aside from begin_s to end_s (UTC seconds). announced_s: when the scheduler learned of it, None for always.

    nodes: names, where () with cpus 0 means all nodes. cpus: where it counts CPUs, not nodes. users, accounts, groups: who may use it.
    partitions, qos: whose jobs may use it (Maui's CLASSLIST and QOSLIST).
    flags: as the scheduler spells them, in lower case ("maint", "ignore_jobs", "flex", "daily"). repeats: an RFC 5545 rule or "daily",
    "weekly", "weekday", "weekend", "" for once. timezone: in which it repeats at the same hour (an IANA name). queue: the queue that PBS
    makes for it. origin: as of a limit.
    """

    name: str
    begin_s: int
    end_s: int
    announced_s: int | None = None
    nodes: tuple[str, ...] = ()
    cpus: int = 0
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    repeats: str = ""
    queue: str = ""
    partitions: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    timezone: str = "UTC"
    origin: str = ""

    def __post_init__(self) -> None:
        if self.end_s <= self.begin_s:
            raise ValueError(f"reservation {self.name} ends before it begins: {self.begin_s} to {self.end_s}")


@dataclass(frozen=True)
class Gate:
    """No job beyond these amounts starts in these hours, such as "no job over four hours from 8 to 16 h on working days".

    days: 0 is Monday. begin_minute, end_minute: of the day, local time of `timezone` (an IANA name). An end not after the begin is on the
    next day. over_time_s, over_cpus: a job is stopped that asks for more than all that are not None. With none of them every job is.
    partition: the only one it holds for, "" for all. origin: as of a limit.
    """

    days: tuple[int, ...]
    begin_minute: int
    end_minute: int
    over_time_s: int | None = None
    over_cpus: int | None = None
    partition: str = ""
    timezone: str = "UTC"
    origin: str = ""

    def __post_init__(self) -> None:
        if not self.days or not set(self.days) <= set(range(7)):
            raise ValueError(f"a gate needs days from 0 (Monday) to 6, got {self.days}")
        if not (0 <= self.begin_minute < 1440 and 0 <= self.end_minute <= 1440):
            raise ValueError(f"a gate's minutes are from 0 to 1440, got {self.begin_minute} to {self.end_minute}")


# --- description


Setting = str | int | float | bool

SCHEDULERS = ("slurm", "pbs", "maui", "none")
ORDER: Mapping[str, type] = {"policy": str, "backfill": str, "cycle_s": int}
"""Of an order: policy and backfilling rule as replays take them, and that jobs start every so many seconds only."""


@dataclass(frozen=True)
class SchedulerSettings:
    """name: one of SCHEDULERS. version: such as "22.05.8", "" where it is not known. values: by the scheduler's own names
    and in its units, in lower case for Slurm (`bf_interval`, `priorityweightage`), as they are spelt for PBS. Slurm's times that are no
    plain number (`prioritymaxage`) are in seconds, -1 for no limit. order: how an order replays the cluster, as its log shows it: of ORDER.
    """

    name: str = "none"
    version: str = ""
    values: Mapping[str, Setting] = field(default_factory=dict)
    order: Mapping[str, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in SCHEDULERS:
            raise ValueError(f"expected a scheduler of {', '.join(SCHEDULERS)}, got {self.name!r}")
        for key, value in self.order.items():
            if not isinstance(value, ORDER.get(key, ())) or (key == "cycle_s" and int(value) < 1):
                raise ValueError(
                    f"expected an order with policy, backfill and cycle_s, in whole seconds, got {key} = {value!r}"
                )


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

    @cached_property
    def queues(self) -> tuple[Partition, ...]:
        """The partitions that jobs are in. A cluster without partitions holds any queue: each that a limit or a gate names is one, and all
        others together are one, which is named "". These have all nodes."""
        if self.partitions:
            return self.partitions
        names = {limit.owner_name for limit in self.limits if limit.owner == "partition"}
        names |= {gate.partition for gate in self.gates if gate.partition}
        return (Partition("", is_default=True), *map(Partition, sorted(names)))

    def has_queue(self, name: str) -> bool:
        """Whether jobs of a queue can be in the cluster."""
        return not self.partitions or any(partition.name == name for partition in self.partitions)

    def partition_named(self, name: str) -> Partition:
        """The one of `queues` of a name, the default one for "". Raises ValueError with the names that there are."""
        for partition in self.queues:
            if partition.name == name or (not name and partition.is_default):
                return partition
        if not self.partitions:
            return self.queues[0]
        names = ", ".join(partition.name for partition in self.partitions)
        raise ValueError(f"cluster {self.name} has no partition {name or '(default)'}; it has {names}")

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
