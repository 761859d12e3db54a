"""A cluster with what a what-if question changes of its configuration: new files, and lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from traces.cluster.description import ClusterDescription
from traces.cluster.differing import changed_values
from traces.pbs.edits import PBS_EDIT_KEYS, PBS_SETTINGS, changed_pbs_cluster, edited_pbs_cluster
from traces.slurm.edits import SLURM_EDIT_KEYS, SLURM_SETTINGS, changed_slurm_cluster, edited_slurm_cluster

_BOUND = re.compile(r"limits\.([1-9]\d*)\.bound=(\d+)")
_CHANGED = {"slurm": changed_slurm_cluster, "pbs": changed_pbs_cluster}
_EDITED = {"slurm": edited_slurm_cluster, "pbs": edited_pbs_cluster}
EDIT_EXAMPLE = "PriorityWeightFairshare=20000"


CONFIGURATION_WORDS = SLURM_EDIT_KEYS | PBS_EDIT_KEYS
"""Every key of an edit, those of Slurm in lower case."""
CONFIGURATION_SETTINGS = SLURM_SETTINGS | PBS_SETTINGS
"""Those that need no name of a part of the cluster before them."""


def is_configuration_word(key: str) -> bool:
    """Whether an edit may begin with it: a key of Slurm in any case, one of PBS, or one with the name of a part before it."""
    return not key.isidentifier() or key.lower() in SLURM_EDIT_KEYS or key in PBS_EDIT_KEYS


class NothingChanges(ValueError):
    """Edits leave a cluster as it is."""


def edited_cluster(cluster: ClusterDescription, edits: Sequence[str], time_zone: str = "UTC") -> ClusterDescription:
    """The cluster with these edits, each a line (KEY=VALUE) or an existing file or folder of new configuration. Files come first. Of a
    cluster without Slurm and PBS they are `limits.N.bound=VALUE`, of its N-th limit.

    time_zone: in which dates are. Raises ValueError, with the remedy, for an edit that cannot be made, and where all change nothing."""
    if not edits:
        return cluster
    if cluster.scheduler.name not in _EDITED:
        return _with_bounds(cluster, edits)
    paths = [Path(edit) for edit in edits if is_file_edit(edit)]
    lines = [edit for edit in edits if not is_file_edit(edit)]
    edited = cluster
    if paths:
        files = [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
        plain = [file for file in files if file.is_file() and not file.name.startswith(".")]
        edited = _CHANGED[cluster.scheduler.name](edited, plain, time_zone)
    if lines:
        edited = _EDITED[cluster.scheduler.name](edited, lines, time_zone)
    if not changed_values(cluster, edited):
        raise NothingChanges(f"{', '.join(edits)}: the cluster {cluster.name} is so already: nothing would change")
    return edited


def is_file_edit(edit: str) -> bool:
    """Whether an edit names files, in place of KEY=VALUE. Raises ValueError for a path that does not exist."""
    if len(edit) < 4096 and "\n" not in edit and Path(edit).exists():
        return True
    if "=" not in edit:
        raise ValueError(f"{edit}: no such file or folder, and no edit such as {EDIT_EXAMPLE}")
    return False


def _with_bounds(cluster: ClusterDescription, edits: Sequence[str]) -> ClusterDescription:
    limits = list(cluster.limits)
    for edit in edits:
        parts = _BOUND.fullmatch(edit.strip())
        if parts is None or int(parts[1]) > len(limits):
            raise ValueError(
                f"{edit}: edits are of a cluster of Slurm or PBS, and {cluster.name} is of {cluster.scheduler.name}: there they are "
                f"limits.N.bound=VALUE, and it has {len(limits)} limits"
            )
        number = int(parts[1]) - 1
        limits[number] = replace(limits[number], bound=int(parts[2]))
    return replace(cluster, limits=tuple(limits))
