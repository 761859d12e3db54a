"""What can be replayed: a log at any path, or a source of the catalogue."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from assets.common.storage import open_warehouse
from assets.common.trace import Trace, load_trace
from assets.replaying.running.loading import catalogue_source, is_loaded, is_path, log_source, read_into_own_warehouse
from tracehouse.ingesting import source_row
from tracehouse.queries import query_rows
from tracehouse.replaying import warn_of_peak
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse

SOURCE_COLUMNS: dict[str, Any] = {
    "name": pl.String,
    "format": pl.String,
    "path": pl.String,
    "procs": pl.Int64,
    "time_zone": pl.String,
    "cluster": pl.List(pl.String),
    "description": pl.String,
    "declared_at": pl.String,
}


class Log:
    """A log that can be replayed. `load_log` makes one.

    Attributes
    ----------
    name : str
        Name of the source, or of the log's file or folder.
    given : str
        The name of the source, or the path of the log, as the user wrote it.
    in_catalogue : bool
        Whether it is a source of the catalogue.
    warehouse : Warehouse
        The warehouse with its tables. It is that of the home, or one of its own, which is removed with the object.
    """

    def __init__(self, name: str, given: str, warehouse: Warehouse, in_catalogue: bool) -> None:
        self.name, self.given, self.warehouse, self.in_catalogue = name, given, warehouse, in_catalogue
        self._traces: dict[tuple[bool, tuple[str, ...]], Trace] = {}

    def __repr__(self) -> str:
        return f"Log({self.name}: {self.trace().rows.height:,} jobs to replay, {self.procs:,} processors)"

    @property
    def procs(self) -> int:
        """Processors of the cluster."""
        return self.trace().cluster_procs

    @property
    def jobs(self) -> pl.DataFrame:
        """All jobs of the log, one row each in order of submission.

        Returns
        -------
        polars.DataFrame
            The columns of the table `core.jobs` without `source`. Times are UTC, durations are seconds.

        Examples
        --------
        >>> import tracehouse
        >>> tracehouse.load_log("birch").jobs.select("job_id", "submit_time", "runtime_s", "procs").row(0)
        ('1000.birch', datetime.datetime(2026, 3, 2, 8, 8, 14), 12337, 72)
        """
        with self.warehouse.read() as connection:
            return connection.sql(
                "SELECT * EXCLUDE (source) FROM core.jobs WHERE source = $source ORDER BY job_index",
                params={"source": self.name},
            ).pl()

    def query(self, sql: str) -> pl.DataFrame:
        """The rows of a read-only SQL query over the warehouse that holds this log, as `tracehouse.query`.

        Examples
        --------
        >>> import tracehouse
        >>> tracehouse.load_log("birch").query("SELECT count(*) AS jobs FROM core.jobs").item()
        9928
        """
        return query_rows(self.warehouse, sql)

    def trace(self, cancelled: bool = False, labels: Sequence[str] = ()) -> Trace:
        """The jobs that can be replayed, in the form that the simulator takes. They are read once.

        cancelled: whether jobs that were cancelled before they started are among them. labels: further columns of core.jobs that
        they should have.
        """
        key = (cancelled, tuple(labels))
        if key not in self._traces:
            self._traces[key] = load_trace(self.warehouse, self.name, cancelled, labels)
        return self._traces[key]


def load_log(log: str | Path, procs: int | None = None, drop_wider: bool = False) -> Log:
    """Load a log or a source, to look at its jobs and replay it.

    A log that has been read stays in the object. Replaying it again does not read it again.

    Parameters
    ----------
    log
        Path of a log: a file or a folder of files, in the Standard Workload Format, PBS accounting or Slurm's
        `sacct -P`, packed (`.gz`, `.zst`, `.xz`) or not. Otherwise the name of a source of the catalogue.
    procs
        Processors of the cluster of a log. By default they come from the log. Without a header that is the peak of
        processors in use, and a line on standard error says so.
    drop_wider
        Leave out jobs of a log that are wider than the cluster, instead of failing.

    Returns
    -------
    Log

    Raises
    ------
    LogError
        The log cannot be read. The message names file, line and remedy.
    CatalogueError, ValueError
        There is no such log and no such source, or no job of it can be replayed.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.load_log("birch")
    Log(birch: 9,857 jobs to replay, 960 processors)
    """
    text, is_log = str(log), is_path(str(log))
    source = log_source(Path(text), procs) if is_log else catalogue_source(text)
    if not is_log and (procs is not None or drop_wider):
        raise ValueError(f"{text}: the catalogue says how large the cluster of a source is: give procs to replay")
    if not is_log and is_loaded(source.name):
        return Log(source.name, text, open_warehouse(), in_catalogue=True)
    folder = Path(tempfile.mkdtemp(prefix="tracehouse-"))
    try:
        warehouse = read_into_own_warehouse(source, folder, drop_wider)
        loaded = Log(source.name, text, warehouse, in_catalogue=not is_log)
        trace = loaded.trace()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(loaded, shutil.rmtree, folder, ignore_errors=True)
    if procs is None:
        warn_of_peak(trace.cluster_procs, trace.cluster_procs_from)
    return loaded


def sources() -> pl.DataFrame:
    """List the sources of the catalogue.

    Returns
    -------
    polars.DataFrame
        One row a source. The columns are name, format, path (null for a generated source), procs (null where the log
        decides), time_zone, cluster (names of its descriptions), description, and declared_at (file and line).

    Raises
    ------
    CatalogueError
        A catalogue cannot be used. The message names file, line and remedy.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.sources().select("name", "format", "procs").rows()
    [('birch', 'pbs', 960), ('larch', 'slurm', 1280)]
    """
    rows = [source_row(source) for source in load_catalogue().sources.values()]
    return pl.DataFrame(rows, schema=SOURCE_COLUMNS)
