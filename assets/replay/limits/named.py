"""The cluster that a replay names, in the clock and with the names of its log."""

from __future__ import annotations

from datetime import UTC

from assets.common.storage import open_warehouse, pseudonym_key
from assets.common.trace import Trace
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import load_cluster
from traces.cluster.description import ClusterDescription
from traces.common.described_names import with_pseudonyms


def named_cluster(name: str, source: str) -> ClusterDescription:
    """The cluster of this name, with pseudonyms where the source has them. Raises ValueError, with the existing names, where there is
    none."""
    cluster = load_cluster(name).description
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    if declared is not None and declared.pseudonyms:
        cluster = with_pseudonyms(cluster, declared.pseudonyms, pseudonym_key(open_warehouse()))
    return cluster


def clock_zero_s(trace: Trace) -> int:
    """UTC second of the log's second 0."""
    return int(trace.clock_zero.replace(tzinfo=UTC).timestamp())
