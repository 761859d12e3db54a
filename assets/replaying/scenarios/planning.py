"""From a file of scenarios to replays that can run: everything is checked before anything is replayed.

The settings of one planned replay in a line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.common.storage import open_warehouse
from assets.common.trace import Trace
from assets.common.writing.options import options_of
from assets.replaying.configuring.outages import outages_of, read_outages
from assets.replaying.configuring.sizes import AskedProcs, parse_load, parse_nodes, parse_procs
from assets.replaying.limits.way import check_dates, named_cluster
from assets.replaying.own.clusters import own_cluster, policy_on
from assets.replaying.own.way import machines_more, number_of_own_runs, size_words
from assets.replaying.running.at_load import load_remark
from assets.replaying.running.loading import (
    catalogue_source,
    check_log_estimates,
    is_path,
    load_any_trace,
    log_source,
    most_in_use,
)
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.replayers import check_settings, choose_policy
from assets.replaying.running.run import changed_rows, check_partitions, partition_shares
from assets.replaying.running.scored_part import PartOptions, graded_part, part_of
from assets.replaying.running.settings import OWN_SCHEDULERS, REFUSABLE, RunSettings, own_policy_of
from assets.replaying.scenarios.base_configuration import BaseConfiguration, base_configuration
from assets.replaying.scenarios.scenario_file import BASE, Changes, ScenarioFile
from assets.replaying.site import on_machine, own_partitions, with_order
from models.runtime.estimates import REQUESTED
from simulator.jobs.words import partitions_text
from traces.catalogue.clusters import load_cluster
from traces.cluster.differing import changed_values
from traces.cluster.resizing import ClusterSizes

GROUP_LABELS = ("queue", "account", "qos")
"""Columns of core.jobs that results are grouped by, besides the user."""


@dataclass(frozen=True)
class PlannedReplay:
    """One replay that is ready to run. settings: checked, with the processors. path: of its table in the file. node_procs: processors of
    a node, where its size is said in nodes, else None. remark: what to know of its size and load, "" for nothing."""

    name: str
    settings: RunSettings
    policy: ChosenPolicy
    path: tuple[str, ...]
    node_procs: int | None = None
    remark: str = ""

    @property
    def procs(self) -> int:
        """Processors of its cluster."""
        assert self.settings.procs is not None
        return self.settings.procs


@dataclass(frozen=True)
class ScenarioPlan:
    """Replays of one trace, checked.

    failures: why further scenarios of the file cannot be replayed, by name. scored: job_index of the jobs that are scored,
    int64, ascending. scored_words: which these are, empty for all jobs. overridden: keys of [base]. changed_lines: by scenario, each value
    of the cluster's configuration that its edits change, in words."""

    file: ScenarioFile
    source: str
    trace: Trace
    configuration: BaseConfiguration
    base: PlannedReplay
    scenarios: list[PlannedReplay]
    scored: NDArray[np.int64]
    scored_words: str
    overridden: tuple[str, ...]
    failures: dict[str, str]
    changed_lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def runs_words(self) -> str:
        """How many runs the figures are of, where the base has several, in one line. Else empty."""
        own, runs = self.base.settings.own_scheduler, number_of_own_runs(self.trace.rows.height)
        if own is None or runs == 1:
            return ""
        waits = f"waits are of the first of {runs} runs, as in `replay` and the grade"
        return f"{OWN_SCHEDULERS[own]} is not deterministic: {waits}, changes are means of all"


class _AskedReplay(NamedTuple):
    path: tuple[str, ...]
    settings: RunSettings
    size: AskedProcs | None
    policy: ChosenPolicy


