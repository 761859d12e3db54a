"""Archives of `tracehouse collect`: their log becomes a source, and their configuration its cluster."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from tracehouse.clusters import import_cluster, read_configuration
from traces.catalogue.clusters import cluster_path, load_cluster
from traces.catalogue.editing import name_clusters
from traces.catalogue.places import home
from traces.cluster.differing import changed_values
from traces.cluster.remarks import NOT_MODELLED, UNKNOWN_KEY, remarks_of
from traces.collector.archive import CollectedSite, unpack_collection


@dataclass(frozen=True)
class UnpackedLog:
    """site: what the archive's manifest says. log: the folder of all days that archives of this name have had. configuration: of this
    archive."""

    site: CollectedSite
    log: Path
    configuration: Path


def unpack_log(archive: Path, name: str) -> UnpackedLog:
    """Unpacks an archive into collected/NAME of the home. Days that an earlier archive of this name had are replaced, others stay.

    Raises ValueError for a file that is no archive of `tracehouse collect`, or not whole, and then leaves all as it was.
    """
    folder = home() / "collected" / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as new:
        site = unpack_collection(archive, Path(new))
        log, configuration = folder / "accounting", folder / f"configuration-{site.last_day}"
        for target, source in ((log, site.log), (configuration, site.configuration)):
            target.mkdir(exist_ok=True)
            for file in sorted(source.iterdir()) if source.is_dir() else ():
                file.replace(target / file.name)
    if not any(log.iterdir()):
        raise ValueError(f"{archive}: expected a log in its folder accounting, found none. Its MANIFEST says why")
    return UnpackedLog(site, log, configuration)


def import_collected(unpacked: UnpackedLog, name: str) -> list[str]:
    """Makes the archive's configuration the cluster of the source, and returns lines that say so.

    A first one becomes clusters/NAME.toml and is named in the catalogue. One that differs from it becomes clusters/NAME-DAY.toml, and the
    user says from when it holds. One that cannot be read is no fault of the log, and the line says why.
    """
    paths, zone = [unpacked.configuration], unpacked.site.time_zone
    try:
        described = read_configuration(paths, name, zone)
        if not cluster_path(name).exists():
            imported = import_cluster(paths, name, zone)
            name_clusters(name, unpacked.log, [name])
            left_out = len(remarks_of(imported.described.remarks, NOT_MODELLED, UNKNOWN_KEY))
            return [f"cluster   {imported.path} ({left_out} keys left out: tracehouse cluster show {name})"]
        changes = changed_values(load_cluster(name).description, described.description)
        changes = tuple(change for change in changes if change.place != "cluster valid_from_s")
        if not changes:
            return [f"cluster   {cluster_path(name)} (unchanged)"]
        later = f"{name}-{unpacked.site.last_day}"
        imported = import_cluster(paths, later, zone, replaces=True)
        return [
            f"cluster   {imported.path} ({len(changes)} values changed: tracehouse cluster diff {name} {later})",
            f'          Set valid_from in it, and cluster = ["{name}", "{later}"] in the catalogue',
        ]
    except ValueError as error:  # ConfigurationError is one
        return [f"cluster   none: {error}"]
