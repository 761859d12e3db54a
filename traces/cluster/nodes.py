"""Nodes of a cluster, and the partitions (Slurm) or queues (PBS, Maui's classes) over them, which may share nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
