"""Which scheduler answers are compared with, and why: the one rule of what-if, report and queue.

A fitted scheduler counts only where its replay resembles the log (grade A or B). Else it is what the catalogue or the log's header
names, or else FCFS with EASY. So it is where the cluster's own scheduler has the grade, for replays on a row of processors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from assets.replaying.own.clusters import usual_replay
from assets.replaying.running.grade import SourceGrade
from assets.replaying.running.settings import OWN_SCHEDULERS
from models.judging.machine import Machine
from traces.catalogue.catalogue import load_catalogue
from traces.cluster.description import ClusterDescription
from warehouse import Warehouse

GOOD_GRADES = ("A", "B")
EASY_IN_HEADER = re.compile(r"\bEASY\b")
CONSERVATIVE_IN_HEADER = re.compile(r"\bconservative (?:back-?fill|scheduler)", re.IGNORECASE)


@dataclass(frozen=True)
class BaseScheduler:
    """policy, backfill: as replays take them. why: this one, for people. machine: of a fitted scheduler, or of the
    cluster that is described, else None. cluster: whose limits hold, by its name."""

    policy: str
    backfill: str
    why: str
    machine: Machine | None = None
    cluster: str | None = None


def base_scheduler(
    grade: SourceGrade | None,
    source: str,
    header: Iterable[tuple[str, str]],
    described: ClusterDescription | None = None,
) -> BaseScheduler:
    """The base of a source. grade: None where nothing graded it. header: (key, value) pairs of its log. described: its cluster. None where
    none is described, and for those who cannot replay under one."""
    usual = None if described is None else usual_replay(source)
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    if usual is not None:
        machine = Machine(usual.described.num_cpus)
        if usual.cluster is None:
            why = f"the {OWN_SCHEDULERS[usual.policy]} that the cluster {usual.described.name} describes"
        else:
            of_catalogue = declared is not None and declared.scheduler
            order = "the scheduler that the catalogue names" if of_catalogue else "what most centres run"
            why = f"{order}, with the limits that are described for the source"
        return BaseScheduler(usual.policy, usual.backfill, why, machine, usual.cluster)
    words = {"policy": "FCFS", "backfill": "easy"} | (declared.scheduler if declared is not None else {})
    own = None if grade is None else grade.own_scheduler
    is_of_order = own is None and grade is not None and not grade.is_of_limits
    if is_of_order and grade is not None and grade.resemblance in GOOD_GRADES and grade.machine is not None:
        assert grade.policy is not None and grade.backfill is not None
        why = f"the scheduler that fits the log best, with grade {grade.grade}"
        return BaseScheduler(grade.policy, grade.backfill, why, grade.machine)
    if declared is not None and declared.scheduler:
        return BaseScheduler(words["policy"], words["backfill"], "the scheduler that the catalogue names")
    patterns = ((EASY_IN_HEADER, "easy"), (CONSERVATIVE_IN_HEADER, "conservative"))
    named = next((backfill for _, value in header for pattern, backfill in patterns if pattern.search(value)), None)
    why = "what most centres run" if named is None else "the scheduler that the log's header names"
    if own is not None:
        why += f", in place of the cluster's own {OWN_SCHEDULERS[own]}, which has the grade, because these replays have a row of processors"
        return BaseScheduler("FCFS", named or "easy", f"{why} and not its nodes")
    if grade is not None and grade.is_of_limits:
        why += ", in place of replays under the cluster's limits, which have the grade, because these replays have none"
        return BaseScheduler("FCFS", named or "easy", why)
    if grade is None or grade.grade is None:
        unfitted = "no fitted scheduler has a grade"
    else:
        unfitted = f"the best fit, {grade.policy} with backfilling {grade.backfill}, has only grade {grade.grade}"
    why += ", since neither catalogue nor header name a scheduler, and " if named is None else "; "
    return BaseScheduler("FCFS", named or "easy", f"{why}{unfitted}")


def stored_header(warehouse: Warehouse, source: str) -> list[tuple[str, str]]:
    """The header of a source that is in the warehouse."""
    with warehouse.read() as connection:
        return connection.execute(
            "SELECT key, value FROM raw.log_headers WHERE source = ? ORDER BY file, position", [source]
        ).fetchall()


def header_of_beginning(beginning: bytes) -> list[tuple[str, str]]:
    """The comments of a log that is in no warehouse, from its first bytes, without keys. Empty where its format has no header."""
    lines = beginning.decode("utf-8", "replace").splitlines()
    return [("", line) for line in lines if line.startswith(";")]
