"""The cluster that a replay names, in the clock and with the names of its log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from assets.common.storage import open_warehouse, pseudonym_key
from assets.common.trace import Trace
from assets.replay.changes.configuration import edited_cluster
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import load_cluster
from traces.catalogue.sources import Source
from traces.cluster.description import ClusterDescription
from traces.common.described_names import with_pseudonyms


def named_cluster(name: str, source: str, edits: Sequence[str] = ()) -> ClusterDescription:
    """The cluster of this name with these edits, with pseudonyms where the source has them. Raises ValueError, with the existing names,
    where there is none, and as `edited_cluster`."""
    cluster = load_cluster(name).description
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    cluster = edited_cluster(cluster, edits, zone_of(declared))
    if declared is not None and declared.pseudonyms:
        cluster = with_pseudonyms(cluster, declared.pseudonyms, pseudonym_key(open_warehouse()))
    return cluster


def zone_of(source: Source | None) -> str:
    """The time zone of a source's cluster (an IANA name), UTC where the catalogue does not say."""
    return (source.time_zone if source is not None else None) or "UTC"


def clock_zero_s(trace: Trace) -> int:
    """UTC second of the log's second 0."""
    return int(trace.clock_zero.replace(tzinfo=UTC).timestamp())
