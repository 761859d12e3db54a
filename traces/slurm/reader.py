"""Slurm accounting as `sacct --parsable2` (`-P`) prints it: one line per job or job step, columns between `|`.

Columns and their meaning: Slurm's sacct manual, "Job Accounting Fields". The first line may name the columns (sacct's
default); without it (`--noheader`) they must be given, unless they are those of COLUMNS.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from traces.common.blocks import Parse, first_bytes, read_log
from traces.common.log import LARGEST_S, REJECT_SCHEMA, LogError, ParsedLines, ParsedLog
from traces.common.spans import lines_of

SLURM_READER_VERSION = 1
"""Raise it when the same bytes of a log give other rows: each log of this format is then read again."""

COLUMNS = (
    "JobID", "JobIDRaw", "Cluster", "Partition", "QOS", "Account", "Group", "GID", "User", "UID", "Submit", "Eligible",
    "Start", "End", "Elapsed", "ExitCode", "State", "NNodes", "NCPUS", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES",
    "Timelimit", "NodeList", "JobName",
)  # fmt: skip
"""The columns of a log without a header line: those that Open XDMoD asks sacct for."""

RECORD_SCHEMA = {
    "line": pl.Int64, "job_id": pl.Utf8, "raw_job_id": pl.Utf8, "array_tasks": pl.Int64, "cluster": pl.Utf8,
    "partition": pl.Utf8, "qos": pl.Utf8, "account": pl.Utf8, "group_name": pl.Utf8, "user_name": pl.Utf8,
    "job_name": pl.Utf8, "submit_s": pl.Int64, "eligible_s": pl.Int64, "start_s": pl.Int64, "end_s": pl.Int64,
    "elapsed_s": pl.Int64, "suspended_s": pl.Int64, "time_limit_s": pl.Int64, "state": pl.Utf8, "exit_code": pl.Int64,
    "signal": pl.Int64, "nodes": pl.Int64, "procs": pl.Int64, "requested_procs": pl.Int64, "gpus": pl.Int64,
    "requested_memory_kb": pl.Int64, "used_memory_kb": pl.Int64, "used_cpu_s": pl.Float64, "node_list": pl.Utf8,
}  # fmt: skip
"""Columns of the records; times are Unix seconds, memory is of the whole job."""

UNFINISHED = (
    "PENDING", "RUNNING", "REQUEUED", "RESIZING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT", "STOPPED",
    "SIGNALING", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD",
)  # fmt: skip
"""States of jobs that are not over: they will be in a later log."""

_MOST_STEPS = 100_000
_MOST_KB = 1e15
"""A larger amount of memory is a fault of the log: an exabyte."""
_KILOBYTES_OF = {"K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4}
_PER_CPU = 2.0**31
"""Old sacct prints the flag that says "per CPU" as part of the number of megabytes."""
_UNKNOWN = ("", "Unknown", "None", "N/A", "Partition_Limit", "UNLIMITED", "INVALID")


def read_slurm(path: Path, time_zone: str = "UTC", columns: str = "") -> ParsedLog:
    """Reads one file of `sacct -P` as a whole, plain or packed; see `slurm_parser`. Raises LogError when it cannot be read."""
    head = first_bytes(path)
    return read_log(path, "slurm", slurm_parser(path, head, time_zone, columns), slurm_cut(path, head, columns))


def slurm_cut(path: Path, head: bytes, columns: str = "") -> Callable[[bytes], int]:
    """How many bytes of a block there are before its last job (its steps may follow in the next block), as a function; head and
    columns as for `slurm_parser`. 0 where there is only one job. A job that comes twice in a row, requeued, is one here."""
    position = _columns(path, _first_lines(head), columns)[0].index("jobid")
    job = re.compile(rb"(?:[^|\n]*\|){%d}\s*(\d[^|.\[\n]*(?:\[[^|\n]*)?)(?:\||\r?\n)" % position)

    def cut(content: bytes) -> int:
        whole = content.rfind(b"\n") + 1
        end, last, found = whole, -1, b""
        for _ in range(_MOST_STEPS):
            if not end:
                return 0
            begin = content.rfind(b"\n", 0, end - 1) + 1
            if match := job.match(content, begin, end):
                if last >= 0 and match.group(1) != found:
                    return last
                last, found = begin, match.group(1)
            end = begin
        return whole  # no job has so many steps

    return cut


def slurm_parser(path: Path, head: bytes, time_zone: str = "UTC", columns: str = "") -> Parse:
    """A parser of the lines of a file that begins with the bytes `head`; records as in `RECORD_SCHEMA`, one per finished job.

    time_zone: of the cluster, since sacct prints local times (`SLURM_TIME_FORMAT=%s` prints Unix seconds, which are taken too).
    An hour that occurs twice is taken for the first. columns: names as sacct calls them, between commas or `|`, for a
    log without a header line; a header line in the file counts more.

    Job steps (`123.batch`) are folded into their job: the largest memory of any step, `used_memory_kb`. Jobs that are not over
    are ignored by state. A line is rejected when it has another number of columns, when a time, duration or count is
    none, when a finished job has no submission, end or processors, or when times are out of order. Raises LogError when the
    columns are unknown.
    """
    first = _first_lines(head)
    names, header = _columns(path, first, columns)
    # sacct -p ends lines with a |
    closed = header.endswith("|") or (not header and bool(first) and all(line.endswith("|") for line in first))
    return lambda content, first_line: _parse(content, first_line, names, header, closed, time_zone)


def _first_lines(head: bytes) -> list[str]:
    """The lines at the beginning of a file that are not blank."""
    return [line for line in _lines(head[: head.rfind(b"\n") + 1] or head).to_list() if line.strip()]


def _lines(content: bytes) -> pl.Series:
    try:
        content.decode()
    except UnicodeDecodeError:
        content = content.decode("utf-8", errors="backslashreplace").encode()
    return lines_of(content.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"\\x00"))


def _parse(content: bytes, first_line: int, names: list[str], header: str, closed: bool, time_zone: str) -> ParsedLines:
    texts = _lines(content)
    numbers = pl.Series(np.arange(first_line, first_line + len(texts)))
    lines = pl.DataFrame({"line": numbers, "text": texts})
    filled = lines.filter(pl.col("text").str.strip_chars() != "")
    ignored = {"blank line": lines.height - filled.height} if lines.height > filled.height else {}
    if header:
        repeated = filled["text"] == header  # files put together: each brings its header
        if headers := int(repeated.sum()):
            ignored["header"] = headers
        filled = filled.filter(~repeated)
    fields = pl.col("text").str.strip_suffix("|") if closed else pl.col("text")
    filled = filled.with_columns(fields.alias("fields"))
    width = pl.col("fields").str.count_matches("|", literal=True).cast(pl.Int64) + 1
    # a job may have a | in its name: where the name comes last, the name gets it
    fits = width >= len(names) if names[-1] == "jobname" else width == len(names)
    odd = filled.filter(~fits).select(
        "line", pl.format(f"expected {len(names)} columns, found {{}}", width).alias("reason"), "text"
    )
    fields = pl.col("fields").str.splitn("|", len(names)).struct.rename_fields(names)
    jobs = filled.filter(fits).with_columns(fields.alias("field"))
    jobs = jobs.with_columns(pl.col("field").struct.field(name).alias(f"in_{name}") for name in names).drop("field")
    jobs = jobs.with_columns(pl.lit("").alias(f"in_{name}") for name in _READ if f"in_{name}" not in jobs.columns)

    is_step = pl.col("in_jobid").str.contains(r"^[^\[.]*\.")  # a dot in brackets is of a list that was cut short
    steps = jobs.filter(is_step)
    if steps.height:
        ignored["job step"] = steps.height
    jobs = jobs.filter(~is_step)
    jobs = jobs.with_columns(state=pl.col("in_state").str.extract(r"^\s*(\w+)", 1).str.to_uppercase())
    unfinished = jobs.filter(pl.col("state").is_in(UNFINISHED))
    ignored |= {
        f"unfinished job: {state}": count for state, count in unfinished["state"].value_counts(sort=True).rows()
    }
    jobs = _records(jobs.filter(~pl.col("state").is_in(UNFINISHED).fill_null(False)), steps, time_zone)
    jobs = jobs.with_columns(reason=_fault())
    records = jobs.filter(pl.col("reason").is_null())
    rejects = pl.concat([odd, jobs.filter(pl.col("reason").is_not_null()).select("line", "reason", "text")])
    return ParsedLines(
        lines=lines.height,
        records=records.select(pl.col(name).cast(kind) for name, kind in RECORD_SCHEMA.items()),
        rejects=rejects.select(pl.col(name).cast(kind) for name, kind in REJECT_SCHEMA.items()).sort("line"),
        ignored=ignored,
        header=[("Columns", header)] if header and first_line == 1 else [],
    )


_READ = (
    "jobid", "jobidraw", "cluster", "partition", "qos", "account", "group", "user", "submit", "eligible", "start", "end",
    "elapsed", "elapsedraw", "suspended", "exitcode", "state", "nnodes", "ncpus", "alloccpus", "reqcpus", "reqmem", "reqtres",
    "alloctres", "timelimit", "timelimitraw", "nodelist", "jobname", "maxrss", "totalcpu",
)  # fmt: skip
_TIMES = ("submit", "eligible", "start", "end")
_DURATIONS = {"elapsed_s": "elapsed", "suspended_s": "suspended", "time_limit_s": "timelimit", "used_cpu_s": "totalcpu"}
_COUNTS = {"ncpus": "NCPUS", "alloccpus": "AllocCPUS", "reqcpus": "ReqCPUS", "nnodes": "NNodes"}
_NAMES = {"totalcpu": "TotalCPU"}


def is_header_line(text: str) -> bool:
    """Whether a line names sacct's columns."""
    names = _names_of(text)
    return len(names) > 1 and ("jobid" in names or "jobidraw" in names)


