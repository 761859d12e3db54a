"""What a described cluster decides by and a replay does not, in words for the first lines of an answer."""

from __future__ import annotations

import polars as pl

from assets.replay.limits.unhonoured import honoured_rules, unhonoured_rules
from assets.replay.own.pbs.unmodelled import places_of_held_jobs, unmodelled_by_pbs, unread_by_pbs
from assets.replay.own.slurm.unmodelled import unmodelled_by_slurm
from assets.replay.settings import RunSettings
from traces.cluster.description import ClusterDescription

_RULES = {"slurm": unmodelled_by_slurm, "pbs": unmodelled_by_pbs}


def unmodelled_rules(cluster: ClusterDescription) -> list[str]:
    """Rules of the cluster that are not in a replay under its own scheduler."""
    return _RULES[cluster.scheduler.name](cluster)


def rules_left_out(cluster: ClusterDescription, settings: RunSettings, rows: pl.DataFrame) -> list[str]:
    """Rules of a log's cluster that are not in its replay under these settings. rows: of the trace, with the settings' labels."""
    if settings.own_scheduler is not None:
        return (unread_by_pbs(cluster, rows) if settings.own_scheduler == "pbs" else []) + unmodelled_rules(cluster)
    unhonoured = unhonoured_rules(cluster, settings.policy)
    if settings.cluster is not None:
        return unhonoured
    return [
        f"{rule}: --cluster {cluster.name} has them" for rule in honoured_rules(cluster, settings.policy)
    ] + unhonoured


def own_remarks(cluster: ClusterDescription, settings: RunSettings) -> list[str]:
    """What to know of a replay under the cluster's own scheduler, in sentences."""
    return places_of_held_jobs(cluster) if settings.own_scheduler == "pbs" else []
