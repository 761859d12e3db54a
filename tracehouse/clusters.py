"""Reading a scheduler's configuration into the home's folder of clusters, also that of an archive of `tracehouse collect`.

Which cluster a log is of: the key `cluster` of a source, as the commands write it, and which one it may be.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from assets.common.progress import warn
from assets.common.storage import open_warehouse
from assets.common.writing.locks import declares
from assets.common.writing.outputs import write_output
from tracehouse.jobs import JobFailed, run_or_fail
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import cluster_names, cluster_path, found_tables, load_cluster, rule_counts, with_found
from traces.catalogue.editing import add_source, link_clusters, linkable_source, name_clusters
from traces.catalogue.places import home
from traces.catalogue.sources import Source
from traces.cluster.differing import changed_values
from traces.cluster.notes import NOT_MODELLED, UNKNOWN_KEY, DescribedCluster, read_text_file, remarks_of
from traces.cluster.toml_reading import parse_cluster_toml
from traces.cluster.toml_writing import cluster_toml
from traces.collector.archive import CollectedSite, unpack_collection
from traces.pbs.configuration.folder import is_pbs_configuration, read_pbs_cluster
from traces.pbs.reservations import is_accounting, with_accounted_reservations
from traces.slurm.configuration.folder import is_slurm_configuration, read_slurm_cluster
from traces.slurm.state.cycles import MEASURED_TEST_US
from warehouse import NoWarehouse, first_row

_OF_AN_ARCHIVE = "configuration"
"""The subfolder of an archive of `tracehouse collect` that has the configuration."""
_CYCLES = "sdiag.txt"
"""The file of its state that belongs to a cluster: how long cycles take."""
_NO_CHANGES = ("cluster valid_from_s", f"scheduler {MEASURED_TEST_US}")
"""What makes no other cluster of one: from when it holds, and how long cycles took."""


@dataclass(frozen=True)
class ImportedCluster:
    """path: the file that was written. described: what is in it, with a remark on each key that was read. kept: how many adopted rules of
    the file that it replaces are in it, too."""

    path: Path
    described: DescribedCluster
    kept: int = 0


def import_cluster(
    paths: Sequence[Path], name: str, time_zone: str = "UTC", valid_from: str | None = None, replaces: bool = False
) -> ImportedCluster:
    """Reads the configuration of a cluster and writes it as clusters/NAME.toml in the home.

    paths: files, or folders with them. time_zone: of the cluster (an IANA name). valid_from: date or time from which it holds, such as
    2026-03-01. replaces: whether a file of this name may be there. Rules that were adopted into it stay.
    Raises ValueError for a name that is bad or taken, and ConfigurationError, with file, line and what was expected.
    """
    path = cluster_path(name)
    zone = _zone(time_zone)
    if path.exists() and not replaces:
        raise ValueError(f"{path} exists. Choose another --name, or give --replace to write it again")
    described = read_configuration(paths, name, time_zone)
    if valid_from is not None:
        second = _second(valid_from, zone)
        described = replace(described, description=replace(described.description, valid_from_s=second))
    path.parent.mkdir(parents=True, exist_ok=True)
    tables = found_tables(read_text_file(path).text) if path.exists() else ""
    text = with_found(cluster_toml(described), tables)
    kept = rule_counts(parse_cluster_toml(text, path.name).description)[1] if tables else 0
    write_output(path, text.encode())
    return ImportedCluster(path, described, kept)


def read_configuration(paths: Sequence[Path], name: str, time_zone: str = "UTC") -> DescribedCluster:
    """The cluster of these files and folders, of Slurm, PBS, or Torque with Maui. Raises ValueError where none of these has files there."""
    every = _files(paths)
    logs = [path for path in every if is_accounting(path)]
    files = [path for path in every if path not in logs]
    if is_slurm_configuration(files):
        return read_slurm_cluster(files, name, time_zone)
    if is_pbs_configuration(files):
        described = read_pbs_cluster(files, name, time_zone)
        return with_accounted_reservations(described, logs, time_zone) if logs else described
    given = ", ".join(map(str, paths))
    raise ValueError(
        f"{given}: no configuration of Slurm, PBS, Torque or Maui is there. Expected slurm.conf, or what `scontrol show node` or "
        "`pbsnodes -av` print; `tracehouse collect` prints a script that collects all of it"
    )


def _files(paths: Iterable[Path]) -> list[Path]:
    """The files, and those in the folders. Of an archive of `tracehouse collect` that is unpacked, those of its configuration, and how long
    cycles took."""
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inner = path / _OF_AN_ARCHIVE
            folder = inner if inner.is_dir() else path
            files |= dict.fromkeys(each for each in sorted(folder.iterdir()) if each.is_file() and each.name[0] != ".")
            if folder is inner:
                files |= dict.fromkeys(_cycles_in(path / "state"))
        elif path.exists():
            files[path] = None
        else:
            raise ValueError(f"{path}: no such file or folder")
    return list(files)


def _cycles_in(state: Path) -> list[Path]:
    return [state / _CYCLES] if (state / _CYCLES).is_file() else []


def _zone(time_zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(time_zone)
    except Exception:  # zoneinfo raises ValueError, OSError or its own error, depending on the text
        raise ValueError(f'unknown time zone {time_zone!r}: expected an IANA name such as "Europe/Berlin"') from None


def _second(text: str, zone: ZoneInfo) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no date: expected one such as 2026-03-01 or 2026-03-01T08:00") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp())


@dataclass(frozen=True)
class UnpackedLog:
    """site: what the archive's manifest says. log: the folder of all days that archives of this name have had. configuration, state: of
    this archive."""

    site: CollectedSite
    log: Path
    configuration: Path
    state: Path


def unpack_log(archive: Path, name: str) -> UnpackedLog:
    """Unpacks an archive into collected/NAME of the home. Days that an earlier archive of this name had are replaced, others stay.

    Raises ValueError for a file that is no archive of `tracehouse collect`, or not whole, and then leaves all as it was.
    """
    folder = home() / "collected" / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as new:
        site = unpack_collection(archive, Path(new))
        log = folder / "accounting"
        configuration, state = (folder / f"{part}-{site.last_day}" for part in ("configuration", "state"))
        for target, source in ((log, site.log), (configuration, site.configuration), (state, site.state)):
            target.mkdir(exist_ok=True)
            for file in sorted(source.iterdir()) if source.is_dir() else ():
                file.replace(target / file.name)
    if not any(log.iterdir()):
        raise ValueError(f"{archive}: expected a log in its folder accounting, found none. Its MANIFEST says why")
    return UnpackedLog(site, log, configuration, state)


def import_collected(unpacked: UnpackedLog, name: str) -> list[str]:
    """Makes the archive's configuration the cluster of the source, and returns lines that say so.

    A first one becomes clusters/NAME.toml and is named in the catalogue. One that differs from it becomes clusters/NAME-DAY.toml, and the
    user says from when it holds. One that cannot be read is no fault of the log, and the line says why.
    """
    paths, zone = [unpacked.configuration, *_cycles_in(unpacked.state)], unpacked.site.time_zone
    try:
        described = read_configuration(paths, name, zone)
        if not cluster_path(name).exists():
            imported = import_cluster(paths, name, zone)
            name_clusters(name, unpacked.log, [name])
            left_out = len(remarks_of(imported.described.remarks, NOT_MODELLED, UNKNOWN_KEY))
            return [f"cluster   {imported.path} ({left_out} keys left out: tracehouse cluster show {name})"]
        changes = changed_values(load_cluster(name).description, described.description)
        changes = tuple(change for change in changes if change.place not in _NO_CHANGES)
        if not changes:
            return [f"cluster   {cluster_path(name)} (unchanged)"]
        later = f"{name}-{unpacked.site.last_day}"
        imported = import_cluster(paths, later, zone, replaces=True)
        return [
            f"cluster   {imported.path} ({len(changes)} values changed: tracehouse cluster diff {name} {later})",
            f"          It holds from a day on: tracehouse cluster import {unpacked.configuration} --name {later} --source {name} "
            f"--from {unpacked.site.last_day} --replace",
        ]
    except ValueError as error:  # ConfigurationError is one
        return [f"cluster   none: {error}"]


# --- which cluster a log is of


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
    """Names a cluster of the home at a source of the catalogue, and in the warehouse where that has the source. A log of the inbox gets
    an entry of its own.

    is_later: as in `named_clusters`. Raises CatalogueError for an unknown source and one that no command may change, and ValueError for
    a cluster that the home does not have."""
    from traces.formats import guess_format  # numba, of which a command that only lists needs nothing

    load_cluster(cluster)
    with declares(source):
        entry = linkable(source)
        names = named_clusters(entry, cluster, is_later)
        if _is_in_inbox(entry):
            assert entry.path is not None
            add_source(source, entry.path, guess_format(entry.path), {"cluster": cluster})
        elif names != entry.cluster:
            link_clusters(source, names)
        _ingest_if_stored(source)
        return ClusterLink(source, names, entry.cluster)


def _ingest_if_stored(source: str) -> None:
    """Takes the size and the nodes of a source's cluster into the warehouse, where that has the source, and what is new of its log."""
    stored = None
    with suppress(NoWarehouse), open_warehouse().read() as connection:
        stored = first_row(connection, "SELECT 1 FROM core.sources WHERE source = ?", [source])
    try:
        if stored is not None:
            run_or_fail("ingest", [source])
    except JobFailed as failed:
        warn(f"  ! {source}: the warehouse has the former cluster until its log is ingested again: {failed}")


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
