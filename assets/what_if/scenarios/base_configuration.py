"""What scenarios are compared with: the scheduler that fits the log best, or FCFS with EASY, and why."""

from __future__ import annotations

from dataclasses import dataclass

from assets.common.storage import open_warehouse
from assets.what_if.grade import SourceGrade, grade_of
from assets.what_if.loading import is_loaded
from assets.what_if.settings import Outage, RunSettings

NOT_IN_LOG = (
    "A log does not tell everything: partitions, reservations, holds, weights of accounts, limits of users, GPUs and memory are not in "
    "the replay. Read changes as a direction, and try what matters on the cluster."
)
"""What to know where the grade is poor or missing."""
GOOD_GRADES = ("A", "B")


@dataclass(frozen=True)
class BaseConfiguration:
    """settings: of the base's replay, before [base] changes them. Their outages are what a cluster that grew or shrank lacks.
    procs: of its cluster, None for those of the source. why: where they come from, for people. grade: of the source, None where nothing
    graded it. no_grade: why there is none, empty where there is one."""

    settings: RunSettings
    procs: int | None
    why: str
    grade: SourceGrade | None
    no_grade: str = ""

    @property
    def is_trusted(self) -> bool:
        """Whether the grade is good enough to say no more."""
        return self.grade is not None and self.grade.grade in GOOD_GRADES

    @property
    def trust(self) -> list[str]:
        """What to know of the figures, in sentences: the grade, and what a log does not tell where it is not good."""
        said = self.grade.words if self.grade is not None and not self.no_grade else f"no grade: {self.no_grade}"
        return [said] if self.is_trusted else [said, NOT_IN_LOG]


def base_configuration(source: str, is_log: bool) -> BaseConfiguration:
    """The base of a source of the catalogue, or of a log. Jobs that are wider than a cluster are left out and counted."""
    usual, why = RunSettings(drop_wider=True), "the usual rules, since the source has no grade"
    if is_log:
        why = "the usual rules, since a log by its path has no grade"
        remedy = f"`tracehouse ingest {source} --name NAME` and `tracehouse run NAME` give it one"
        return BaseConfiguration(usual, None, why, None, remedy)
    if not is_loaded(source):
        remedy = f"the source is not in the warehouse; `tracehouse run {source}` loads and grades it"
        return BaseConfiguration(usual, None, why, None, remedy)
    grade = grade_of(open_warehouse(), source)
    if grade is None:
        remedy = f"replay/fidelity has not looked at this source; `tracehouse run {source}` makes it do so"
        return BaseConfiguration(usual, None, why, None, remedy)
    machine = grade.machine
    if grade.grade is None or grade.policy is None or grade.backfill is None or machine is None:
        return BaseConfiguration(usual, None, why, grade, grade.no_grade_because or "")
    sizes = machine.size_over_time.missing if machine.size_over_time is not None else []
    changes = {
        "policy": grade.policy,
        "backfill": grade.backfill,
        "outages": [Outage(start=start, end=end, procs=procs) for start, end, procs in sizes],
        "partitions": dict(machine.partitions),
    }
    fitted = usual.model_copy(update=changes)
    why = "the scheduler that fits the log best (replay/fidelity)"
    return BaseConfiguration(fitted, grade.procs, why, grade)
