"""Who replays a source, on which cluster, and why: the one decision that all answers share.

It is the scheduler that the source's cluster describes, or an order under the limits that it does. Else the catalogue names an order, or
one fits the log best, as replay/fidelity has found it. Where none gives the log back, the log's header names one, and what is left is FCFS
with EASY. A grade is of exactly this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from assets.common.progress import warn
from assets.common.storage import open_warehouse
from assets.replaying.configuring.outages import Outage
from assets.replaying.limits.holds import follows_shares
from assets.replaying.limits.unhonoured import honoured_rules
from assets.replaying.own.clusters import described_cluster_of
from assets.replaying.running.grade import SourceGrade, grade_of
from assets.replaying.running.loading import is_loaded, is_path
from assets.replaying.running.replayers import check_settings, way_of
from assets.replaying.running.settings import OWN_SCHEDULERS, REFUSABLE, RunSettings, own_policy_of
from models.judging.fidelity import NO_FIGURES
from models.judging.machine import Machine
from simulator.limits.replaying import BACKFILLS_UNDER_LIMITS
from simulator.policies.registry import parse_policy
from simulator.slurm.variants.orders import is_fixed_order
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import described_as
from traces.catalogue.sources import Source
from traces.cluster.description import ClusterDescription
from traces.common.blocks import first_bytes
from traces.common.log import log_files
from warehouse import Warehouse

USUAL_ORDER = {"policy": "FCFS", "backfill": "easy"}
WITHOUT_BACKFILLING = {
    "slurm": ("SchedulerType=sched/builtin",),
    "pbs": ("strict_ordering=True", "server.backfill_depth=0"),
}
"""Lines of the configuration under which a scheduler starts jobs in its order alone."""
EASY_IN_HEADER = re.compile(r"\bEASY\b")
CONSERVATIVE_IN_HEADER = re.compile(r"\bconservative (?:back-?fill|scheduler)", re.IGNORECASE)


@dataclass(frozen=True)
class SiteScheduler:
    """policy, backfill: as replays take them. why: this one, for people. machine: of the cluster that is described, or on which the order
    fits the log, else None. cluster: whose limits hold, by its name in the home, None without limits and for a cluster's own scheduler.
    described: that cluster, in either case."""

    policy: str
    backfill: str
    why: str
    machine: Machine | None = None
    cluster: str | None = None
    described: ClusterDescription | None = None

    @property
    def is_own(self) -> bool:
        """Whether it is the one that the cluster runs, on its nodes."""
        return self.policy in OWN_SCHEDULERS

    @property
    def settings(self) -> dict[str, str]:
        """As settings of a replay, without the machine."""
        order = {} if self.is_own else {"backfill": self.backfill}
        return {"policy": self.policy} | order | ({} if self.cluster is None else {"cluster": self.cluster})

    def is_graded_by(self, grade: SourceGrade) -> bool:
        """Whether a grade is of replays of this one."""
        if self.is_own:
            return grade.policy == self.policy
        fits = (grade.policy, grade.backfill) == (self.policy, self.backfill)
        return fits and grade.is_of_limits == (self.cluster is not None)


@dataclass(frozen=True)
class Site:
    """scheduler: that answers. grade: of it, None without one. no_grade: why there is none."""

    source: str
    scheduler: SiteScheduler
    grade: SourceGrade | None
    no_grade: str = ""

    @property
    def is_described(self) -> bool:
        """Whether nodes, limits or a scheduler come from a description of the cluster."""
        return self.scheduler.described is not None

    @property
    def own_cluster(self) -> ClusterDescription | None:
        """The cluster whose own scheduler replays, None where an order does."""
        return self.scheduler.described if self.scheduler.is_own else None

    @property
    def procs(self) -> int | None:
        """Processors of its machine, None for those that the source has."""
        return None if self.scheduler.machine is None else self.scheduler.machine.procs

    @property
    def settings(self) -> RunSettings:
        """Of its replays, without the processors. Their outages are what a cluster that grew or shrank lacks. Wider jobs are left out."""
        values: dict[str, Any] = {**self.scheduler.settings, "drop_wider": True}
        if (machine := self.scheduler.machine) is not None:
            missing = [] if machine.size_over_time is None else machine.size_over_time.missing
            values["outages"] = [Outage(start=start, end=end, procs=procs).of_log() for start, end, procs in missing]
            values["partitions"] = dict(machine.partitions)
        return RunSettings(**values)

    @property
    def trust(self) -> str:
        """The grade in one line, or why there is none."""
        return self.grade.words if self.grade is not None and not self.no_grade else f"no grade: {self.no_grade}"

    @property
    def row_words(self) -> str:
        """What replays over a row of processors lack, in a sentence. "" where no cluster is described that holds jobs."""
        described = self.scheduler.described
        if described is None:
            return ""
        return f"These replays have a row of processors, without the nodes, limits and order of the cluster {described.name}."


def site_of(source: str, warehouse: Warehouse | None = None) -> Site:
    """The site of a source, or of the log at a path. One that is in no catalogue has nothing described, and no grade. warehouse: None for
    that of the home."""
    declared, warehouse = load_catalogue(may_be_missing=True).sources.get(source), warehouse or open_warehouse()
    is_stored = not is_path(source) and is_loaded(source, warehouse)
    stored = grade_of(warehouse, source) if is_stored else None
    named = declared_scheduler(warehouse if is_stored else None, source)
    in_header = _of_header(_header(warehouse if is_stored else None, source, declared), stored)
    fitted = None if stored is None else _fitted(stored, named, in_header)
    scheduler = fitted or named or in_header
    is_without_figures = stored is not None and stored.grade == NO_FIGURES and named is None
    is_of_nobody = stored is not None and (stored.grade is None or (is_without_figures and scheduler is in_header))
    grade = stored if stored is not None and (is_of_nobody or scheduler.is_graded_by(stored)) else None
    if grade is not None:
        why_not = "" if grade.grade is not None else grade.no_grade_because or ""
    else:
        why_not = _remedy(source, declared is not None, is_stored, is_stale=stored is not None)
    return Site(source, scheduler, grade, why_not)


def declared_scheduler(warehouse: Warehouse | None, source: str) -> SiteScheduler | None:
    """The scheduler that the source's cluster describes, or else the catalogue names. None where neither does, and where nothing of the
    cluster holds jobs back. warehouse: has the source, None where it is not loaded. A cluster that its log cannot be of, such as one
    without the queues of earlier years, is warned of and left out."""
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    if declared is None or is_path(source):
        return None
    described = _described(declared)
    if described is not None and (warehouse is None or _is_of_cluster(warehouse, source, described)):
        return described
    if not declared.scheduler:
        return None
    order = USUAL_ORDER | declared.scheduler
    return SiteScheduler(order["policy"], order["backfill"], "the scheduler that the catalogue names")


def _described(declared: Source) -> SiteScheduler | None:
    """What the source's cluster describes. None where none is described, and where nothing of it holds jobs back."""
    cluster = described_cluster_of(declared)
    if cluster is None:
        return None
    machine, scheduler = Machine(cluster.num_cpus), cluster.scheduler.name
    if scheduler in OWN_SCHEDULERS:
        why = f"the {OWN_SCHEDULERS[scheduler]} that the cluster {cluster.name} describes"
        return SiteScheduler(scheduler, USUAL_ORDER["backfill"], why, machine, described=cluster)
    if not honoured_rules(cluster, USUAL_ORDER["policy"]) and not cluster.scheduler.order:
        return None
    order = USUAL_ORDER | declared.scheduler
    order |= {key: str(value) for key, value in cluster.scheduler.order.items() if key in order}
    policy = parse_policy(order["policy"])
    if order["backfill"] not in BACKFILLS_UNDER_LIMITS or not (is_fixed_order(policy) or follows_shares(policy.name)):
        order = USUAL_ORDER
    of = "the scheduler that the catalogue names" if declared.scheduler else "what most centres run"
    why = f"{of}, with the limits that are described for the source"
    return SiteScheduler(order["policy"], order["backfill"], why, machine, described_as(declared, cluster), cluster)


