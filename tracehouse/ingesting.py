"""Logs become sources: declared in the catalogue, and loaded into the warehouse."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict, Unpack

from assets.common.progress import warn
from assets.common.storage import open_warehouse
from assets.common.writing.locks import alone_on, declares
from pipelines.terminal import printable
from simulator.jobs.words import one_of
from tracehouse.clusters import ClusterLink, import_collected, unpack_log
from tracehouse.jobs import JobFailed, run_or_fail
from tracehouse.keywords import refuse_unknown
from traces.catalogue.catalogue import inbox_name, load_catalogue
from traces.catalogue.clusters import load_cluster
from traces.catalogue.editing import add_source, declared_source, refuse_another, remove_source
from traces.catalogue.sources import FORMATS, CatalogueError, Source
from traces.collector.archive import is_collection
from traces.common.log import LogError, file_name, log_files
from warehouse import NoWarehouse, WarehouseBusy, first_row

OUTCOMES = ("kept", "ignored", "rejected")
"""The possible outcomes of a line that is not a job. Each has a reason."""
CLUSTER_FACTS = ("cluster_procs", "cluster_procs_from", "time_zone", "time_zone_from")
LINE_COUNTS = ("lines", "accepted", *OUTCOMES)


class IngestSettings(TypedDict, total=False):
    """Settings of `ingest`. `tracehouse ingest --help` says what each means."""

    log_format: str | None
    procs: int | None
    time_zone: str | None
    columns: str | None
    keep_names: bool
    replace: bool
    new_key: bool
    cluster: str | None


def ingest(path: str | Path, name: str | None = None, **settings: Unpack[IngestSettings]) -> dict[str, Any]:
    """Add a log as a source and load it, as `tracehouse ingest`. Running it again reads what is new. This loads Dagster, which records it.

    Parameters
    ----------
    path
        A file, a folder of files, or an archive of `tracehouse collect`.
    name
        Name of the source. By default the file's name.
    **settings
        * `log_format` (None): "swf", "pbs" or "slurm". By default it is guessed.
        * `procs` (None): processors of the cluster. `time_zone` (None): such as "Europe/Berlin", by default the log's or the machine's.
        * `cluster` (None): name of its description, which `tracehouse cluster import` has written.
        * `columns` (None): those of a Slurm log without a header line. `keep_names` (False): no pseudonyms.
        * `replace` (False): forget the jobs of another log of this name. `new_key` (False): a new key of pseudonyms.

    Returns
    -------
    dict
        What `tracehouse ingest --json` prints: the lines by their outcome, and the size of the cluster.

    Raises
    ------
    LogError, CatalogueError, ValueError
        The log cannot be read, or its name is taken. The message names file, line and remedy.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.ingest("nothing-here.swf")
    Traceback (most recent call last):
        ...
    traces.common.log.LogError: nothing-here.swf: no such log file; check the path in the catalogue or on the command line
    """
    refuse_unknown("ingest", settings, IngestSettings.__annotations__)
    if is_collection(Path(path)):
        archive = Path(path)
        return _ingest_collected(archive, name or inbox_name(Path(archive.name.removesuffix(".tar.gz"))), settings)
    if (given_format := settings.get("log_format")) is not None:
        one_of("log_format", given_format, FORMATS)
    path, name = Path(path), name or inbox_name(Path(path))
    columns, replace = settings.get("columns"), settings.get("replace", False)
    if (cluster := settings.get("cluster")) is not None:
        load_cluster(cluster)  # raises, with the command that makes one
    with declares(name):
        if not replace:
            refuse_another("sources", name, path)  # before the format is guessed, which may say less
            _refuse_stored(name, path)
        log_format = _format_to_read(name, path, given_format, columns)
        entry = _entry_of(name, path)
        former = add_source(name, path, log_format, _given_keys(settings, entry), replace)
        config = {"replace": replace, "new_key": settings.get("new_key", False)}
        load_declared("ingest", name, former, {"ops": {"raw__log": {"config": config}}})
    summary = _ingest_summary(name)
    if cluster is not None:
        link = ClusterLink(name, tuple(summary["cluster"]), entry.cluster if entry else ())
        summary["cluster_lines"] = [f"cluster   {link}"]
    return summary


def _given_keys(settings: IngestSettings, entry: Source | None) -> dict[str, Any]:
    """The keys of the catalogue that settings give. entry: what it has of this log."""
    given: dict[str, Any] = {key: settings.get(key) for key in ("procs", "time_zone", "columns")}
    given["pseudonyms"] = [] if settings.get("keep_names") else None
    cluster = settings.get("cluster")
    if cluster is not None and (entry is None or cluster not in entry.cluster):
        given["cluster"] = cluster
    return given


def _entry_of(name: str, path: Path) -> Source | None:
    """What the second catalogue has of this log."""
    previous = declared_source(name)
    return previous if previous is not None and previous.path == path.resolve() else None


def lacks_zone(path: Path, name: str | None, **settings: Unpack[IngestSettings]) -> bool:
    """Whether a log has local times, and nothing says of which time zone: no option, catalogue or archive, and no row of before."""
    from traces.formats import look_at_log

    if settings.get("time_zone") is not None or is_collection(path):
        return False
    with suppress(LogError, CatalogueError, ValueError, OSError):  # `ingest` says what is wrong
        name = name or inbox_name(path)
        catalogue, entry = load_catalogue(may_be_missing=True), _entry_of(name, path)
        if (
            catalogue.names_time_zone
            or (entry is not None and entry.time_zone)
            or (entry and _stored_files(name, "sources"))
        ):
            return False
        log_format = settings.get("log_format") or (entry.format if entry else None)
        return (log_format or ("slurm" if settings.get("columns") else look_at_log(path).format)) == "slurm"
    return False


def _ingest_collected(archive: Path, name: str, settings: IngestSettings) -> dict[str, Any]:
    """Ingests the log of an archive, whose names are pseudonyms already, and imports its configuration as the source's cluster."""
    unpacked = unpack_log(archive, name)
    said: IngestSettings = {
        "log_format": unpacked.site.scheduler,
        "time_zone": unpacked.site.time_zone,
        "keep_names": True,
    }
    summary = ingest(unpacked.log, name, **(settings | said))
    lines = summary.get("cluster_lines", []) + import_collected(unpacked, name)
    return summary | {"cluster_lines": lines, "cluster": list(load_catalogue().source(name).cluster)}


