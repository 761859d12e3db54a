"""A log or a source as a trace: from the warehouse where the source is loaded, else through a warehouse of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assets.common.progress import warn
from assets.common.storage import open_warehouse
from assets.common.trace import Trace, load_trace
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.reading import COMMAND_LINE
from assets.ingest.update import update_raw_log
from assets.ingest.zones import default_zone, zone_remark
from assets.replaying.running.settings import RunSettings
from models.judging.machine import in_use
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import Source
from warehouse import Warehouse, first_row

LOG_SUFFIXES = (".swf", ".gz", ".zst", ".xz", ".log", ".psv")


def is_path(trace_or_source: str) -> bool:
    """Whether a log lies there; a name of a source otherwise."""
    return bool(trace_or_source) and Path(trace_or_source).exists()


def log_source(path: Path, procs: int | None = None) -> Source:
    """A log that is in no catalogue, as a source. procs: processors of the cluster; None takes them from the log."""
    return Source(path.name, "auto", path, procs, declared_at=COMMAND_LINE)


def catalogue_source(name: str) -> Source:
    """A source of the catalogue. Raises ValueError or CatalogueError, with the remedy, for what is none."""
    if not name:
        raise ValueError("give a log (a path) or a source (see `tracehouse sources`)")
    catalogue = load_catalogue()
    looks_like_a_path = "/" in name or Path(name).suffix.lower() in LOG_SUFFIXES
    if looks_like_a_path and name not in catalogue.sources:
        raise ValueError(f"{name}: no such log file, and no source of that name (see `tracehouse sources`)")
    return catalogue.source(name)


def is_loaded(source: str, warehouse: Warehouse | None = None) -> bool:
    """Whether a source is in the warehouse, by default that of the home."""
    warehouse = warehouse or open_warehouse()
    if not warehouse.exists():
        return False
    with warehouse.read() as connection:
        return first_row(connection, "SELECT 1 FROM core.sources WHERE source = ?", [source]) is not None


def read_into_own_warehouse(source: Source, folder: Path, drop_wider: bool = False) -> Warehouse:
    """A warehouse in `folder` that holds this source alone, so that all rules are those of the pipeline. A zone that nobody gave is said.

    drop_wider: leave out jobs wider than the cluster instead of failing. Raises LogError and ValueError, with the remedy.
    """
    source = replace(source, drop_wider=source.drop_wider or drop_wider)
    warehouse = Warehouse(folder / "one-log.duckdb")
    zone = default_zone(warehouse, load_catalogue(may_be_missing=True), source)
    update_raw_log(warehouse, source, zone.name, zone.is_given)
    write_jobs(warehouse, source.name)
    with warehouse.read() as connection:
        remark = zone_remark(connection, source, zone)
    if remark is not None:
        warn(remark)
    return warehouse


def check_log_estimates(path: Path, settings: RunSettings) -> None:
    """Raises ValueError where a bare log is asked for predicted run times."""
    if settings.believed.is_predicted:
        raise ValueError(
            f"{path}: a log has no predicted run times: add it with `tracehouse ingest {path} --name NAME`, train with "
            "`tracehouse run NAME`, then replay NAME"
        )


def load_any_trace(source: Source, settings: RunSettings, in_catalogue: bool, labels: Sequence[str] = ()) -> Trace:
    """The trace of a log or of a source, with the cancelled jobs if the settings ask for them, and further columns of core.jobs.

    Raises LogError and ValueError, with the remedy.
    """
    if in_catalogue and is_loaded(source.name):
        return load_trace(open_warehouse(), source.name, settings.cancelled, labels)
    if in_catalogue and settings.believed.is_predicted:
        raise ValueError(f"source {source.name!r} has no predicted run times yet: `tracehouse run {source.name}`")
    with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
        warehouse = read_into_own_warehouse(source, Path(folder), settings.drop_wider)
        return load_trace(warehouse, source.name, settings.cancelled, labels)


def most_in_use(trace: Trace) -> int:
    """The most processors that jobs of the log had at once, by its own times. 0 where it has none."""
    return int(in_use(*trace.held(trace.rows))[1].max(initial=0))
