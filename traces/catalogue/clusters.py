"""The descriptions of clusters in the home's folder `clusters/`, by name and by source."""

from __future__ import annotations

import secrets
from pathlib import Path

from traces.catalogue.bundled import bundled_cluster, write_site_files
from traces.catalogue.places import clusters_folder
from traces.catalogue.sources import NAME, Source
from traces.cluster.description import ClusterDescription
from traces.cluster.remarks import DescribedCluster
from traces.cluster.toml_reading import read_cluster_file
from traces.cluster.toml_writing import cluster_toml
from traces.synthetic.sites import SITES


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
    if not path.exists() and name in SITES:
        write_bundled_cluster(name, path)
    if not path.exists():
        names = ", ".join(cluster_names()) or "none"
        raise ValueError(
            f"unknown cluster {name!r}, the home has {names}. Add it with `tracehouse cluster import DIR --name {name}`"
        )
    return read_cluster_file(path)


def write_bundled_cluster(name: str, path: Path) -> None:
    """Writes the description of a bundled cluster, and the configuration that it is from into a folder of its name."""
    path.with_suffix("").mkdir(parents=True, exist_ok=True)
    write_site_files(name, path.with_suffix(""))
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    new.write_text(cluster_toml(bundled_cluster(name)), encoding="utf-8")
    new.rename(path)  # others find it whole


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
