"""What a described PBS decides by and our replay does not, in words for the first lines of an answer."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assets.replay.own.pbs.requests import without_reservation
from simulator.pbs.limiting import is_counted
from simulator.pbs.settings import cycle_settings, formula_text, queue_depths, unmodelled_formula
from traces.cluster.description import ClusterDescription

_IN_USE = {
    "backfill_prime": "no job would run from prime time into other hours, or back",
    "round_robin": "queues would take turns",
}


def unmodelled_by_pbs(cluster: ClusterDescription) -> list[str]:
    """What a replay under PbsReplayer leaves out, each with what it would have changed. Empty where it follows everything."""
    return [*_of_settings(cluster), *_of_nodes(cluster), *_of_limits(cluster)]


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
    for name, effect in _IN_USE.items():
        if str(values.get(name, "")).lower() in ("true", "1", "yes"):
            yield f"{name}={values[name]}: {effect}"
    if why := unmodelled_formula(cluster.scheduler):
        yield f"job_sort_formula={formula_text(cluster.scheduler)}: jobs would come in its order ({why})"
    if any(name.endswith(".non_prime") for name in values):
        yield "settings for hours outside prime time: those of prime time hold all day"
    order = str(values.get("preempt_order", "SCR")).strip('"').split()[0].upper()
    if order.startswith("D"):
        yield f"preempt_order={values['preempt_order']}: jobs would be deleted for others"


def _of_nodes(cluster: ClusterDescription) -> Iterator[str]:
    if cluster.licences:
        yield f"resources of the server {', '.join(cluster.licences)}: jobs would wait for them"
    if dedicated := sum("dedicated" in each.flags for each in cluster.reservations):
        yield f"{dedicated} dedicated times: only jobs of their queues would run then"
    away = sum(bool(node.absences) for node in cluster.nodes)
    if away:
        yield f"times in which {away} nodes were down or drained"


def _of_limits(cluster: ClusterDescription) -> Iterator[str]:
    kinds: dict[str, int] = {}
    for limit in cluster.limits:
        if not is_counted(limit) or limit.each in ("group", "project"):
            each = f" a {limit.each}" if limit.each in ("group", "project") else ""
            words = f"{'soft ' if limit.is_soft else ''}{limit.resource}, {limit.counts}{each}"
            kinds[words] = kinds.get(words, 0) + 1
    for words, count in kinds.items():
        yield f"{count} {'limit' if count == 1 else 'limits'} ({words}): jobs over them would wait or be refused"
