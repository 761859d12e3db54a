"""PBS accounting logs (PBS Pro, OpenPBS, Torque): every record of the server, with finished jobs separate from all others.

`E` records are finished jobs. The server's other records are kept as events: `Q` (queued), `S` (started), `R` (requeued),
`D` (deleted), `A` (aborted), reservations, licences ... with the columns that they have. The end of an array as a whole
is an event too, of the type `E[]`, because the array's tasks are the jobs that ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from traces.common.blocks import read_log
from traces.common.log import REJECT_SCHEMA, ParsedLines, ParsedLog
from traces.common.spans import integers_of, renamed_texts, texts_of
from traces.pbs.rules import ARRAY_END, END_RECORD, read_line
from traces.pbs.scan import ARRAY_CODE, BLANK, KIND_AT, MESSAGE, ODD, Scan, scan
from traces.pbs.values import MISSING, NUMBER_COLUMNS, STRINGS

PBS_READER_VERSION = 7
"""Raise it when the same bytes of a log give other rows. Then each log of this format is read again."""

PBS_RECORD_SCHEMA = {
    "line": pl.Int64,
    "record_type": pl.Utf8,
    "logged_s": pl.Int64,
    "job_id": pl.Utf8,
    "user_name": pl.Utf8,
    "group_name": pl.Utf8,
    "account": pl.Utf8,
    "project": pl.Utf8,
    "queue": pl.Utf8,
    "job_name": pl.Utf8,
    "ctime_s": pl.Int64,
    "qtime_s": pl.Int64,
    "etime_s": pl.Int64,
    "start_s": pl.Int64,
    "end_s": pl.Int64,
    "exec_host": pl.Utf8,
    "procs": pl.Int64,
    "requested_procs": pl.Int64,
    "requested_walltime_s": pl.Int64,
    "used_walltime_s": pl.Int64,
    "used_cpu_s": pl.Int64,
    "exit_status": pl.Int64,
    "eligible_wait_s": pl.Int64,
    "gpus": pl.Int64,
    "nodes": pl.Int64,
    "run_count": pl.Int64,
    "requested_memory_kb": pl.Int64,
    "used_memory_kb": pl.Int64,
    "requestor": pl.Utf8,
    "message": pl.Utf8,
    "reservation": pl.Utf8,
    "assigned_procs": pl.Int64,
    "assigned_gpus": pl.Int64,
    "exec_vnode": pl.Utf8,
    "selected_chunks": pl.Utf8,
    "torque_nodes": pl.Utf8,
    "place": pl.Utf8,
    "dependency": pl.Utf8,
}
"""Columns of the records and of the events. Times are Unix seconds. But logged_s is the stamp of the record as its clock showed
it, taken for UTC. etime_s is 0 where the job was not eligible yet. Memory is of the whole job. message: the text of an event
without keys. assigned_procs, assigned_gpus: what a start takes of the nodes, which is more than requested where it has them alone."""

_COLUMN_OF = {
    "user": "user_name",
    "group": "group_name",
    "account": "account",
    "project": "project",
    "queue": "queue",
    "jobname": "job_name",
    "exec_host": "exec_host",
    "requestor": "requestor",
    "resvID": "reservation",
    "exec_vnode": "exec_vnode",
    "Resource_List.select": "selected_chunks",
    "Resource_List.nodes": "torque_nodes",
    "Resource_List.place": "place",
    "depend": "dependency",
}


Rename = Mapping[bytes, bytes]
"""Texts (UTF-8) to their replacements."""


def read_pbs(path: Path) -> ParsedLog:
    """Reads one accounting file as a whole, plain or packed, see `parse_pbs`. Raises LogError when it cannot be read."""
    return read_log(path, "pbs", parse_pbs)


def parse_pbs(content: bytes, first_line: int = 1, renames: Mapping[str, Rename] | None = None) -> ParsedLines:
    """Whole lines of an accounting file, the first numbered `first_line`. Records and events are as in `PBS_RECORD_SCHEMA`.

    Processors are the first of these that the record has: `resources_used.ncpus`, `Resource_List.ncpus` (beside a `select`),
    `total_execution_slots`, those in `exec_vnode`, the slots of `exec_host`. For an `E` record without any, it is what was requested:
    mppwidth x mppdepth or size, nodes x ppn, procs, ncpus, the chunks of select, or Torque's tasks. They are no fewer than
    mppwidth x mppdepth or size.
    An `E` record is rejected when a time is missing or out of order (submission <= start <= end), or when no
    processor count can be found. renames: column -> what its texts are replaced by.
    """
    scanned = scan(content)
    rejects: list[tuple[int, str, str]] = []
    ignored: Counter[str] = Counter()
    if blank := int((scanned.kind == BLANK).sum()):
        ignored["blank line"] = blank
    odd: list[dict[str, object]] = []
    for line in np.flatnonzero(scanned.kind == ODD).tolist():
        raw = content[scanned.line_start[line] : scanned.line_start[line + 1]].removesuffix(b"\n")
        read_line(first_line + line, raw, odd, rejects, ignored)
    for column, rename in (renames or {}).items():
        for record in odd:
            if name := record.get(column):
                record[column] = rename[str(name).encode()].decode()
    is_end = scanned.type == ord(END_RECORD)
    return ParsedLines(
        lines=len(scanned.kind),
        records=_frame(
            content, scanned, first_line, is_end, [r for r in odd if r["record_type"] == END_RECORD], renames or {}
        ),
        rejects=pl.DataFrame(rejects, schema=REJECT_SCHEMA, orient="row"),
        ignored=dict(ignored),
        events=_frame(
            content, scanned, first_line, ~is_end, [r for r in odd if r["record_type"] != END_RECORD], renames or {}
        ),
    )


def _frame(
    content: bytes,
    scanned: Scan,
    first_line: int,
    wanted: NDArray[np.bool_],
    odd: list[dict[str, object]],
    renames: Mapping[str, Rename],
) -> pl.DataFrame:
    """The wanted ones of the records that the scan has taken, and odd ones, as in PBS_RECORD_SCHEMA."""
    line, job_id, strings, numbers = scanned.row_line, scanned.job_id, scanned.strings, scanned.numbers
    if not wanted.all():
        line, job_id, strings, numbers = line[wanted], job_id[wanted], strings[wanted], numbers[wanted]
    kind = np.stack([scanned.line_start[line] + KIND_AT, np.ones(len(line), dtype=np.int64)], axis=1)
    spans = {"record_type": kind, "job_id": job_id, "message": strings[:, MESSAGE]}
    spans |= {_COLUMN_OF[key]: strings[:, k] for k, key in enumerate(STRINGS)}
    columns = {"line": pa.array(line + first_line)}
    for name, of_column in spans.items():
        rename = renames.get(name)
        columns[name] = texts_of(content, of_column) if rename is None else renamed_texts(content, of_column, rename)
    columns |= {name: integers_of(numbers[:, k], MISSING) for k, name in enumerate(NUMBER_COLUMNS)}
    taken = pl.DataFrame(pl.from_arrow(pa.table({name: columns[name] for name in PBS_RECORD_SCHEMA})))
    is_array = scanned.type[wanted] == ARRAY_CODE
    if is_array.any():
        array_end = pl.when(pl.Series(is_array)).then(pl.lit(ARRAY_END))
        taken = taken.with_columns(record_type=array_end.otherwise("record_type"))
    return pl.concat([taken, pl.DataFrame(odd, schema=PBS_RECORD_SCHEMA)]).sort("line") if odd else taken
