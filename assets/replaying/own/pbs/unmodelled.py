"""What a described PBS decides by and our replay does not, in words for the first lines of an answer."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assets.replaying.own.named import is_left_out, left_out_rules
from assets.replaying.own.pbs.requests import without_reservation
from simulator.pbs.limiting import is_counted, is_queue_limit, is_soft_limit
from simulator.pbs.settings import (
    cycle_settings,
    formula_text,
    is_on,
    queue_depths,
    unmodelled_formula,
    unmodelled_levels,
)
from traces.cluster.description import ClusterDescription

_BOTH_HOURS = ("backfill_prime.non_prime", "prime_spill.non_prime")
"""Settings for other hours than prime time that a replay follows."""


def unmodelled_by_pbs(cluster: ClusterDescription) -> list[str]:
    """What a replay under PbsReplayer leaves out, each with what it would have changed. Empty where it follows everything."""
    rules = [*_of_settings(cluster), *_of_nodes(cluster), *_of_limits(cluster), *left_out_rules(cluster)]
    return list(dict.fromkeys(rules))


def unread_by_pbs(cluster: ClusterDescription, rows: pl.DataFrame) -> list[str]:
    """What the log does not say of its jobs, or the cluster of their reservations. rows: of a trace, with REQUEST_LABELS."""
    rules = []
    if without := rows["selected_chunks"].null_count():
        rules.append(
            f"chunks of {without:,} jobs and their placement: the log has processors and nodes, so each node has a chunk"
        )
    if grouped := int(rows["place"].str.contains("group=").sum()):
        rules.append(f"place=group of {grouped:,} jobs: their nodes would be alike")
    if lost := without_reservation(rows, cluster):
        rules.append(f"reservations of {lost:,} jobs: import the cluster together with its accounting logs")
    return rules


def places_of_held_jobs(cluster: ClusterDescription) -> list[str]:
    """That jobs which a limit holds back take places of top jobs, in a sentence. Empty where there are no such limits or places."""
    settings = cycle_settings(cluster.scheduler)
    depth = max(settings.depth, *queue_depths(cluster))
    if not settings.strict or depth < 1 or not any(is_counted(limit) for limit in cluster.limits):
        return []
    return [
        f"as in PBS, a job that a limit holds back takes a top-job place (backfill_depth {depth}): while such jobs have all places, no "
        "start of a job behind them is kept free"
    ]


def _of_settings(cluster: ClusterDescription) -> Iterator[str]:
    values = cluster.scheduler.values
    if is_on(values, "round_robin", False):
        yield f"round_robin={values['round_robin']}: queues would take turns"
    if is_on(values, "backfill_prime", False) and "prime_time" not in values:
        yield f"backfill_prime={values['backfill_prime']}: no file `holidays` says when prime time is"
    if why := unmodelled_formula(cluster.scheduler):
        yield f"job_sort_formula={formula_text(cluster.scheduler)}: jobs would come in its order ({why})"
    elif "job_priority" in formula_text(cluster.scheduler):
        yield "job_sort_formula: job_priority would count; a log does not have it, so it is 0 for all jobs"
    if any(name.endswith(".non_prime") and name not in _BOTH_HOURS for name in values):
        yield "settings for hours outside prime time: those of prime time hold all day"
    if len(str(values.get("preempt_order", "SCR")).split()) > 1:
        yield f"preempt_order={values['preempt_order']}: jobs would give way otherwise near their end; the first letter holds all the time"
    for level in unmodelled_levels(cluster.scheduler) if is_on(values, "preemptive_sched", True) else ():
        yield f"preempt_prio: the level {level}"


def _of_nodes(cluster: ClusterDescription) -> Iterator[str]:
    licences = [name for name in cluster.licences if not is_left_out(cluster, f"resources_available.{name}")]
    if licences:
        yield f"resources of the server {', '.join(licences)}: jobs would wait for them"
    if not is_left_out(cluster, "node_sort_key") and any(
        len(key.split()) > 2 and key.split()[2].lower() != "total" for key in _node_keys(cluster)
    ):
        yield f"node_sort_key={cluster.scheduler.values['node_sort_key']}: nodes would come by what is free or used at the moment"
    hosts = len({node.host or node.name for node in cluster.nodes})
    if hosts < len(cluster.nodes):
        yield f"{len(cluster.nodes)} vnodes of {hosts} hosts: a chunk that fits on none of them alone would be broken over those of a host"
    away = sum(bool(node.absences) for node in cluster.nodes)
    if away and not is_left_out(cluster, "state"):
        yield f"times in which {away} nodes were down or drained"


def _node_keys(cluster: ClusterDescription) -> list[str]:
    return str(cluster.scheduler.values.get("node_sort_key", "")).strip('"').split(",")


def _of_limits(cluster: ClusterDescription) -> Iterator[str]:
    kinds: dict[str, int] = {}
    for limit in cluster.limits:
        followed = is_counted(limit) or is_soft_limit(limit) or is_queue_limit(limit)
        is_named = is_left_out(cluster, limit.source.rpartition(" ")[2])
        if not is_named and (not followed or limit.each in ("group", "project")):
            each = f" a {limit.each}" if limit.each in ("group", "project") else ""
            words = f"{'soft ' if limit.is_soft else ''}{limit.resource}, {limit.counts}{each}"
            kinds[words] = kinds.get(words, 0) + 1
    if refusing := sum(map(is_queue_limit, cluster.limits)):
        yield f"{refusing} {'limit' if refusing == 1 else 'limits'} on queued jobs: the log has only accepted jobs, so none is refused"
    for words, count in kinds.items():
        yield f"{count} {'limit' if count == 1 else 'limits'} ({words}): jobs over them would wait or be refused"
