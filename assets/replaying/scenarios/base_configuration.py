"""What scenarios are compared with, and how far the answer can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from assets.common.storage import open_warehouse
from assets.common.trace import Trace
from assets.replaying.own.clusters import cluster_of_replay
from assets.replaying.own.unmodelled import own_remarks, rules_left_out, unread_settings
from assets.replaying.running.grade import SourceGrade, grade_of
from assets.replaying.running.settings import OWN_SCHEDULERS, RunSettings, own_policy_of
from assets.replaying.site import site_of
from models.judging.fidelity import NO_FIGURES

GOOD_GRADES = ("A", "B")
NOT_IN_LOG = (
    "A log does not tell everything: partitions, reservations, holds, weights of accounts, limits of users, GPUs and memory are not in "
    "the replay. Read changes as a direction, and try what matters on the cluster."
)
"""What to know where the grade is poor or missing."""


@dataclass(frozen=True)
class BaseConfiguration:
    """settings: of the base's replay, before [base] changes them. Their outages are what a cluster that grew or shrank lacks.
    procs: of its cluster, None for those of the source. why: where they come from, for people. grade: of the source, None where nothing
    graded it. no_grade: why there is none, empty where there is one. about_clusters: sentences on what clusters decide by and the
    replays do not, None where there is no cluster. is_withheld: whether no figures may be said, though there is no grade."""

    settings: RunSettings
    procs: int | None
    why: str
    grade: SourceGrade | None
    no_grade: str = ""
    about_clusters: tuple[str, ...] | None = None
    is_withheld: bool = False

    def under(self, base: RunSettings, scenarios: Mapping[str, RunSettings], trace: Trace) -> BaseConfiguration:
        """The same for the base as it is, with what of the clusters is not in the replays of a trace. scenarios: by name, of which those
        with another cluster are said, too. Raises ValueError for a cluster that is none."""
        cluster = cluster_of_replay(trace, trace.rows, base)
        if cluster is None:
            return self
        rules = rules_left_out(cluster, base, trace.rows)
        said = [f"not in the replay: {rule}" for rule in rules] + own_remarks(cluster, base)
        for name, settings in scenarios.items():
            other = (
                cluster_of_replay(trace, trace.rows, settings)
                if settings.cluster not in (None, base.cluster) or settings.edits != base.edits
                else None
            )
            if other is not None:
                theirs = rules_left_out(other, settings, trace.rows)
                if settings.edits != base.edits:
                    theirs += unread_settings(cluster, other)
                said += [f"not in the replay of {name}: {rule}" for rule in theirs if rule not in rules]
        why, own = self.why, self.settings.own_scheduler
        if base.own_scheduler is not None and (own_policy_of(base.policy) or ("", ""))[1] == "":
            why = f"the {OWN_SCHEDULERS[base.own_scheduler]} that the cluster {cluster.name} describes"
        elif own is not None:
            why = f"an order in the place of the cluster's own {OWN_SCHEDULERS[own]}"
        return replace(self, why=why, about_clusters=tuple(said)).graded_as(base.policy)

    def graded_as(self, policy: str) -> BaseConfiguration:
        """The same for replays under a policy: without a grade that is of the cluster's own scheduler where an order takes its place."""
        if self.grade is None or self.grade.is_of(policy):
            return self
        withheld = self.grade.grade == NO_FIGURES
        return replace(self, grade=None, no_grade=self.grade.of_own_words, is_withheld=withheld)

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
        return not self.is_withheld and (self.grade is None or self.grade.grade != NO_FIGURES)

    @property
    def trust(self) -> list[str]:
        """What to know of the figures, in sentences: the grade, and what a log does not tell where it is not good."""
        said = self.grade.words if self.grade is not None and not self.no_grade else f"no grade: {self.no_grade}"
        if self.about_clusters is not None:
            return [said, *self.about_clusters]
        return [said] if self.is_trusted else [said, NOT_IN_LOG]


def base_configuration(source: str) -> BaseConfiguration:
    """The base of a source of the catalogue, or of the log at a path: its site. Jobs that are wider than a cluster are left out and
    counted."""
    site = site_of(source)
    return BaseConfiguration(site.settings, site.procs, site.scheduler.why, site.grade, site.no_grade)
