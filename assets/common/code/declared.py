"""What the catalogue says of a source, as assets that nobody makes: their versions change with an entry and with a cluster's file, and with
them what was made before is stale.

Each has a version for each source, as an observation in Dagster's records. Whoever starts runs, or offers them, notes new ones.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import dagster as dg

from assets.common.partitions import OWNERS, SOURCES
from traces.catalogue.catalogue import Catalogue
from traces.catalogue.clusters import cluster_path, found_path
from traces.catalogue.sources import Source

SOURCE_ENTRY = dg.AssetSpec(
    ["catalogue", "entry"],
    description="The entry of a source in the catalogue, but for the cluster that it names. Everything of the source is made from it.",
    group_name="ingest",
    partitions_def=SOURCES,
    owners=OWNERS,
    kinds={"toml"},
)
CLUSTER = dg.AssetSpec(
    ["catalogue", "cluster"],
    description="The clusters that an entry names, with their files in clusters/, and the rules that were read off the log.",
    group_name="ingest",
    partitions_def=SOURCES,
    owners=OWNERS,
    kinds={"toml"},
)
DECLARED = (SOURCE_ENTRY, CLUSTER)


def entry_version(source: Source, catalogue: Catalogue) -> str:
    """Changes with what the entry says of the log and the replays."""
    zones = source.time_zone or catalogue.time_zone, catalogue.names_time_zone
    read = replace(source, cluster=(), description="", queue_command="", declared_at="")
    return _hash(repr((read, zones)).encode())


def cluster_version(source: Source) -> str:
    """Changes with the names and the files of the clusters of a source."""
    files = [*map(cluster_path, source.cluster), found_path(source.name)]
    return _hash(repr(source.cluster).encode(), *(file.read_bytes() if file.exists() else b"" for file in files))


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def note_declared(instance: dg.DagsterInstance, catalogue: Catalogue, names: list[str]) -> None:
    """Notes the versions of these sources, where they are other ones than those of before. Names of no source are left out."""
    for name in names:
        source = catalogue.sources.get(name)
        if source is None:
            continue
        for spec, version in ((SOURCE_ENTRY, entry_version(source, catalogue)), (CLUSTER, cluster_version(source))):
            noted = instance.fetch_observations(
                dg.AssetRecordsFilter(asset_key=spec.key, asset_partitions=[name]), limit=1
            ).records
            observation = noted[0].asset_observation if noted else None
            if observation is None or observation.data_version != version:
                tags = {"dagster/data_version": version}
                instance.report_runless_asset_event(dg.AssetObservation(spec.key, partition=name, tags=tags))
