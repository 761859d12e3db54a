"""The descriptions of clusters in the home's folder `clusters/`, by name and by source."""

from __future__ import annotations

from pathlib import Path

from traces.catalogue.places import clusters_folder
from traces.catalogue.sources import NAME, Source
from traces.cluster.description import ClusterDescription
from traces.cluster.remarks import DescribedCluster
from traces.cluster.toml_reading import read_cluster_file


def cluster_path(name: str) -> Path:
    """The file of a cluster. Raises ValueError for a name that no cluster may have."""
    if not NAME.fullmatch(name):
        raise ValueError(f"bad name of a cluster {name!r}: use letters, digits, dots, dashes and underscores")
    return clusters_folder() / f"{name}.toml"


def cluster_names() -> list[str]:
    """The names of all clusters."""
    return sorted(path.stem for path in clusters_folder().glob("*.toml"))


def load_cluster(name: str) -> DescribedCluster:
    """The cluster of this name. Raises ValueError, with the existing names, where there is none, and ConfigurationError for a bad file."""
    path = cluster_path(name)
    if not path.exists():
        names = ", ".join(cluster_names()) or "none"
        raise ValueError(
            f"unknown cluster {name!r}, the home has {names}. Add it with `tracehouse cluster import DIR --name {name}`"
        )
    return read_cluster_file(path)


def clusters_of_source(source: Source) -> tuple[ClusterDescription, ...]:
    """The descriptions of a source's cluster, from the first that holds to the last.

    Raises ValueError where one is missing, or two hold from the same time."""
    loaded = [load_cluster(name).description for name in source.cluster]
    ordered = sorted(loaded, key=lambda each: -1 if each.valid_from_s is None else each.valid_from_s)
    times = [each.valid_from_s for each in ordered]
    if len(set(times)) < len(times):
        raise ValueError(
            f"{source.declared_at}: the clusters {', '.join(source.cluster)} hold from the same time. Give all but the first "
            "a valid_from in clusters/NAME.toml, such as 2026-03-01T00:00:00Z"
        )
    return tuple(ordered)
