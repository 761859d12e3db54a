"""Slurm accounting as `sacct --parsable2` (`-P`) prints it: one line per job or job step, columns between `|` or another delimiter. JSON is
turned into such lines (traces.slurm.document).

Columns and their meaning: Slurm's sacct manual, "Job Accounting Fields". The first line may name the columns (sacct's
default); without it (`--noheader`) they must be given, unless they are those of SACCT_COLUMNS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from traces.common.blocks import LogStream, Parse, first_bytes, read_log
from traces.common.log import REJECT_SCHEMA, LogError, ParsedLines, ParsedLog
from traces.slurm.columns import SacctColumns, columns_of, first_lines, text_lines
from traces.slurm.document import HEADER, document_lines, is_document
from traces.slurm.records import READ_COLUMNS, SLURM_RECORD_SCHEMA, fault_of, is_attempt, records_of

SLURM_READER_VERSION = 8
"""Raise it when the same bytes of a log give other rows: each log of this format is then read again."""

WAITING_STATE = "PENDING"
"""Of a job that waits when the log is printed."""
UNFINISHED_STATES = (
    WAITING_STATE,
    "RUNNING",
    "REQUEUED",
    "RESIZING",
    "SUSPENDED",
    "COMPLETING",
    "CONFIGURING",
    "STAGE_OUT",
    "STOPPED",
    "SIGNALING",
    "REQUEUE_HOLD",
    "REQUEUE_FED",
    "SPECIAL_EXIT",
    "RESV_DEL_HOLD",
)
"""States of jobs that are not over: they will be in a later log. An attempt that was REQUEUED is over where it has its times."""

_MOST_STEPS = 100_000
UNKNOWN_COLUMNS = "Unknown columns"
"""Key of raw.log_headers for names of columns that sacct does not have, and that are not read."""


def read_slurm(path: Path, time_zone: str = "UTC", columns: str = "") -> ParsedLog:
    """Reads one file of sacct as a whole, plain or packed; see `slurm_parser`. Raises LogError when it cannot be read."""
    parser = slurm_parser(path, slurm_head(path), time_zone, columns)
    return read_log(path, "slurm", parser, slurm_stream(path, columns))


def slurm_head(path: Path) -> bytes:
    """The beginning of a file of sacct. Of JSON it is the line that names the columns into which it is turned. Raises LogError."""
    head = first_bytes(path)
    return HEADER.encode() if is_document(head) else head


def slurm_stream(path: Path, columns: str = "") -> LogStream:
    """The blocks of a file of sacct, of JSON as lines. columns: as for `slurm_parser`. Raises LogError."""
    head = first_bytes(path)
    if is_document(head):
        return LogStream(path, slurm_cut(path, HEADER.encode()), as_lines=partial(_document_lines, path))
    return LogStream(path, slurm_cut(path, head, columns))


def _document_lines(path: Path, pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from document_lines(pieces)
    except LogError as error:
        raise LogError(f"{path}: {error}") from None


def slurm_cut(path: Path, head: bytes, columns: str = "") -> Callable[[bytes], int]:
    """A function that says how many bytes of a block come before its last job, whose steps may follow in the next block.

    It gives 0 for a block with one job only. A job that comes twice in a row, since it was requeued, is one job here.
    head, columns: as for `slurm_parser`.
    """
    of_log = columns_of(path, first_lines(head), columns)
    between, position = re.escape(of_log.delimiter.encode()), of_log.names.index("jobid")
    word = rb"(?:(?!%s)[^\n])*" % between
    listed = rb"(?:(?!%s)[^.\[\n])*" % between
    job = re.compile(rb"(?:%s%s){%d}\s*(\d%s(?:\[%s)?)(?:%s|\r?\n)" % (word, between, position, listed, word, between))

    def cut(content: bytes) -> int:
        whole = content.rfind(b"\n") + 1
        end, last, last_job = whole, -1, b""
        for _ in range(_MOST_STEPS):
            if not end:
                return 0
            begin = content.rfind(b"\n", 0, end - 1) + 1
            if match := job.match(content, begin, end):
                if last >= 0 and match.group(1) != last_job:
                    return last
                last, last_job = begin, match.group(1)
            end = begin
        return whole  # no job has so many steps

    return cut


def slurm_parser(path: Path, head: bytes, time_zone: str = "UTC", columns: str = "") -> Parse:
    """A parser of the lines of a file that begins with the bytes `head`.

    Records are as in `SLURM_RECORD_SCHEMA`, one per finished job, or per attempt of a job that was requeued (sacct --duplicates).
    time_zone: of the cluster, since sacct prints local times. Unix seconds (`SLURM_TIME_FORMAT=%s`) are read too.
        In an hour that occurs twice Elapsed says which one it is (traces.slurm.clock).
    columns: their names in sacct, between commas or `|`, for a log without a header line. A header line counts more.

    Job steps (`123.batch`) become part of their job: `used_memory_kb` is the memory of the largest step. Jobs that are not
    over are ignored, by state, but those that wait are events, with the same columns and no end. An attempt in the state
    REQUEUED is a record if it has a start and an end.
    A line is rejected when it has another number of columns, or when one of its times, durations or
    counts cannot be read. A finished job is rejected when it has no submission, end or processors, or when its times are out
    of order. Raises LogError when the columns are unknown.
    """
    first = first_lines(head)
    of_log = columns_of(path, first, columns)
    # sacct -p ends lines with a |
    lines = [of_log.header] if of_log.header else first
    closed = bool(lines) and all(line.strip().endswith(of_log.delimiter) for line in lines)
    return lambda content, first_line: _parse(content, first_line, of_log, closed, time_zone)


def _parse(content: bytes, first_line: int, columns: SacctColumns, closed: bool, time_zone: str) -> ParsedLines:
    """closed: whether lines end with a delimiter."""
    header = columns.header
    texts = text_lines(content)
    numbers = pl.Series(np.arange(first_line, first_line + len(texts)))
    lines = pl.DataFrame({"line": numbers, "text": texts})
    filled = lines.filter(pl.col("text").str.strip_chars() != "")
    ignored = {"blank line": lines.height - filled.height} if lines.height > filled.height else {}
    if header:
        repeated = filled["text"] == header  # files put together: each brings its header
        if headers := int(repeated.sum()):
            ignored["header"] = headers
        filled = filled.filter(~repeated)
    words, odd = _split(filled, columns, closed)
    is_step = pl.col("in_jobid").str.contains(r"^[^\[.]*\.")  # a dot in brackets is of a list that was cut short
    steps = words.filter(is_step)
    if steps.height:
        ignored["job step"] = steps.height
    words = words.filter(~is_step)
    words = words.with_columns(state=pl.col("in_state").str.extract(r"^\s*(\w+)", 1).str.to_uppercase())
    is_unfinished = pl.col("state").is_in(UNFINISHED_STATES).fill_null(False) & ~is_attempt()
    unfinished = words.filter(is_unfinished)
    waiting = records_of(unfinished.filter(pl.col("state") == WAITING_STATE), steps.clear(), time_zone)
    waiting = waiting.drop_nulls(["job_id", "submit_s", "procs"])
    unfinished = unfinished.filter(~pl.col("line").is_in(waiting["line"].implode()))
    ignored |= {
        f"unfinished job: {state}": count for state, count in unfinished["state"].value_counts(sort=True).rows()
    }
    words = words.filter(~is_unfinished)
    jobs = records_of(words, steps, time_zone).with_columns(fault=fault_of())
    records = jobs.filter(pl.col("fault").is_null())
    rejects = pl.concat(
        [odd, jobs.filter(pl.col("fault").is_not_null()).select("line", pl.col("fault").alias("reason"), "text")]
    )
    return ParsedLines(
        lines=lines.height,
        records=records.select(pl.col(name).cast(kind) for name, kind in SLURM_RECORD_SCHEMA.items()),
        rejects=rejects.select(pl.col(name).cast(kind) for name, kind in REJECT_SCHEMA.items()).sort("line"),
        ignored=ignored,
        header=_notes(columns) if first_line == 1 else [],
        events=waiting.select(pl.col(name).cast(kind) for name, kind in SLURM_RECORD_SCHEMA.items()),
    )


def _notes(columns: SacctColumns) -> list[tuple[str, str]]:
    """What raw.log_headers keeps of a file: the line that names its columns, and the names that are none of sacct's."""
    notes = [("Columns", columns.header)] if columns.header else []
    return [*notes, (UNKNOWN_COLUMNS, ", ".join(columns.unknown))] if columns.unknown else notes