def _is_of_cluster(warehouse: Warehouse, source: str, scheduler: SiteScheduler) -> bool:
    """Whether the log of a source can be of the cluster that is described for it. Warns where it cannot."""
    cluster = scheduler.described
    assert cluster is not None
    with warehouse.read() as connection:
        widest = connection.execute(
            "SELECT queue, max(procs) FROM core.jobs WHERE source = ? AND runtime_s > 0 AND reservation IS NULL GROUP BY queue",
            [source],
        ).fetchall()
    queues = {None, *(each.queue for each in cluster.reservations)}
    strange = [
        queue for queue, _ in widest if scheduler.is_own and queue not in queues and not cluster.has_queue(queue)
    ]
    faults = [f"has no queue {queue!r}" for queue in strange]
    faults += [
        f"has {cluster.num_cpus} CPUs, and a job {procs}" for _, procs in widest if (procs or 0) > cluster.num_cpus
    ]
    if faults:
        rules = OWN_SCHEDULERS[scheduler.policy] if scheduler.is_own else "limits"
        _warn_once(
            f"{source}: not replayed under the {rules} of the cluster {cluster.name}, which {faults[0]}: "
            f"correct clusters/{cluster.name}.toml (`tracehouse cluster check {cluster.name} {source}`)"
        )
    return not faults


@cache
def _warn_once(text: str) -> None:
    """Several parts of an answer ask for the same site."""
    warn(text)


def _fitted(grade: SourceGrade, named: SiteScheduler | None, in_header: SiteScheduler) -> SiteScheduler | None:
    """What fits the log best. Of an order that the catalogue names, and of that of the header where none gives the log back, it is the
    machine. None where nothing was fitted, or to another scheduler."""
    is_order = grade.own_scheduler is None and not grade.is_of_limits
    if not is_order or grade.policy is None or grade.backfill is None or grade.machine is None or grade.grade is None:
        return None
    if named is None and grade.resemblance != NO_FIGURES:
        why = f"the scheduler that fits the log best, with grade {grade.grade}"
        return SiteScheduler(grade.policy, grade.backfill, why, grade.machine)
    order = named or in_header
    if order.described is None and (order.policy, order.backfill) == (grade.policy, grade.backfill):
        return replace(order, machine=grade.machine)
    return None


