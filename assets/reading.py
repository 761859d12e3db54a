"""From a source's log files to parsed lines and the size of its cluster; knows formats, so that nothing after it must."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import available_timezones

import numpy as np
import polars as pl

from assets.generated_logs import generated_log
from traces.catalogue import Source, pseudonym_key_path
from traces.formats import guess_format
from traces.log import LARGEST_S, LogError, ParsedLog, line_texts, log_files, read_bytes
from traces.pbs import read_pbs
from traces.pseudonyms import read_key, replace_names
from traces.slurm import read_slurm
from traces.swf import header_value, read_swf

COMMAND_LINE = "command line"


@dataclass(frozen=True)
class SourceLog:
    """source: with its format known; files: one per log file, in order; cluster_procs: processors of the cluster;
    cluster_procs_from: "catalogue", "command line", "header" or
    "peak"; time_zone: of the cluster; clock_zero: UTC time of the log's
    second 0, without zone."""

    source: Source
    files: list[ParsedLog]
    cluster_procs: int
    cluster_procs_from: str
    time_zone: str
    clock_zero: datetime


def read_source(source: Source, default_time_zone: str = "UTC") -> SourceLog:
    """Reads all log files of a source; the default time zone counts where neither source nor log names one.

    Raises LogError, naming file, line and remedy, when a file cannot be read, when no line of the source is a job, or
    when a job is wider than the cluster (unless the source says `drop_wider`, which rejects such jobs).
    """
    path = source.path or generated_log(source)
    log_format = guess_format(path) if source.format == "auto" else source.format
    source = replace(source, format=log_format)
    files = [_read(file, source, default_time_zone) for file in log_files(path)]
    if source.pseudonyms and log_format != "swf":  # SWF has numbers for names
        key = read_key(pseudonym_key_path())
        files = [_without_names(file, source.pseudonyms, key) for file in files]
    if not any(file.accepted for file in files):
        raise LogError(_nothing_accepted(source, files))
    procs, procs_from = _cluster_procs(source, files)
    checked = [_check_width(source, file, procs, procs_from) for file in files]
    if not any(file.accepted for file in checked):
        raise LogError(f"{path}: every job is wider than the cluster's {procs} processors: correct `procs`")
    time_zone = source.time_zone or _header_time_zone(files) or default_time_zone
    return SourceLog(source, checked, procs, procs_from, time_zone, _clock_zero(files))


def _read(file: Path, source: Source, default_time_zone: str) -> ParsedLog:
    if source.format == "slurm":
        return read_slurm(file, source.time_zone or default_time_zone, source.columns)
    return read_swf(file) if source.format == "swf" else read_pbs(file)


def _without_names(file: ParsedLog, kinds: tuple[str, ...], key: bytes) -> ParsedLog:
    return replace(
        file,
        records=replace_names(file.records, kinds, key),
        requeues=replace_names(file.requeues, kinds, key),
    )


def _clock_zero(files: list[ParsedLog]) -> datetime:
    """UTC time of second 0 of all files, without zone; 1970 where no header tells."""
    zeros = {header_value(file.header, "UnixStartTime") or 0: file.path for file in files}
    if len(zeros) > 1:
        listed = ", ".join(f"{path.name} from {zero}" for zero, path in zeros.items())
        raise LogError(
            f"{files[0].path.parent}: files of one source must count their seconds from the same UnixStartTime, found "
            f"{listed}: make them sources of their own"
        )
    zero, path = next(iter(zeros.items()))
    if not 0 <= zero <= LARGEST_S:
        raise LogError(f"{path}: the header's UnixStartTime {zero} is not a Unix time: correct or remove it")
    return datetime.fromtimestamp(zero, UTC).replace(tzinfo=None)


def _header_time_zone(files: list[ParsedLog]) -> str | None:
    """The first TimeZoneString that is a known zone ("US/Eastern"), or None."""
    for key, value in (pair for file in files for pair in file.header):
        if key == "TimeZoneString" and value in available_timezones():
            return value
    return None


def peak_procs(start: np.ndarray, end: np.ndarray, procs: np.ndarray) -> int:
    """The most processors in use at any time, from int64 arrays (jobs,) in seconds and processors."""
    times = np.concatenate([start, end])
    change = np.concatenate([procs, -procs])
    order = np.lexsort((change, times))  # at one moment, ends free their processors before starts take them
    return int(np.cumsum(change[order]).max())


def _cluster_procs(source: Source, files: list[ParsedLog]) -> tuple[int, str]:
    if source.procs is not None:
        return source.procs, COMMAND_LINE if source.declared_at == COMMAND_LINE else "catalogue"
    for file in files:
        for key in ("MaxProcs", "MaxNodes"):
            found = header_value(file.header, key)
            if found and found > 0:
                return found, "header"
    if source.format == "swf":
        used = pl.concat([file.records for file in files]).select(
            start=pl.col("submit_s") + pl.col("wait_s").clip(lower_bound=0).fill_null(0),
            runtime=pl.col("runtime_s"),
            procs=_swf_procs(),
        )
    else:
        used = pl.concat([file.records for file in files]).select(
            start="start_s", runtime=pl.col("end_s") - pl.col("start_s"), procs="procs"
        )
    widest = int(used["procs"].fill_null(0).to_numpy().max())  # it may have been cancelled while it waited
    used = used.drop_nulls()
    if used.is_empty():
        raise LogError(f"source {source.name!r} needs `procs` (or --procs): its log does not tell the cluster's size")
    start, runtime, procs = (used[name].to_numpy() for name in used.columns)
    return max(peak_procs(start, start + np.maximum(runtime, 1), procs), widest), "peak"


def _check_width(source: Source, file: ParsedLog, cluster_procs: int, procs_from: str) -> ParsedLog:
    width = _swf_procs() if source.format == "swf" else pl.max_horizontal("procs", "requested_procs")
    wide = file.records.filter(width > cluster_procs).select("line", procs=width)
    if wide.is_empty():
        return file
    line, procs = wide.row(0)
    if not source.drop_wider:
        typed = source.declared_at == COMMAND_LINE
        reject = "leave them out with --drop-wider" if typed else "set `drop_wider = true` on the source to reject them"
        raise LogError(
            f"{file.path}:{line}: a job of {procs} processors on a cluster of {cluster_procs} (from the {procs_from}); "
            f"{wide.height} such job(s), the widest {wide['procs'].to_numpy().max():d}. Give the cluster's true size (--procs, "
            f"or `procs` of source {source.name!r}), or {reject}"
        )
    texts = line_texts(read_bytes(file.path)[1], wide["line"].to_list())
    return file.reject_rows(wide["line"].to_list(), f"wider than the cluster's {cluster_procs} processors", texts)


def _swf_procs() -> pl.Expr:
    return pl.when(pl.col("allocated_procs") > 0).then("allocated_procs").when(pl.col("requested_procs") > 0).then(
        "requested_procs"
    )  # fmt: skip


def _nothing_accepted(source: Source, files: list[ParsedLog]) -> str:
    lines = sum(file.lines for file in files)
    first = next(((file, *file.rejects.row(0)) for file in files if file.rejected), None)
    where = files[0].path if len(files) == 1 else files[0].path.parent
    if first is None:
        return f"{where}: the log is empty: {lines} lines, none of them a finished job in the {source.format} format"
    file, line, reason, _ = first
    return (
        f"{file.path}:{line}: {reason}. No line of the log is a job in the {source.format} format ({lines} lines read, "
        f"{sum(file.rejected for file in files)} rejected): check the format and the file"
    )
