"""Finds the rules of a cluster in the first half of its log, and grades them on the second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from models.identification.logged_jobs import LoggedJobs
from models.identification.rules import IdentifiedRule, RejectedRule
from models.judging.fidelity import Agreement
from traces.cluster.description import ClusterDescription


@dataclass(frozen=True)
class Identification:
    """What a log shows of its cluster.

    procs, policy, backfill: of the cluster and its scheduler. rules: found ones, in the order in which the search took them. declared: the
    names of rules that were taken from a description. rejected: all other candidates. replays: how many the search made, of `budget`.
    before, after: how replays without and with the rules agree with the log in its second half. beside: with bounds from the neighbouring
    periods, None where no rule changes over time.
    """

    procs: int
    policy: str
    backfill: str
    rules: tuple[IdentifiedRule, ...]
    rejected: tuple[RejectedRule, ...]
    replays: int
    budget: int
    before: Agreement
    after: Agreement
    beside: Agreement | None = None
    declared: tuple[str, ...] = ()


def identify_rules(
    log: LoggedJobs,
    procs: int,
    declared: ClusterDescription | None = None,
    budget: int = 400,
    advance: Callable[[float, str], None] = lambda share, step: None,
) -> Identification:
    """The rules that a log shows.

    procs: of the cluster, the most that it ever had. declared: what its configuration says, which is taken and not searched. budget: of
    replays. advance: is told which share of the work is done, from 0 to 1, and what comes next.

    Raises ValueError for a log that is too short.
    """
    raise NotImplementedError