def _split(filled: pl.DataFrame, columns: SacctColumns, closed: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The lines with their words in columns `in_...`, one for each of READ_COLUMNS at least, and the rejects among them.

    filled: line and text of the lines that are neither blank nor headers. A line of another number of columns is a reject.
    """
    names, between = columns.names, columns.delimiter
    fields = pl.col("text").str.strip_suffix(between) if closed else pl.col("text")
    filled = filled.with_columns(fields.alias("fields"))
    width = pl.col("fields").str.count_matches(between, literal=True).cast(pl.Int64) + 1
    # a job may have a delimiter in its name: where the name comes last, the name gets it
    fits = width >= len(names) if names[-1] == "jobname" else width == len(names)
    reason = pl.format(f"expected {len(names)} columns, found {{}}", width).alias("reason")
    odd = filled.filter(~fits).select("line", reason, "text")
    fields = pl.col("fields").str.splitn(between, len(names)).struct.rename_fields(names)
    words = filled.filter(fits).with_columns(fields.alias("field"))
    words = words.with_columns(pl.col("field").struct.field(name).alias(f"in_{name}") for name in names).drop("field")
    missing = [name for name in READ_COLUMNS if f"in_{name}" not in words.columns]
    return words.with_columns(pl.lit("").alias(f"in_{name}") for name in missing), odd
