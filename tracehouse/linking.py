"""Which cluster a log is of: the key `cluster` of a source, as the commands write it, and which one it may be."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from assets.common.writing.locks import declares
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import cluster_names, load_cluster
from traces.catalogue.editing import add_source, link_clusters, linkable_source
from traces.catalogue.sources import Source
from traces.formats import guess_format


@dataclass(frozen=True)
class ClusterLink:
    """names: the clusters of a source. former: those that it named before."""

    source: str
    names: tuple[str, ...]
    former: tuple[str, ...]

    def __str__(self) -> str:
        """What is said of it: `larch, in place of birch`."""
        named = ", ".join(self.names)
        if self.names == self.former:
            return f"{named}, as before"
        return named + (f", in place of {', '.join(self.former)}" if self.former else "")


def named_clusters(entry: Source | None, cluster: str, is_later: bool = False) -> tuple[str, ...]:
    """The clusters of a source that shall name this one. is_later: whether it holds from some time on, behind those that are named."""
    former = entry.cluster if entry is not None else ()
    if cluster in former:
        return former
    return (*former, cluster) if is_later else (cluster,)


def link_cluster(source: str, cluster: str, is_later: bool = False) -> ClusterLink:
    """Names a cluster of the home at a source of the catalogue. A log of the inbox gets an entry of its own.

    is_later: as in `named_clusters`. Raises CatalogueError for an unknown source and one that no command may change, and ValueError for
    a cluster that the home does not have."""
    load_cluster(cluster)
    with declares(source):
        entry = linkable(source)
        names = named_clusters(entry, cluster, is_later)
        if _is_in_inbox(entry):
            assert entry.path is not None
            add_source(source, entry.path, guess_format(entry.path), {"cluster": cluster})
        elif names != entry.cluster:
            link_clusters(source, names)
        return ClusterLink(source, names, entry.cluster)


def linkable(source: str) -> Source:
    """A source to which commands can link a cluster. Raises CatalogueError for another."""
    entry = load_catalogue().source(source)
    return entry if _is_in_inbox(entry) else linkable_source(source)


def _is_in_inbox(entry: Source) -> bool:
    """Whether a log is a source because it lies in the inbox, and no catalogue has it."""
    return entry.path is not None and entry.declared_at == str(entry.path)


def possible_clusters(entry: Source) -> list[str]:
    """The clusters of the home that may be that of a log: no source names them, and their scheduler writes such logs. None for a log that
    names one."""
    if entry.cluster or entry.path is None:
        return []
    named = {name for each in load_catalogue().sources.values() for name in each.cluster}
    return [name for name in cluster_names() if name not in named and _writes(name, entry)]


def possible_sources(cluster: str) -> list[Source]:
    """The logs that may be of a cluster: they name none, and its scheduler writes such logs. None where a source names it already."""
    entries = load_catalogue().sources.values()
    if any(cluster in each.cluster for each in entries):
        return []
    return [each for each in entries if not each.cluster and each.path is not None and _writes(cluster, each)]


def _writes(cluster: str, entry: Source) -> bool:
    """Whether the scheduler of a cluster may have written a log: in its own format, or in SWF, which has logs of all."""
    with suppress(ValueError):  # a file with a fault is for `cluster check` to say
        return entry.format in ("swf", "auto", load_cluster(cluster).description.scheduler.name)
    return False


def command_to_link(entry: Source, cluster: str) -> str:
    """The command that names a cluster at a source."""
    return f"tracehouse ingest {entry.path} --name {entry.name} --cluster {cluster}"