def _names_of(text: str) -> list[str]:
    """Columns in lower case, without their widths (`JobName%30`)."""
    return [name.strip().partition("%")[0].lower() for name in text.rstrip("|").split("|")]


def looks_like_sacct(text: str) -> bool:
    """Whether a line may be sacct's: a header, or a job with the columns of COLUMNS."""
    if is_header_line(text):
        return True
    fields = text.split("|")
    if len(fields) < len(COLUMNS) or not fields[0][:1].isdigit():
        return False
    submit = fields[COLUMNS.index("Submit")]
    return "T" in submit or (submit.isdigit() and len(submit) >= 9)


def _columns(path: Path, first: list[str], given: str) -> tuple[list[str], str]:
    """(names of the columns, the line that names them or ""); first: the first lines of the file."""
    header = next((text for text in first[:10] if is_header_line(text)), "")
    if header:
        names = _names_of(header)
    else:
        names = [name for name in _names_of(given.replace(",", "|")) if name] or [name.lower() for name in COLUMNS]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        where = f"{path}: the header line" if header else f"{path}: `columns` of the source"
        raise LogError(f"{where} names column {twice!r} twice: name every column once")
    if "jobid" not in names and "jobidraw" not in names:
        raise LogError(f"{path}: no column JobID among {', '.join(names)}: correct `columns` of the source")
    if "jobid" not in names:
        names[names.index("jobidraw")] = "jobid"
    return names, header


