"""What scenarios are compared with, and how far the answer can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.common.storage import open_warehouse
from assets.replay.changes.outages import Outage
from assets.replay.grade import SourceGrade, grade_of
from assets.replay.limits.named import named_cluster
from assets.replay.limits.unhonoured import unhonoured_rules
from assets.replay.loading import catalogue_source, is_loaded
from assets.replay.own.clusters import own_cluster_of
from assets.replay.own.unmodelled import unmodelled_rules
from assets.replay.scenarios.base_scheduler import (
    GOOD_GRADES,
    NO_FIGURES,
    base_scheduler,
    header_of_beginning,
    stored_header,
)
from assets.replay.settings import RunSettings
from traces.common.blocks import first_bytes
from traces.common.log import log_files

NOT_IN_LOG = (
    "A log does not tell everything: partitions, reservations, holds, weights of accounts, limits of users, GPUs and memory are not in "
    "the replay. Read changes as a direction, and try what matters on the cluster."
)
"""What to know where the grade is poor or missing."""


@dataclass(frozen=True)
class BaseConfiguration:
    """settings: of the base's replay, before [base] changes them. Their outages are what a cluster that grew or shrank lacks.
    procs: of its cluster, None for those of the source. why: where they come from, for people. grade: of the source, None where nothing
    graded it. no_grade: why there is none, empty where there is one. not_modelled: what the source's own scheduler, or the cluster that the
    base names, decides by and the replay does not. None where there is neither."""

    settings: RunSettings
    procs: int | None
    why: str
    grade: SourceGrade | None
    no_grade: str = ""
    not_modelled: tuple[str, ...] | None = None

    def under(self, settings: RunSettings, source: str) -> BaseConfiguration:
        """The same, where the base's settings name a cluster whose limits hold: what of that is not in the replay. Raises ValueError for a
        cluster that is none."""
        if settings.cluster is None:
            return self
        cluster = named_cluster(settings.cluster, source)
        own = settings.is_on_cluster
        rules = unmodelled_rules(cluster) if own else unhonoured_rules(cluster, settings.policy)
        return replace(self, not_modelled=tuple(rules))

    def graded_for(self, part: tuple[str, str] | None, source: str) -> BaseConfiguration:
        """The same with the grade of a part of the jobs, where that has one of its own. part: as replay.fidelity names it, None for all."""
        own = None if part is None or self.grade is None else grade_of(open_warehouse(), source, part)
        return self if own is None or own.grade is None else replace(self, grade=own)

    @property
    def letters(self) -> dict[str, str]:
        """The letter of each figure that has one."""
        return {} if self.grade is None else self.grade.letters

    @property
    def is_trusted(self) -> bool:
        """Whether the grade is good enough to say no more."""
        return self.grade is not None and self.grade.grade in GOOD_GRADES

    @property
    def has_figures(self) -> bool:
        """Whether figures and verdicts may be said. With grade D only the order of the scenarios and their direction may."""
        return self.grade is None or self.grade.grade != NO_FIGURES

    @property
    def trust(self) -> list[str]:
        """What to know of the figures, in sentences: the grade, and what a log does not tell where it is not good."""
        said = self.grade.words if self.grade is not None and not self.no_grade else f"no grade: {self.no_grade}"
        if self.not_modelled is not None:
            return [said, *(f"not in the replay: {rule}" for rule in self.not_modelled)]
        return [said] if self.is_trusted else [said, NOT_IN_LOG]


def base_configuration(source: str, is_log: bool) -> BaseConfiguration:
    """The base of a source of the catalogue, or of a log. Jobs that are wider than a cluster are left out and counted."""
    grade, remedy = None, f"`tracehouse run {source}` gives it one"
    if is_log:
        header = header_of_beginning(first_bytes(log_files(Path(source))[0]))
        remedy = f"`tracehouse ingest {source} --name NAME` and `tracehouse run NAME` give it one"
    elif is_loaded(source):
        header, grade = stored_header(open_warehouse(), source), grade_of(open_warehouse(), source)
    else:
        header, remedy = [], f"the source is not in the warehouse; `tracehouse run {source}` loads and grades it"
        path = catalogue_source(source).path
        if path is not None and path.exists():
            header = header_of_beginning(first_bytes(log_files(path)[0]))
    own = None if is_log else own_cluster_of(catalogue_source(source))
    scheduler = base_scheduler(grade, source, header, own)
    values: dict[str, Any] = {"policy": scheduler.policy, "backfill": scheduler.backfill, "drop_wider": True}
    machine = scheduler.machine
    if machine is not None:
        sizes = machine.size_over_time.missing if machine.size_over_time is not None else []
        values["outages"] = [Outage(start=start, end=end, procs=procs) for start, end, procs in sizes]
        values["partitions"] = dict(machine.partitions)
    no_grade = remedy if grade is None else (grade.no_grade_because or "") if grade.grade is None else ""
    return BaseConfiguration(
        RunSettings(**values),
        None if machine is None else machine.procs,
        scheduler.why,
        grade,
        no_grade,
        None if own is None else tuple(unmodelled_rules(own)),
    )
