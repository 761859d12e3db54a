"""A rule that a log shows, with the evidence for it and a sentence that an operator can confirm or deny."""

from __future__ import annotations

from dataclasses import dataclass

from traces.cluster.reservations import Gate

RUNNING_JOBS, RUNNING_CPU, OUTSTANDING_CPU = "running jobs", "running cpu", "outstanding cpu"
HOURS, BOUNDARY, SIZE, ORDER, BACKFILL, CYCLE = "hours", "boundary", "size", "order", "backfill", "cycle"
"""Kinds of rules. The first three are limits: on running jobs, on their processors, on the processor-seconds that they may still use.
HOURS is a gate. BOUNDARY is a time of day past which no job may run, or a time in which none may. SIZE is the cluster's processors. ORDER
is who comes first, BACKFILL who may go past a job that does not fit. CYCLE is how often the scheduler looks."""
LIMIT_KINDS = (RUNNING_JOBS, RUNNING_CPU, OUTSTANDING_CPU)
SCOPES = ("user", "account", "group", "queue", "all")
"""Whose jobs a limit counts together."""


@dataclass(frozen=True)
class Evidence:
    """What in the log speaks for a rule.

    holders: users (accounts, groups, queues) who could have had more at some time. kept: those of them who practically never had.
    starts: starts while more jobs of the holder waited. broken: those of them that the rule forbids. explained: share of the time in which
    jobs waited beside room for them, and in which the rule is why. Of a cycle, starts are the pauses between starts, and kept those that
    last one cycle.
    """

    holders: int = 0
    kept: int = 0
    starts: int = 0
    broken: int = 0
    explained: float = 0.0


@dataclass(frozen=True)
class Bound:
    """One bound of a rule whose bounds differ by holder or change. since_s: second of the log's clock. value: None for no limit."""

    holder: str
    since_s: int
    value: int | None


@dataclass(frozen=True)
class Edge:
    """A minute of some days past which no job may run. days: 0 is Monday. minutes: for how long, 0 for a moment."""

    days: tuple[int, ...]
    minute: int
    timezone: str
    minutes: int = 0


@dataclass(frozen=True)
class IdentifiedRule:
    """One rule. kind: one of the kinds above. scope: one of SCOPES. holder: the only one whom it is about, "" for each of the scope.

    value: the bound of a limit (jobs, processors or processor-seconds), processors of SIZE, seconds of CYCLE, else 0. bounds: instead of it
    where bounds differ by holder or change; with a value, of those that are excepted from it. word: the policy of ORDER, and the rule of
    BACKFILL. gate: of HOURS. edges: of BOUNDARY. queue: the only queue whose jobs it is about, "" for all. since_s, until_s: seconds of the
    log's clock from which to before which it holds, None for no end. origin: "found" or "declared".
    """

    kind: str
    scope: str
    value: int = 0
    holder: str = ""
    queue: str = ""
    word: str = ""
    gate: Gate | None = None
    edges: tuple[Edge, ...] = ()
    bounds: tuple[Bound, ...] = ()
    since_s: int | None = None
    until_s: int | None = None
    origin: str = "found"
    evidence: Evidence = Evidence()
    sentence: str = ""


@dataclass(frozen=True)
class RejectedRule:
    """A candidate that is not among the rules, and why."""

    rule: IdentifiedRule
    because: str