def source_row(source: Source) -> dict[str, Any]:
    """What is listed of a source: its declaration, with paths as text. None where it leaves the answer to the log."""
    return {
        "name": source.name,
        "format": source.format,
        "path": str(source.path) if source.path else None,
        "procs": source.procs,
        "time_zone": source.time_zone,
        "cluster": list(source.cluster),
        "description": source.description,
        "declared_at": source.declared_at,
    }


def _refuse_stored(name: str, path: Path) -> None:
    """Raises ValueError where the warehouse has jobs of other logs under a name that is no longer in any catalogue."""
    if name in load_catalogue(may_be_missing=True).sources:
        return
    with suppress(NoWarehouse), open_warehouse().read() as connection:
        rows = connection.execute("SELECT file FROM raw.log_files WHERE source = ? ORDER BY file", [name]).fetchall()
        stored = [file for (file,) in rows]
        if stored and not {file_name(file) for file in log_files(path)} & set(stored):
            raise ValueError(
                f"{name!r} is in no catalogue, but the warehouse has its jobs, from {', '.join(stored[:3])}"
                f"{' and others' if stored[3:] else ''}, and no such file is in {path}. Choose another --name, or give "
                "--replace to forget its jobs"
            )


def _format_to_read(name: str, path: Path, log_format: str | None, columns: str | None) -> str:
    """The format of a log: as the user says, else as the catalogue has it, else as the log looks. Prints which files look odd.

    Raises ValueError for columns of another format than Slurm's, LogError where the format is not clear from the log."""
    from traces.formats import look_at_log

    previous = _entry_of(name, path)
    if previous is not None:
        log_format = log_format or previous.format
    if columns and log_format not in (None, "slurm"):
        raise ValueError(f"--columns names the columns of a Slurm log, and the format of this one is {log_format}")
    if log_format or columns:
        return log_format or "slurm"
    look = look_at_log(path)
    for odd in look.odd[:5]:
        said = odd.few or odd.otherwise
        kind = f" ({said})" if said else ""
        text = f"{odd.path}: looks odd among {look.format} logs{kind}: other than {look.format} lines will be rejected"
        warn(f"  ! {text}")
    return look.format


