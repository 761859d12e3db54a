"""What a described cluster decides by and a replay under its own scheduler does not."""

from __future__ import annotations

from assets.replay.own.pbs.unmodelled import unmodelled_by_pbs
from assets.replay.own.slurm.unmodelled import unmodelled_by_slurm
from traces.cluster.description import ClusterDescription

_RULES = {"slurm": unmodelled_by_slurm, "pbs": unmodelled_by_pbs}


def unmodelled_rules(cluster: ClusterDescription) -> list[str]:
    """Rules of the cluster that are not in a replay under its own scheduler, in words for the first lines of an answer."""
    return _RULES[cluster.scheduler.name](cluster)
