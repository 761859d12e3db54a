"""A rule that a log shows, with the evidence for it and a sentence that an operator can confirm or deny."""

from __future__ import annotations

from dataclasses import dataclass

from traces.cluster.reservations import Gate

RUNNING_JOBS, RUNNING_CPU, OUTSTANDING_CPU, HOURS, SIZE, ORDER, BACKFILL = (
    "running jobs",
    "running cpu",
    "outstanding cpu",
    "hours",
    "size",
    "order",
    "backfill",
)
"""Kinds of rules. The first three are limits: on running jobs, on their processors, on the processor-seconds that they may still use.
HOURS is a gate, SIZE the cluster's processors. ORDER is who comes first, BACKFILL who may go past a job that does not fit."""
LIMIT_KINDS = (RUNNING_JOBS, RUNNING_CPU, OUTSTANDING_CPU)
SCOPES = ("user", "account", "group", "queue", "all")
"""Whose jobs a limit counts together."""


@dataclass(frozen=True)
class Evidence:
    """What in the log speaks for a rule.

    holders: users (accounts, groups, queues) who could have had more at some time. kept: those of them whose peak is the bound, or below.
    starts: starts of jobs that the rule had held, while there was room for them. broken: starts that the rule forbids. job_hours: hours
    that jobs waited beside room for them, which the rule explains.
    """

    holders: int = 0
    kept: int = 0
    starts: int = 0
    broken: int = 0
    job_hours: float = 0.0


@dataclass(frozen=True)
class IdentifiedRule:
    """One rule. kind: one of the kinds above. scope: one of SCOPES. holder: the only one whom it is about, "" for each of the scope.

    value: the bound of a limit (jobs, processors or processor-seconds), processors of SIZE, else 0. word: the policy of ORDER, and the rule
    of BACKFILL. gate: of HOURS. queue: the only queue whose jobs it is about, "" for all. since_s, until_s: seconds of the log's clock from
    which to before which it holds, None for no end.
    """

    kind: str
    scope: str
    value: int = 0
    holder: str = ""
    queue: str = ""
    word: str = ""
    gate: Gate | None = None
    since_s: int | None = None
    until_s: int | None = None
    evidence: Evidence = Evidence()
    sentence: str = ""


@dataclass(frozen=True)
class RejectedRule:
    """A candidate that is not among the rules, and why."""

    rule: IdentifiedRule
    because: str
