"""The descriptions of clusters in the home's folder `clusters/`, by name and by source.

The descriptions of the bundled clusters, read from their configuration as anybody's are.

Rules that were read off the log of a source (`tracehouse cluster identify`), and whether they are part of its cluster.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from traces.catalogue.places import clusters_folder
from traces.catalogue.sources import NAME, Source
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.notes import DescribedCluster, read_text_file
from traces.cluster.toml_reading import parse_cluster_toml, read_cluster_file
from traces.cluster.toml_writing import cluster_toml
from traces.pbs.configuration.folder import read_pbs_cluster
from traces.slurm.configuration.folder import read_slurm_cluster
from traces.synthetic.sites import SITES, site_files


@cache
def bundled_cluster(name: str) -> DescribedCluster:
    """The cluster of a bundled site as its configuration has it, without the rule that is in none. Raises KeyError for another name."""
    site = SITES[name]
    read = read_pbs_cluster if site.scheduler == "pbs" else read_slurm_cluster
    with TemporaryDirectory(prefix="tracehouse-") as folder:
        paths = write_site_files(name, Path(folder))
        return read(paths, name, site.time_zone)


def write_site_files(name: str, folder: Path) -> list[Path]:
    """Writes the configuration of a bundled site into a folder."""
    paths = [folder / file for file in site_files(name)]
    for path, text in zip(paths, site_files(name).values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


# --- clusters


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
    kept = path.stat()
    return _read_once(path, kept.st_mtime_ns, kept.st_size, kept.st_ino)


@lru_cache(maxsize=32)
def _read_once(path: Path, *_of_content: int) -> DescribedCluster:
    """One answer asks for the same cluster many times."""
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


def described_as(source: Source, description: ClusterDescription) -> str:
    """The name in the home of one of the descriptions of a source's cluster. Raises ValueError where its file has changed since."""
    for name in source.cluster:
        if load_cluster(name).description == description:
            return name
    raise ValueError(f"{source.declared_at}: a file of {', '.join(source.cluster)} has just changed: run this again")


# --- found rules


BEGIN = "# Found in the log, and adopted by `tracehouse cluster adopt`. This part is written by the command."
NAMED = "# Before, the catalogue named no cluster of this source."
END = "# End of the rules that were found in the log."


def found_path(source: str) -> Path:
    """The file with what the log of a source shows, whether it is adopted or not."""
    return clusters_folder() / "found" / f"{source}.toml"


def load_found(source: str) -> ClusterDescription | None:
    """What the log of a source shows. None before anybody has looked."""
    path = found_path(source)
    return read_cluster_file(path).description if path.exists() else None


def with_found(text: str, tables: str) -> str:
    """The text of a cluster file with these tables as its found rules, in place of those that it had. "" takes them out."""
    begin, end = text.find(BEGIN), text.find(END)
    if begin >= 0 and end >= 0:
        text = text[:begin].rstrip() + "\n" + text[end + len(END) :].lstrip("\n")
    return text.rstrip() + "\n" + (f"\n{BEGIN}\n\n{tables.rstrip()}\n\n{END}\n" if tables else "")


def found_tables(text: str) -> str:
    """The tables of the found rules in the text of a cluster file, "" for none: what `with_found` takes."""
    begin, end = text.find(BEGIN), text.find(END)
    return text[begin + len(BEGIN) : end].strip() if 0 <= begin < end else ""


def adopted_text(path: Path, tables: str) -> str:
    """The text of an existing cluster file with these tables. Raises ConfigurationError where the result is no cluster file."""
    text = with_found(read_text_file(path).text, tables)
    parse_cluster_toml(text, path.name)
    return text


def is_named_by_adoption(path: Path) -> bool:
    """Whether the catalogue names a cluster file because its rules were adopted."""
    return f"\n{NAMED}\n" in read_text_file(path).text


def found_kind(limit: Limit) -> tuple[str, ...]:
    """What found limits of one rule share: those of all queues, each with a bound of its own, are one."""
    return limit.owner, "" if limit.each == "all" else limit.owner_name, limit.counts, limit.each, limit.resource


def rule_counts(cluster: ClusterDescription) -> tuple[int, int]:
    """How many of a cluster's limits, reservations and gates are declared, and how many were found. Of an order each word is found. Found
    reservations are the times of day past which no job runs, and one rule together, as the search has them. So are bounds of one kind
    that change with time, or by user."""
    origins = [limit.origin for limit in cluster.limits if limit.origin != FOUND]
    origins += [gate.origin for gate in cluster.gates]
    origins += [FOUND] * len({found_kind(limit) for limit in cluster.limits if limit.origin == FOUND})
    reserved = [part.origin for part in cluster.reservations]
    origins += [origin for origin in reserved if origin != FOUND] + [FOUND] * (FOUND in reserved)
    origins += [FOUND] * len(cluster.scheduler.order)
    return sum(origin != FOUND for origin in origins), sum(origin == FOUND for origin in origins)


def only_found(cluster: ClusterDescription) -> ClusterDescription:
    """The cluster with the rules alone that were found in a log."""
    return replace(
        cluster,
        limits=tuple(limit for limit in cluster.limits if limit.origin == FOUND),
        gates=tuple(gate for gate in cluster.gates if gate.origin == FOUND),
        reservations=tuple(each for each in cluster.reservations if each.origin == FOUND),
    )


def without_found(cluster: ClusterDescription) -> ClusterDescription:
    """The cluster with its declared rules alone."""
    return replace(
        cluster,
        scheduler=replace(cluster.scheduler, order={}),
        limits=tuple(limit for limit in cluster.limits if limit.origin != FOUND),
        gates=tuple(gate for gate in cluster.gates if gate.origin != FOUND),
        reservations=tuple(each for each in cluster.reservations if each.origin != FOUND),
    )


def rules_beside(seen: ClusterDescription, described: ClusterDescription | None) -> ClusterDescription:
    """The rules that the cluster's file takes: of limits the last ones and no order, where its scheduler has an order of its own."""
    if described is None or described.scheduler.name == "none":
        return seen
    return replace(seen, limits=tuple(_lasting(seen.limits)), scheduler=SchedulerSettings())


def _lasting(limits: Iterable[Limit]) -> Iterator[Limit]:
    """The limits that hold at the end of the log, as if they had held always: a scheduler's own loop knows no limits that begin."""
    for limit in limits:
        if limit.end_s is None:
            yield replace(limit, begin_s=None)