def plan_scenarios(
    file: ScenarioFile,
    source: str | None = None,
    part: PartOptions | None = None,
    read_jobs: Callable[[bool, Sequence[str]], Trace] | None = None,
) -> ScenarioPlan:
    """The replays of a file. source: a source or the path of a log, instead of the file's. part: what is scored, instead of the file's.
    read_jobs: gives the trace, with or without cancelled jobs and with further columns, where the log has been read already.

    A scenario that cannot be replayed takes no other along: it is in `failures`. Raises ValueError, CatalogueError and LogError with the
    remedy where the base is wrong, or every scenario. Faults of a scenario name file and scenario.
    """
    source = source or file.source
    if source is None:
        raise ValueError(
            f'{file.where}: no source: give --source NAME, or write source = "NAME" at the top of the file'
        )
    is_log = is_path(source)
    declared = log_source(Path(source)) if is_log else catalogue_source(source)
    configuration = base_configuration(source)
    with file.naming(BASE):
        of_base = with_order(file.base, configuration.settings)
        asked_base = _asked((BASE,), of_base, configuration.settings, source, is_log, configuration.settings)
    usual, asked, failures = asked_base.settings, [], dict(file.faults)
    for name, changes in file.scenarios.items():
        with file.keeping_fault(name, failures):
            changes = with_order(changes, usual)
            asked.append(_asked(("scenarios", name), changes, usual, source, is_log, configuration.settings))
    part = file.part if part is None else part
    of_settings = (label for each in (asked_base, *asked) for label in each.settings.labels)
    labels = list(dict.fromkeys([*GROUP_LABELS, *part.labels, *of_settings]))
    trace = read_jobs(usual.cancelled, labels) if read_jobs else load_any_trace(declared, usual, not is_log, labels)
    for each in [each for each in asked if each.settings.edits]:
        with file.keeping_fault(each.path[-1], failures):
            own_cluster(trace, trace.rows, each.settings)
    asked = [each for each in asked if each.path[-1] not in failures]
    of_scenarios = {each.path[-1]: each.settings for each in asked}
    configuration = configuration.under(asked_base.settings, of_scenarios, trace)
    node_procs = declared.procs_per_node or trace.node_procs
    scored = part_of(trace.rows, trace.clock, part)
    configuration = configuration.graded_for(graded_part(trace.rows, part), source)
    scored_jobs = trace.rows["job_index"].to_numpy()[scored.mask]
    with file.naming(BASE):
        base = _ready(trace, asked_base, configuration, None, node_procs, scored_jobs)
    scenarios = []
    for each in asked:
        with file.keeping_fault(each.path[-1], failures):
            scenarios.append(_ready(trace, each, configuration, base, node_procs, scored_jobs))
    if not scenarios:
        raise ValueError("\n".join(failures.values()))
    words = "" if part.is_all else scored.words
    overridden = tuple(file.base)
    changes = _changed_lines(trace, base, scenarios)
    return ScenarioPlan(
        file, source, trace, configuration, base, scenarios, scored_jobs, words, overridden, failures, changes
    )


def _changed_lines(trace: Trace, base: PlannedReplay, scenarios: Sequence[PlannedReplay]) -> dict[str, tuple[str, ...]]:
    """Of each replay with edits of its own, the values of the configuration that differ from the base's, and of each whose cluster has
    another size than is described, the nodes that come or go."""
    lines: dict[str, tuple[str, ...]] = {}
    for each in (base, *scenarios):
        if not (each.settings.is_on_cluster and base.settings.is_on_cluster):
            continue
        of_size = size_words(trace, trace.rows, each.settings)
        changes: tuple[str, ...] = ()
        if each.settings.edits != base.settings.edits:
            of_base, edited = (own_cluster(trace, trace.rows, one.settings) for one in (base, each))
            changes = tuple(map(str, changed_values(of_base, edited)))
        if changes or of_size:
            lines[each.name] = (*changes, *([of_size] if of_size else []))
    return lines


def _settings(changes: Changes, base: RunSettings, fitted: RunSettings) -> tuple[RunSettings, AskedProcs | None]:
    """The settings of a replay without its processors, and how many processors are asked for. fitted: of the scheduler that fits best.
    What its cluster lacks while it is smaller goes with further outages and changes of the size, but not with a number of processors."""
    values: dict[str, Any] = {key: changes[key] for key in options_of(RunSettings) if key in changes and key != "procs"}
    if "cluster" in values:
        values["cluster"] = values["cluster"] or None
    if "edits" in values:
        values["edits"] = [*base.edits, *values["edits"]]
    if values.get("cluster") is not None:
        values = _on_named_cluster(values["cluster"], base, fitted) | values
    size = None
    if "procs" in changes:
        size = parse_procs(changes["procs"])
    elif "nodes" in changes:
        size = parse_nodes(changes["nodes"], changes.get("procs_per_node"))
    elif "procs_per_node" in changes:
        raise ValueError("procs_per_node says how large the nodes of nodes = ... are: give nodes, too")
    missing = [] if "cluster" in values else [each for each in base.outages if each in fitted.outages]
    outages = [each for each in base.outages if each not in fitted.outages]
    if size is not None and size.procs is not None:
        missing = []
    if "outages" in values:
        outages = read_outages(Path(values["outages"]))
    if "load" in changes:
        values["load"] = parse_load(changes["load"], base.load)
    values["outages"] = [*missing, *outages]
    settings = base.model_copy(update=values)
    try:
        return check_settings(settings), size
    except ValueError as error:
        own = settings.model_copy(update={"outages": outages, "partitions": own_partitions(settings, fitted)})
        check_settings(own)  # a fault of the scenario itself keeps its message
        raise ValueError(
            f"{error}. The fitted cluster has them: give a number of procs for one size, and partitions = {{}} where all queues share it"
        ) from None


def _on_named_cluster(name: str, base: RunSettings, fitted: RunSettings) -> dict[str, Any]:
    """What a cluster that is named changes: its scheduler decides, and what only the scheduler that fits best has goes. Raises ValueError
    for a cluster that is none."""
    policy = policy_on(load_cluster(name).description, base.policy)
    usual = RunSettings(policy=policy)
    of_cluster = REFUSABLE if usual.is_on_cluster else ("partitions",)
    gone = [each for each in of_cluster if getattr(base, each) == getattr(fitted, each)]
    return {each: getattr(usual, each) for each in gone if each not in ("policy", "outages")} | {"policy": policy}


