"""What scenarios are compared with: the scheduler that fits the log best, or FCFS with EASY, and why."""

from __future__ import annotations

from dataclasses import dataclass

from assets.common.storage import open_warehouse
from assets.what_if.grade import SourceGrade, grade_of
from assets.what_if.loading import is_loaded
from assets.what_if.settings import RunSettings

NOT_IN_LOG = (
    "A log does not tell everything: partitions, reservations, holds, weights of accounts, limits of users, GPUs and memory are not in "
    "the replay. Read changes as a direction, and try what matters on the cluster."
)
"""What to know where the grade is poor or missing."""
GOOD_GRADES = ("A", "B")


@dataclass(frozen=True)
class BaseConfiguration:
    """settings: of the base's replay, before [base] changes them. procs: of its cluster, None for those of the source. why: where they
    come from, for people. grade: of the source, None where nothing graded it. is_fitted: whether they are what fits the log best."""

    settings: RunSettings
    procs: int | None
    why: str
    grade: SourceGrade | None
    is_fitted: bool

    @property
    def is_trusted(self) -> bool:
        """Whether the grade is good enough to say no more."""
        return self.grade is not None and self.grade.grade in GOOD_GRADES

    @property
    def trust(self) -> list[str]:
        """What to know of the figures, in sentences: the grade, and what a log does not tell where it is not good."""
        said = self.grade.words if self.grade is not None else "no grade: replay/fidelity has not graded this log"
        return [said] if self.is_trusted else [said, NOT_IN_LOG]


def base_configuration(source: str, is_log: bool) -> BaseConfiguration:
    """The base of a source of the catalogue, or of a log. Jobs that are wider than a cluster are left out and counted."""
    usual = RunSettings(drop_wider=True)
    if is_log:
        why = f"a log by its path has no grade; `tracehouse ingest {source} --name NAME` and `tracehouse run --source NAME` give one"
        return BaseConfiguration(usual, None, why, None, False)
    if not is_loaded(source):
        why = f"the source is not in the warehouse, so it has no grade; `tracehouse run --source {source}` gives one"
        return BaseConfiguration(usual, None, why, None, False)
    grade = grade_of(open_warehouse(), source)
    if grade is None:
        why = f"replay/fidelity has not graded this source; `tracehouse run --source {source}` does"
        return BaseConfiguration(usual, None, why, None, False)
    if grade.grade is None or grade.policy is None or grade.backfill is None:
        return BaseConfiguration(usual, None, f"the source has no grade: {grade.no_grade_because}", grade, False)
    fitted = usual.model_copy(update={"policy": grade.policy, "backfill": grade.backfill})
    why = "the scheduler that fits the log best (replay/fidelity)"
    return BaseConfiguration(fitted, grade.procs, why, grade, True)