def _of_header(header: Iterable[tuple[str, str]], grade: SourceGrade | None) -> SiteScheduler:
    """What the log's header names, else FCFS with EASY. header: (key, value) pairs."""
    patterns = ((EASY_IN_HEADER, "easy"), (CONSERVATIVE_IN_HEADER, "conservative"))
    named = next((backfill for _, value in header for pattern, backfill in patterns if pattern.search(value)), None)
    if named is not None:
        return SiteScheduler("FCFS", named, "the scheduler that the log's header names")
    fitted = "no order was fitted to the log yet"
    if grade is not None:
        fitted = (
            "the log has no waits to fit one to" if grade.grade is None else "none that was tried gives the log back"
        )
    why = f"what most centres run, since neither catalogue nor header name a scheduler, and {fitted}"
    return SiteScheduler(USUAL_ORDER["policy"], USUAL_ORDER["backfill"], why)


def undeclared_scheduler(warehouse: Warehouse, source: str) -> SiteScheduler:
    """What replays a source of which nothing is declared and that no order gives back: what its header names, else FCFS with EASY."""
    return _of_header(_header(warehouse, source, None), None)


def _header(warehouse: Warehouse | None, source: str, declared: Source | None) -> list[tuple[str, str]]:
    """(key, value) pairs of a log's header: as the warehouse has them, None where it does not, and else from its first bytes, without
    keys. Empty where it has none."""
    if warehouse is not None:
        with warehouse.read() as connection:
            query = "SELECT key, value FROM raw.log_headers WHERE source = ? ORDER BY file, position"
            return connection.execute(query, [source]).fetchall()
    path = Path(source) if is_path(source) else None if declared is None else declared.path
    if path is None or not path.exists():
        return []
    lines = first_bytes(log_files(path)[0]).decode("utf-8", "replace").splitlines()
    return [("", line) for line in lines if line.startswith(";")]


def _remedy(source: str, is_declared: bool, is_stored: bool, is_stale: bool) -> str:
    """Why a site has no grade, and what gives it one."""
    if is_stale:
        return f"that of the source is of another scheduler: `tracehouse run {source} --select replay/fidelity` grades this one"
    if is_stored:
        return f"`tracehouse run {source}` gives it one"
    if is_declared:
        return f"the source is not in the warehouse; `tracehouse run {source}` loads and grades it"
    return f"`tracehouse ingest {source} --name NAME` and `tracehouse run NAME` give it one"


def with_order(changes: dict[str, Any], base: RunSettings) -> dict[str, Any]:
    """Changes beside a base under its own scheduler: an order takes the place of the scheduler's own, on the same nodes. It is
    over a row of processors where the empty cluster asks for that, or another key that only such a replay has. There FCFS is usual.
    Without backfilling the scheduler starts jobs in its order alone."""
    scheduler = base.own_scheduler
    if scheduler is None or changes.get("cluster"):
        return changes
    if "cluster" in changes:
        return {"policy": "FCFS"} | changes
    if str(changes.get("backfill", "")).strip().lower() == "none":
        lines = [*changes.get("edits", []), *WITHOUT_BACKFILLING[scheduler]]
        changes = {key: value for key, value in changes.items() if key != "backfill"} | {"edits": lines}
    order = changes.get("policy")
    if order is None or own_policy_of(order) is not None:
        return changes
    honours = way_of(base).replayer.honours
    given = {key: changes[key] for key in REFUSABLE if key in changes and key.replace("_", "-") not in honours}
    usual = RunSettings()
    if any(value != getattr(usual, key) for key, value in given.items()):
        return changes
    return changes | {"policy": f"{scheduler}:{order}"}


def own_partitions(settings: RunSettings, fitted: RunSettings) -> dict[str, int]:
    """Those that the file gives. What the queues of the fitted cluster own comes from the log."""
    return {} if settings.partitions == fitted.partitions else settings.partitions


def on_machine(settings: RunSettings, fitted: RunSettings, procs: int, fitted_procs: int) -> RunSettings:
    """The settings with these processors. What the fitted cluster's queues own, and what it lacks for a while, grow and shrink with it."""
    share = procs / fitted_procs
    values: dict[str, Any] = {"procs": procs}
    if share != 1 and settings.partitions and not own_partitions(settings, fitted):
        values["partitions"] = {queue: max(1, int(owned * share)) for queue, owned in settings.partitions.items()}
    if share != 1 and any(each in fitted.outages for each in settings.outages):
        values["outages"] = [
            each.model_copy(update={"procs": max(1, min(round(each.procs * share), procs - 1))})
            if each in fitted.outages
            else each
            for each in settings.outages
        ]
    return check_settings(settings.model_copy(update=values))
