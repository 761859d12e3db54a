"""Accounts, users and qualities of service: who shares the cluster, in which parts, and up to which limits."""

from __future__ import annotations

from dataclasses import dataclass

LIMIT_OWNERS = ("cluster", "partition", "qos", "account", "user")
"""What a limit stands at. "cluster" is the server in PBS, "partition" a queue, "user" an association of an account and a user."""
COUNTS = ("running", "submitted", "job", "node", "outstanding", "used", "waiting_eligible")
"""What is counted. running, submitted: amounts of all such jobs of `each`. job, node: the amount of one job, or of one job on a node.
outstanding: resource-seconds that running jobs may still use (Slurm's *RunMins, Maui's MAXPS). used: what was used in all, with decay
(Slurm's *Mins). waiting_eligible: waiting jobs that gain priority (Maui's MAXIJOB)."""
EACHES = ("all", "user", "account", "group", "project", "job")
"""Whose jobs are counted together, below the owner."""

FOUND = "found"
"""Origin of a rule that was read off a log (`tracehouse cluster identify`), and of which no configuration says anything."""
ROOT_ACCOUNT = "root"
"""The top of the tree of accounts, which need not be written."""
PARENTS_SHARE = -1
"""Shares of an association that takes part as if it were its parent (Slurm's Fairshare=parent)."""


@dataclass(frozen=True)
class Account:
    """A node of the tree of shares. parent: its account, ROOT_ACCOUNT for the first floor. shares: in proportion to its siblings.
    qos: what its users may ask for. default_qos: what they get without asking. priority: the association's part of a job's priority."""

    name: str
    parent: str = ROOT_ACCOUNT
    shares: int = 1
    qos: tuple[str, ...] = ()
    default_qos: str = ""
    priority: int = 0


@dataclass(frozen=True)
class AccountUser:
    """A user in an account (Slurm's association, a leaf of PBS's resource_group). partition: the only one that it holds for, "" for all.
    is_default: the account of this user's jobs that name none."""

    user: str
    account: str
    shares: int = 1
    partition: str = ""
    qos: tuple[str, ...] = ()
    default_qos: str = ""
    priority: int = 0
    is_default: bool = False


@dataclass(frozen=True)
class ServiceQuality:
    """A QOS. priority: its part of a job's priority. preempts: the QOS whose jobs it may preempt, in mode `preempt_mode` ("" for the
    cluster's) after grace_s. flags: as the scheduler spells them, in lower case. usage_factor: of what its jobs add to usage.
    usage_threshold: least fair-share factor of jobs that may start, None for none."""

    name: str
    priority: int = 0
    preempts: tuple[str, ...] = ()
    preempt_mode: str = ""
    grace_s: int = 0
    flags: tuple[str, ...] = ()
    usage_factor: float = 1.0
    usage_threshold: float | None = None


@dataclass(frozen=True)
class Limit:
    """At most `bound` of a resource, whoever sets it: Slurm's QOS and associations, PBS's server and queues, Maui's credentials.

    owner, owner_name: where it stands, one of LIMIT_OWNERS and its name: of a user "user", "account/user" or
    "account/user/partition", of the cluster "". counts, each: see COUNTS and EACHES. who: one user, group or account, "" for each.
    resource: "jobs", "nodes", "cpu", "mem" (MiB), "gpu", "gpu:TYPE", "time" (seconds), "billing", "licence:NAME", or a resource by its
    scheduler's name. For "outstanding" and "used" the bound is in resource-seconds. is_least: the bound is the least (MinTRES).
    is_soft: Maui's soft limit, or PBS's, over which jobs are preempted first. source: file, line and key that it came from.
    begin_s, end_s: UTC seconds from which to before which it holds, None for no end. origin: "" where it is declared, FOUND where it was
    read off a log.

    Raises ValueError for a word that is none of the lists.
    """

    owner: str
    owner_name: str
    counts: str
    each: str
    resource: str
    bound: int
    who: str = ""
    is_least: bool = False
    is_soft: bool = False
    source: str = ""
    begin_s: int | None = None
    end_s: int | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        for word, words in ((self.owner, LIMIT_OWNERS), (self.counts, COUNTS), (self.each, EACHES)):
            if word not in words:
                raise ValueError(
                    f"a limit of {self.owner} {self.owner_name}: expected one of {', '.join(words)}, got {word!r}"
                )
        if self.bound < 0:
            raise ValueError(f"a limit of {self.owner} {self.owner_name} on {self.resource} is negative: {self.bound}")

    @property
    def association(self) -> tuple[str, str, str]:
        """Account, user and partition of a user's limit, "" for all."""
        parts = self.owner_name.split("/")
        account, user, partition = parts if len(parts) == 3 else [*parts, ""] if len(parts) == 2 else ["", *parts, ""]
        return account, user, partition
