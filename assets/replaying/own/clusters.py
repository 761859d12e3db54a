"""Which described cluster replays a log under its own scheduler."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from assets.common.trace import Trace
from assets.replaying.limits.way import clock_zero_s, edited_in_log, named_cluster
from assets.replaying.running.loading import catalogue_source
from assets.replaying.running.settings import OWN_SCHEDULERS, RunSettings, own_policy_of
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import clusters_of_source
from traces.catalogue.sources import Source
from traces.cluster.description import ClusterDescription


def described_cluster_of(source: Source, moment_s: int | None = None) -> ClusterDescription | None:
    """The description of a source's cluster that holds at a UTC second, None for the first. None where it has none.

    Raises ValueError where a description is missing."""
    clusters = clusters_of_source(source)
    held = [each for each in clusters if moment_s is None or each.valid_from_s is None or each.valid_from_s <= moment_s]
    return held[-1] if held and moment_s is not None else clusters[0] if clusters else None


def own_cluster_of(source: Source, moment_s: int | None = None) -> ClusterDescription | None:
    """`described_cluster_of` the source. None, too, where its scheduler is none that replays."""
    cluster = described_cluster_of(source, moment_s)
    return cluster if cluster is not None and cluster.scheduler.name in OWN_SCHEDULERS else None


def described_cluster_named(source: str) -> ClusterDescription | None:
    """`described_cluster_of` the source of this name. None for a log that is in no catalogue, too."""
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    return None if declared is None else described_cluster_of(declared)


def policy_on(cluster: ClusterDescription, otherwise: str = "FCFS") -> str:
    """Which policy decides on a cluster where nothing else is asked for: its own scheduler where that replays, and else an order, which is
    `otherwise` unless that is a scheduler."""
    if cluster.scheduler.name in OWN_SCHEDULERS:
        return cluster.scheduler.name
    return otherwise if own_policy_of(otherwise) is None else "FCFS"


def cluster_of_replay(trace: Trace, rows: pl.DataFrame, settings: RunSettings) -> ClusterDescription | None:
    """The cluster that settings name, or else that of the source. None where none is described. Raises ValueError as `own_cluster`."""
    if settings.is_on_cluster:
        return own_cluster(trace, rows, settings)
    if settings.cluster is not None:
        return named_cluster(settings.cluster, trace.source)
    return described_cluster_named(trace.source)


def own_cluster(trace: Trace, rows: pl.DataFrame, settings: RunSettings) -> ClusterDescription:
    """The cluster whose scheduler the settings ask for, when the first of these rows of the trace was submitted. Its times are of the
    log's clock.

    Raises ValueError, with the remedy, where there is none."""
    zero_s, scheduler = clock_zero_s(trace), settings.own_scheduler
    assert scheduler is not None
    if settings.cluster is not None:
        named = named_cluster(settings.cluster, trace.source, settings.edits)
        if named.scheduler.name != scheduler:
            raise ValueError(
                f"cluster {settings.cluster!r} has the scheduler {named.scheduler.name}: give another policy than {scheduler}, such as FCFS"
            )
        return in_clock(named, zero_s)
    source = catalogue_source(trace.source)
    cluster = own_cluster_of(source, zero_s + int(rows["submit_s"][0]))
    if cluster is None or cluster.scheduler.name != scheduler:
        raise ValueError(
            f"source {trace.source!r} has no cluster of {OWN_SCHEDULERS[scheduler]}: import one with "
            f"`tracehouse cluster import DIR --name NAME --source {trace.source}`, or give another policy than {scheduler}"
        )
    return in_clock(edited_in_log(cluster, source, settings.edits), zero_s)


def in_clock(cluster: ClusterDescription, zero_s: int) -> ClusterDescription:
    """The description with reservations and absences of nodes in seconds of a clock whose zero is the UTC second `zero_s`."""
    moved = tuple(
        replace(
            each,
            begin_s=each.begin_s - zero_s,
            end_s=each.end_s - zero_s,
            announced_s=None if each.announced_s is None else each.announced_s - zero_s,
        )
        for each in cluster.reservations
    )
    nodes = tuple(
        replace(
            node,
            absences=tuple(
                replace(away, begin_s=away.begin_s - zero_s, end_s=None if away.end_s is None else away.end_s - zero_s)
                for away in node.absences
            ),
        )
        for node in cluster.nodes
    )
    return replace(cluster, reservations=moved, nodes=nodes)