def _records(jobs: pl.DataFrame, steps: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """The columns of RECORD_SCHEMA; beside them `in_...`, the words of the log, and logged_start_s, its own Start."""
    jobs = jobs.with_columns(
        job_id=_text("jobid"),
        raw_job_id=pl.coalesce(_text("jobidraw"), _text("jobid")),
        array_tasks=_array_tasks(pl.col("in_jobid")),
        group_name=_text("group"),
        user_name=_text("user"),
        job_name=_text("jobname"),
        node_list=_text("nodelist"),
        **{name: _text(name) for name in ("cluster", "partition", "qos", "account")},
        **{f"{name}_s": _unix_seconds(pl.col(f"in_{name}"), time_zone) for name in _TIMES},
        **{
            column: _duration_s(pl.col(f"in_{name}")).cast(RECORD_SCHEMA[column]) for column, name in _DURATIONS.items()
        },
        exit_code=pl.col("in_exitcode").str.extract(r"^(\d{1,9}):\d{1,9}$", 1).cast(pl.Int64),
        signal=pl.col("in_exitcode").str.extract(r"^\d{1,9}:(\d{1,9})$", 1).cast(pl.Int64),
        nodes=pl.coalesce(_count("nnodes"), _tres("alloctres", "node"), _tres("reqtres", "node")),
        requested_procs=pl.coalesce(_count("reqcpus"), _tres("reqtres", "cpu")),
        gpus=pl.coalesce(_gpus("alloctres"), _gpus("reqtres")),
    )
    jobs = jobs.with_columns(
        procs=pl.coalesce(_count("ncpus"), _count("alloccpus"), _tres("alloctres", "cpu"), pl.col("requested_procs")),
        elapsed_s=pl.coalesce("elapsed_s", _whole("elapsedraw")),
        time_limit_s=pl.coalesce("time_limit_s", _count("timelimitraw") * 60),
    )
    at_once = (pl.col("start_s") == pl.col("end_s")) & (pl.col("elapsed_s").fill_null(0) == 0)
    unassigned = pl.col("in_nodelist").str.strip_chars().is_in(["None assigned", ""])
    jobs = jobs.with_columns(
        logged_start_s="start_s",
        # sacct gives a job that was cancelled while it waited the time of its end as its start
        start_s=pl.when(at_once & unassigned & (pl.col("state") == "CANCELLED"))
        .then(None)
        .otherwise(
            pl.coalesce("start_s", pl.when(pl.col("elapsed_s") > 0).then(pl.col("end_s") - pl.col("elapsed_s")))
        ),
        node_list=pl.when(~unassigned).then("node_list"),
    )
    largest = (
        steps.with_columns(
            job_id=pl.col("in_jobid").str.extract(r"^([^.]*)", 1),
            used_memory_kb=_kilobytes(pl.col("in_maxrss"), bare=1 / 1024),
        )
        .group_by("job_id")
        .agg(pl.col("used_memory_kb").max())
    )
    return jobs.with_columns(requested_memory_kb=_requested_memory()).join(
        largest.cast({"used_memory_kb": pl.Int64}), on="job_id", how="left", maintain_order="left"
    )


def _requested_memory() -> pl.Expr:
    """Kilobytes of the whole job: ReqMem, which may be per node (n) or per CPU (c), else mem of ReqTRES."""
    text = pl.col("in_reqmem").str.strip_chars()
    of_tres = _kilobytes(pl.col("in_reqtres").str.extract(r"(?:^|,)mem=([^,]*)", 1).fill_null(""), bare=1024.0)
    amount = _kilobytes(text.str.strip_chars_end("cn"), bare=1024.0, largest=1e18)
    flagged = amount >= _PER_CPU * 1024
    per_cpu = text.str.ends_with("c") | flagged
    units = pl.when(per_cpu).then("procs").when(text.str.ends_with("n")).then("nodes").otherwise(1).fill_null(1)
    whole = (amount - pl.when(flagged).then(_PER_CPU * 1024).otherwise(0.0)) * units
    return pl.coalesce(pl.when(whole <= _MOST_KB).then(whole), of_tres).cast(pl.Int64)


def _fault() -> Any:
    """Why a line is not a finished job; null for a sound one."""
    faults: Any = pl.when(pl.col("job_id").is_null()).then(pl.lit("no JobID"))
    for name in _TIMES:
        column = "logged_start_s" if name == "start" else f"{name}_s"
        wrong = ~pl.col(f"in_{name}").str.strip_chars().is_in(_UNKNOWN) & pl.col(column).is_null()
        faults = faults.when(wrong).then(pl.format(f"{name.capitalize()} is no time: {{}}", f"in_{name}"))
    for column, name in _DURATIONS.items():
        wrong = ~pl.col(f"in_{name}").str.strip_chars().is_in(_UNKNOWN) & pl.col(column).is_null()
        shown = _NAMES.get(name, name.capitalize())
        faults = faults.when(wrong).then(pl.format(f"{shown} is no duration: {{}}", f"in_{name}"))
    for name, shown in _COUNTS.items():
        wrong = ~pl.col(f"in_{name}").str.strip_chars().is_in(_UNKNOWN) & _whole(name).is_null()
        faults = faults.when(wrong).then(pl.format(f"{shown} is no count: {{}}", f"in_{name}"))
    return (
        faults.when(pl.col("submit_s").is_null()).then(pl.lit("no Submit time"))
        .when(pl.col("end_s").is_null()).then(pl.lit("a job that is over has no End time"))
        .when(pl.col("start_s").is_between("submit_s", "end_s").not_() | (pl.col("submit_s") > pl.col("end_s")))
        .then(pl.lit("times out of order: expected Submit <= Start <= End"))
        .when(pl.col("procs").is_null()).then(pl.lit("no processor count (NCPUS, AllocTRES or ReqCPUS)"))
        .otherwise(None)
    )  # fmt: skip


def _text(name: str) -> pl.Expr:
    value = pl.col(f"in_{name}").str.strip_chars()
    return pl.when(value != "").then(value)


def _unix_seconds(text: pl.Expr, time_zone: str) -> pl.Expr:
    text = text.str.strip_chars()
    local = text.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ms")
    zoned = local.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    # a time that the clock leaves out is one that a clock shows which was not put forward: the offset of the day before holds
    before = (local - pl.duration(days=1)).dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    seconds = pl.coalesce(zoned.dt.epoch("s"), before.dt.epoch("s") + 86_400)
    unix = text.str.extract(r"^(\d{9,11})$", 1).cast(pl.Int64)
    found = pl.coalesce(seconds, unix)
    return pl.when(found.is_between(0, LARGEST_S)).then(found)


def _duration_s(text: pl.Expr) -> pl.Expr:
    """Seconds of `[D-]H:M:S[.fraction]`, `M:S` or `D-H[:M]`; float, null for what is none."""
    text = text.str.strip_chars()
    form = r"^(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?(\.\d+)?$"
    parts = text.str.extract_groups(form)
    days, first, second, third, fraction = (parts.struct.field(str(k)).cast(pl.Float64) for k in range(1, 6))
    after_days = first * 3600 + second.fill_null(0) * 60 + third.fill_null(0)
    plain = pl.when(third.is_not_null()).then(after_days).when(second.is_not_null()).then(first * 60 + second)
    seconds = pl.when(days.is_not_null()).then(days * 86400 + after_days).otherwise(plain) + fraction.fill_null(0)
    return pl.when(seconds <= LARGEST_S).then(seconds)


def _count(name: str) -> pl.Expr:
    """A whole number above 0, null for anything else."""
    return pl.when(_whole(name) > 0).then(_whole(name))


def _whole(name: str) -> pl.Expr:
    return pl.col(f"in_{name}").str.extract(r"^\s*(\d{1,9})\s*$", 1).cast(pl.Int64)


def _tres(name: str, resource: str) -> pl.Expr:
    return pl.col(f"in_{name}").str.extract(rf"(?:^|,){resource}=(\d{{1,9}})(?:,|$)", 1).cast(pl.Int64)


def _gpus(name: str) -> pl.Expr:
    """gres/gpu=4, or the sum of gres/gpu:a100=2,gres/gpu:v100=1; null where there are no trackable resources at all."""
    text = pl.col(f"in_{name}")
    typed = text.str.extract_all(r"gres/gpu:[^=,]+=\d{1,9}").list.eval(
        pl.element().str.extract(r"=(\d+)$", 1).cast(pl.Int64)
    )
    return pl.when(text != "").then(pl.coalesce(_tres(name, "gres/gpu"), typed.list.sum()))


def _array_tasks(job_id: pl.Expr) -> pl.Expr:
    """How many tasks a line stands for: 3 for `12_[1-3]`, 2 for `12_[1,5]`, 4 for `12_[0-9:3%2]`; 1 for anything else, and no
    more than are written where sacct has cut the list short."""
    listed = job_id.str.extract(r"_\[([\d,\-:]+?)(?:,?\.\.\.)?(?:%\d+)?\]$", 1).str.split(",")
    first = pl.element().str.extract(r"^(\d{1,9})", 1).cast(pl.Int64)
    last = pl.coalesce(pl.element().str.extract(r"^\d+-(\d{1,9})", 1).cast(pl.Int64), first)
    step = pl.coalesce(pl.element().str.extract(r":(\d{1,9})$", 1).cast(pl.Int64), pl.lit(1)).clip(1)
    return listed.list.eval((last - first) // step + 1).list.sum().fill_null(1).clip(1)


def _kilobytes(text: pl.Expr, bare: float, largest: float = _MOST_KB) -> pl.Expr:
    """Of `48000M`, `1.50G`; bare: kilobytes of a number alone, 1. Float; null for what is no size, or none that can be."""
    found = text.str.strip_chars().str.extract_groups(r"^(\d{1,15}(?:\.\d+)?|\.\d+)([KMGTP]?)$")
    unit = found.struct.field("2").replace_strict(_KILOBYTES_OF | {"": bare}, default=None, return_dtype=pl.Float64)
    amount = (found.struct.field("1").cast(pl.Float64) * unit).round()
    return pl.when(amount <= largest).then(amount)