def _asked(
    path: tuple[str, ...],
    changes: Changes,
    base: RunSettings,
    source: str,
    is_log: bool,
    fitted: RunSettings,
) -> _AskedReplay:
    settings, size = _settings(changes, base, fitted)
    if path != (BASE,) and settings.users != base.users:
        raise ValueError(
            "users: write it into [base], for all of them. Without it each scenario is replayed in both ways"
        )
    if is_log:
        check_log_estimates(Path(source), settings)
    policy = choose_policy(settings, None if is_log else open_warehouse(), source)
    return _AskedReplay(path, settings, size, policy)


def _ready(
    trace: Trace,
    asked: _AskedReplay,
    configuration: BaseConfiguration,
    base: PlannedReplay | None,
    node_procs: int | None,
    scored: NDArray[np.int64],
) -> PlannedReplay:
    """base: None for the base itself. Raises ValueError where no scored job is
    left, for a queue that is none, and where there are no predictions."""
    size, fitted_procs = asked.size, configuration.procs or trace.cluster_procs
    procs, today = _procs_of(trace, asked, base, fitted_procs, node_procs)
    settings = on_machine(asked.settings, configuration.settings, procs, fitted_procs)
    if asked.settings.partitions != configuration.settings.partitions:
        check_partitions(trace, settings.partitions)
    if settings.cluster is not None and not settings.is_on_cluster:
        check_dates(trace, settings.cluster, settings.load)
    rows = changed_rows(trace, settings)
    rows = rows.filter(rows["procs"] <= partition_shares(rows, settings.partitions, procs))
    if not rows["job_index"].is_in(scored).any():
        raise ValueError(
            "no scored job is left: take fewer processors away, leave fewer queues out, or score other jobs"
        )
    if settings.believed.is_predicted:
        trace.jobs_of(rows, settings.believed)
    outages_of(settings.outages, procs)
    in_nodes = size is not None and size.in_nodes and not settings.is_on_cluster
    of_nodes = (size.node_procs or node_procs) if size is not None and in_nodes else None
    of_size = "" if size is None else size.remark(today, 0 if size.number is None else most_in_use(trace), procs)
    same_load = base is not None and settings.load == base.settings.load
    remarks = [of_size, "" if same_load else load_remark(trace, settings)]
    return PlannedReplay(asked.path[-1], settings, asked.policy, asked.path, of_nodes, "; ".join(filter(None, remarks)))


def _procs_of(
    trace: Trace, asked: _AskedReplay, base: PlannedReplay | None, fitted_procs: int, node_procs: int | None
) -> tuple[int, int]:
    """The processors of a replay, and how many of what its size counts, processors or nodes, there are without it. base: None for the base
    itself. Under its own scheduler a cluster has whole machines."""
    size, settings = asked.size, asked.settings
    same = base is not None and settings.cluster == base.settings.cluster
    if settings.is_on_cluster:
        sizes, before = ClusterSizes(own_cluster(trace, trace.rows, settings)), 0
        if base is not None and same and base.settings.is_on_cluster:
            of_base = ClusterSizes(own_cluster(trace, trace.rows, base.settings))
            before = of_base.nearest(base.procs)
        today = sizes.machines + before if size is not None and size.in_nodes else sizes.procs(before)
        return sizes.procs(machines_more(sizes, size, before)), today
    cluster_procs = fitted_procs if base is None else base.procs
    if settings.cluster is not None and not same:
        cluster_procs = named_cluster(settings.cluster, trace.source).num_cpus
    if size is None:
        return cluster_procs, cluster_procs
    unit = (size.node_procs or node_procs or 1) if size.in_nodes else 1
    return size.of(cluster_procs, node_procs), cluster_procs // unit


# --- replay words


def replay_words(planned: PlannedReplay, procs: bool) -> str:
    """Order, backfilling and estimates of a replay, and other settings that are not the usual ones. procs: whether its size is said."""
    settings = planned.settings
    own = own_policy_of(settings.policy)
    words = [planned.policy.text]
    words += (
        [f"an order in the place of {OWN_SCHEDULERS[own[0]]}'s own, on its nodes"] if own is not None and own[1] else []
    )
    words += [] if settings.is_on_cluster else [f"backfilling {settings.backfill}"]
    is_usual = settings.is_on_cluster and settings.believed == REQUESTED
    words += [] if is_usual else [f"{settings.estimates} times"]
    words += [f"{planned.procs:,} processors"] if procs else []
    of = "of" if settings.is_on_cluster else "under the limits of"
    words += [f"{of} the cluster {settings.cluster}"] if settings.cluster else []
    words += ["its configuration edited"] if settings.edits else []
    words += ["fewer processors for a while"] if settings.outages else []
    words += [f"load {settings.load:g}"] if settings.load != 1 else []
    words += ["users keep their pace"] if settings.is_closed else []
    words += [f"without queue {', '.join(settings.without_queue)}"] if settings.without_queue else []
    words += [f"queues that own processors: {partitions_text(settings.partitions)}"] if settings.partitions else []
    words += [f"requests rounded up to {settings.round_walltimes}"] if settings.round_walltimes else []
    words += [f"inspector {settings.inspector}"] if settings.inspector else []
    return ", ".join(words)