def _ingest_summary(name: str) -> dict[str, Any]:
    """The outcome of the lines of a source, and the size of its cluster, as `tracehouse ingest --json` prints them."""
    from assets.raw.log import unknown_columns

    with open_warehouse().read() as connection:
        totals = first_row(
            connection,
            f"SELECT {', '.join(LINE_COUNTS)} FROM marts.ingest_summary WHERE source = ?",
            [name],
        )
        reasons = connection.execute(
            "SELECT outcome, reason, sum(lines)::BIGINT FROM raw.line_counts WHERE source = ? AND outcome <> 'accepted' "
            "GROUP BY ALL HAVING sum(lines) > 0 ORDER BY ALL",
            [name],
        ).fetchall()
        repeats = connection.execute(
            "SELECT coalesce(reason, 'replaced by a later record'), count(*) FROM core.repeats WHERE source = ? "
            "GROUP BY ALL ORDER BY ALL",
            [name],
        ).fetchall()
        cluster = first_row(
            connection,
            f"SELECT {', '.join(CLUSTER_FACTS)} FROM core.sources WHERE source = ?",
            [name],
        )
        peak = first_row(connection, "SELECT max(peak_procs) FROM core.capacity WHERE source = ?", [name])
        unknown = unknown_columns(connection, name)
    assert totals is not None and cluster is not None and peak is not None
    by_reason: dict[str, Any] = {
        f"{outcome}_by_reason": {reason: lines for of_reason, reason, lines in reasons if of_reason == outcome}
        for outcome in OUTCOMES
    }
    by_reason |= {"unknown_columns": unknown}
    summary = {"source": name} | dict(zip(LINE_COUNTS, totals, strict=True)) | by_reason
    summary["repeats_by_reason"] = dict(repeats)
    summary["cluster"] = list(load_catalogue().source(name).cluster)
    summary["peak_procs"] = peak[0]
    return summary | dict(zip(CLUSTER_FACTS, cluster, strict=True))


def load_declared(job: str, name: str, former: str, config: dict[str, Any], partitions: str = "sources") -> None:
    """Runs a job that ingests. What cannot be loaded leaves catalogue, warehouse and partitions as they were. Call it inside `declares`.

    former: the entry that the catalogue had under this name, or "". partitions: "sources", or "vasp". Where rows of the former
    log are forgotten already, the catalogue keeps the new entry: the old one would mix the rows of both. When the command is
    interrupted, or finds the warehouse busy, everything stays: the same command goes on.
    """
    from assets.ingest.removal import remove_source_data
    from pipelines.forgetting import forget_partition

    stored = _stored_files(name, partitions)
    try:
        run_or_fail(job, [name], config, partitions)
    except JobFailed:  # the job ran, and says what is wrong with the log
        is_replaced = any(op["config"].get("replace") for op in config["ops"].values())
        if is_replaced and former and stored and not stored & _stored_files(name, partitions):
            _warn(
                f"what {name} had before is forgotten already, so its new entry stays in the catalogue: {_remedy(name)}"
            )
            raise
        try:
            with alone_on(name):
                if not former and not stored:
                    with suppress(Exception):  # a full disk, say. What led here is the better message
                        remove_source_data(open_warehouse(), name, with_history=False, is_vasp=partitions == "vasp")
                        forget_partition(name, partitions)
                remove_source(name, former, partitions)
        except WarehouseBusy:
            _warn(f"another command works on {name}, so it stays as it is: {_remedy(name)}")
        except OSError as error:
            _warn(f"{error.filename}: cannot be written, and keeps its entry [{partitions}.{name}]")
        raise


def _remedy(name: str) -> str:
    return f"mend what is wrong and ingest it again, or take it out with `tracehouse remove {name}`"


def _warn(text: str) -> None:
    warn(printable(f"  ! {text}"))


def _stored_files(name: str, partitions: str) -> set[tuple[str, str]]:
    """(name, hash or time) of the files whose rows are in the warehouse. None where there is no warehouse yet."""
    query = {
        "sources": "SELECT file, sha256 FROM raw.log_files WHERE source = ?",
        "vasp": "SELECT folder, coalesce(root, '') || stamp FROM raw.vasp_folders WHERE source = ?",
    }[partitions]
    with suppress(NoWarehouse), open_warehouse().read() as connection:
        return set(connection.execute(query, [name]).fetchall())
    return set()
