"""Jobs of sacct's output as records, and what is wrong with those that cannot be one."""

from __future__ import annotations

from typing import Any

import polars as pl

from traces.common.log import LARGEST_S
from traces.slurm.clock import LOCAL_TIMES, with_settled_times
from traces.slurm.submit_lines import with_submitted_gpus
from traces.slurm.values import (
    MOST_KB,
    array_tasks,
    duration_seconds,
    gpu_count,
    gres_count,
    is_relative_time,
    local_time,
    memory_per,
    positive_count,
    requested_memory,
    size_kilobytes,
    submitted_dependency,
    text_of,
    tres_count,
    unix_seconds,
    usage_amounts,
    whole_number,
    zoned_seconds,
)

SLURM_RECORD_SCHEMA = {
    "line": pl.Int64,
    "job_id": pl.Utf8,
    "raw_job_id": pl.Utf8,
    "array_tasks": pl.Int64,
    "cluster": pl.Utf8,
    "partition": pl.Utf8,
    "qos": pl.Utf8,
    "account": pl.Utf8,
    "group_name": pl.Utf8,
    "user_name": pl.Utf8,
    "job_name": pl.Utf8,
    "submit_s": pl.Int64,
    "eligible_s": pl.Int64,
    "start_s": pl.Int64,
    "end_s": pl.Int64,
    "local_times": pl.Boolean,
    "elapsed_s": pl.Int64,
    "suspended_s": pl.Int64,
    "time_limit_s": pl.Int64,
    "state": pl.Utf8,
    "exit_code": pl.Int64,
    "signal": pl.Int64,
    "nodes": pl.Int64,
    "procs": pl.Int64,
    "requested_procs": pl.Int64,
    "gpus": pl.Int64,
    "requested_memory_kb": pl.Int64,
    "used_memory_kb": pl.Int64,
    "used_cpu_s": pl.Float64,
    "node_list": pl.Utf8,
    "priority": pl.Int64,
    "reason": pl.Utf8,
    "constraints": pl.Utf8,
    "reservation": pl.Utf8,
    "usage_in_total": pl.Utf8,
    "consumed_energy_j": pl.Int64,
    "admin_comment": pl.Utf8,
    "submit_line": pl.Utf8,
    "requested_tres": pl.Utf8,
    "allocated_tres": pl.Utf8,
    "memory_per": pl.Utf8,
    "asked_gpus": pl.Utf8,
    "dependency": pl.Utf8,
}
"""Columns of the records. Times are Unix seconds, memory is of the whole job."""

_UNKNOWN = ("", "Unknown", "None", "N/A", "Partition_Limit", "UNLIMITED", "INVALID")
READ_COLUMNS = (
    "jobid",
    "jobidraw",
    "cluster",
    "partition",
    "qos",
    "account",
    "group",
    "user",
    "submit",
    "eligible",
    "start",
    "end",
    "elapsed",
    "elapsedraw",
    "suspended",
    "exitcode",
    "state",
    "nnodes",
    "ncpus",
    "alloccpus",
    "reqcpus",
    "reqmem",
    "reqtres",
    "alloctres",
    "reqgres",
    "allocgres",
    "timelimit",
    "timelimitraw",
    "nodelist",
    "jobname",
    "maxrss",
    "ntasks",
    "totalcpu",
    "priority",
    "reason",
    "constraints",
    "reservation",
    "tresusageintot",
    "consumedenergyraw",
    "admincomment",
    "submitline",
)
"""The columns of sacct that are read. Those that a log does not have count as empty."""
_WORDS = ("cluster", "partition", "qos", "account", "reason", "constraints", "reservation")
_LOCAL_LETTERS = len("2024-01-15T10:00:00")
_DURATIONS = {"elapsed_s": "elapsed", "suspended_s": "suspended", "time_limit_s": "timelimit", "used_cpu_s": "totalcpu"}
_COUNTS = {"ncpus": "NCPUS", "alloccpus": "AllocCPUS", "reqcpus": "ReqCPUS", "nnodes": "NNodes"}
_RELATIVE = "relative to the day of printing: {}. Print the log again with SLURM_TIME_FORMAT=standard, or with %s"
_NAMES = {"totalcpu": "TotalCPU"}


def records_of(jobs: pl.DataFrame, steps: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """The columns of SLURM_RECORD_SCHEMA, for one job a row, in the order of `jobs`.

    jobs, steps: lines of jobs and of their steps, with the words of the log in columns `in_...`, such as `in_jobid`.
    These columns stay. logged_start_s is the Start that the log shows. time_zone: of the cluster.
    """
    jobs = jobs.with_columns(
        job_id=text_of("jobid"),
        raw_job_id=pl.coalesce(text_of("jobidraw"), text_of("jobid")),
        array_tasks=array_tasks(pl.col("in_jobid")),
        group_name=text_of("group"),
        user_name=text_of("user"),
        job_name=text_of("jobname"),
        node_list=text_of("nodelist"),
        admin_comment=text_of("admincomment"),
        submit_line=text_of("submitline"),
        requested_tres=text_of("reqtres"),
        allocated_tres=text_of("alloctres"),
        memory_per=memory_per(),
        dependency=submitted_dependency(),
        priority=whole_number("priority", 18),
        consumed_energy_j=_energy("consumedenergyraw"),
        **{name: text_of(name) for name in _WORDS},
        **{f"{name}_s": _absolute_seconds(jobs, name) for name in LOCAL_TIMES},
        **{
            column: duration_seconds(pl.col(f"in_{name}")).cast(SLURM_RECORD_SCHEMA[column])
            for column, name in _DURATIONS.items()
        },
        local_times=pl.any_horizontal(_is_local(name) for name in LOCAL_TIMES),
        exit_code=pl.col("in_exitcode").str.extract(r"^(\d{1,9}):\d{1,9}$", 1).cast(pl.Int64),
        signal=pl.col("in_exitcode").str.extract(r"^\d{1,9}:(\d{1,9})$", 1).cast(pl.Int64),
        nodes=pl.coalesce(positive_count("nnodes"), tres_count("alloctres", "node"), tres_count("reqtres", "node")),
        requested_procs=pl.coalesce(positive_count("reqcpus"), tres_count("reqtres", "cpu")),
    )
    jobs = jobs.with_columns(
        procs=pl.coalesce(
            positive_count("ncpus"), positive_count("alloccpus"), tres_count("alloctres", "cpu"), "requested_procs"
        ),
        elapsed_s=pl.coalesce("elapsed_s", whole_number("elapsedraw")),
        time_limit_s=pl.coalesce("time_limit_s", positive_count("timelimitraw") * 60),
    )
    jobs = _with_gpus(jobs)
    jobs = with_settled_times(jobs, {name: local_time(pl.col(f"in_{name}")) for name in LOCAL_TIMES}, time_zone)
    in_calendar = {f"{name}_s": pl.col(f"{name}_s").is_between(0, LARGEST_S) for name in LOCAL_TIMES}
    jobs = jobs.with_columns(pl.when(is_sound).then(name).alias(name) for name, is_sound in in_calendar.items())
    return _with_steps(_with_start(jobs), steps)


def _with_gpus(jobs: pl.DataFrame) -> pl.DataFrame:
    """With gpus: of the trackable resources, else of the generic ones, else of the options of the submission, which are null where they do
    not say how many. Only where none of these names any GPU, resources without them mean none. asked_gpus is null where it has more."""
    jobs = with_submitted_gpus(jobs)
    amounts = (
        pl.coalesce(gpu_count("alloctres"), gpu_count("reqtres")),
        gres_count("allocgres"),
        gres_count("reqgres") * pl.col("nodes").fill_null(1),  # ReqGRES is of a node
    )
    named = pl.coalesce(*(pl.when(amount > 0).then(amount) for amount in amounts), "submitted_gpus")
    none = pl.when(~pl.col("names_gpus")).then(pl.coalesce(*amounts))
    jobs = jobs.with_columns(gpus=pl.coalesce(named, none)).drop("submitted_gpus", "names_gpus")
    asked = pl.col("asked_gpus").str.extract_all(r"=\d+").list.eval(pl.element().str.slice(1).cast(pl.Int64)).list.sum()
    return jobs.with_columns(asked_gpus=pl.when(asked <= pl.col("gpus")).then("asked_gpus"))


def _absolute_seconds(jobs: pl.DataFrame, name: str) -> pl.Expr:
    """Unix seconds of a time that does not depend on the cluster's zone."""
    text = pl.col(f"in_{name}")
    longest = jobs[f"in_{name}"].str.len_bytes().max()
    has_zones = isinstance(longest, int) and longest > _LOCAL_LETTERS  # few logs have them
    return pl.coalesce(unix_seconds(text), zoned_seconds(text)) if has_zones else unix_seconds(text)


def _is_local(name: str) -> pl.Expr:
    text = pl.col(f"in_{name}").str.strip_chars()
    return text.str.contains("T", literal=True) & (text.str.len_bytes() <= _LOCAL_LETTERS)


def is_attempt() -> pl.Expr:
    """Whether a line is an attempt of a job that ran and was requeued, over its `state` and its words in columns `in_...`."""
    has_times = [~pl.col(f"in_{name}").str.strip_chars().is_in(_UNKNOWN) for name in ("start", "end")]
    return (pl.col("state") == "REQUEUED").fill_null(False) & pl.all_horizontal(has_times)


def _with_start(jobs: pl.DataFrame) -> pl.DataFrame:
    """Without the start and the nodes that sacct writes for jobs that never started. Adds requested_memory_kb."""
    at_once = (pl.col("start_s") == pl.col("end_s")) & (pl.col("elapsed_s").fill_null(0) == 0)
    unassigned = pl.col("in_nodelist").str.strip_chars().is_in(["None assigned", ""])
    before_end = pl.when(pl.col("elapsed_s") > 0).then(pl.col("end_s") - pl.col("elapsed_s"))
    # sacct gives a job that left the queue while it waited the time of its end as its start
    is_told = pl.col("in_nodelist").str.strip_chars() == "None assigned"
    never_started = at_once & (is_told | (unassigned & (pl.col("state") == "CANCELLED").fill_null(False)))
    return jobs.with_columns(
        logged_start_s="start_s",
        start_s=pl.when(never_started).then(None).otherwise(pl.coalesce("start_s", before_end)),
        node_list=pl.when(~unassigned).then("node_list"),
        requested_memory_kb=requested_memory(),
    )


def _with_steps(jobs: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """With what the steps of each job used: the memory of the largest, and the sums of use and energy."""
    steps = steps.with_columns(job_id=pl.col("in_jobid").str.extract(r"^([^.]*)", 1))
    used = steps.group_by("job_id").agg(
        used_memory_kb=_memory_of_step().max().cast(pl.Int64),
        of_steps_j=pl.when(_energy("consumedenergyraw").is_not_null().any()).then(_energy("consumedenergyraw").sum()),
    )
    jobs = jobs.join(used, on="job_id", how="left", maintain_order="left")
    jobs = jobs.join(_usage_of(steps), on="job_id", how="left", maintain_order="left")
    own = text_of("tresusageintot")
    energy = pl.coalesce(
        pl.when(pl.col("consumed_energy_j") > 0).then("consumed_energy_j"), "of_steps_j", "consumed_energy_j"
    )
    return jobs.with_columns(usage_in_total=pl.coalesce("usage_in_total", own), consumed_energy_j=energy)


def _memory_of_step() -> pl.Expr:
    """Kilobytes of all tasks of a step: mem of TRESUsageInTot, else MaxRSS, which is of one task, times NTasks, else MaxRSS alone."""
    in_all = pl.col("in_tresusageintot").str.extract(r"(?:^|,)mem=([^,]*)", 1).fill_null("")
    of_task = size_kilobytes(pl.col("in_maxrss"), bare=1 / 1024)
    of_tasks = of_task * positive_count("ntasks").fill_null(1)
    in_all_kb = size_kilobytes(in_all, bare=1 / 1024)
    return pl.coalesce(pl.when(in_all_kb > 0).then(in_all_kb), pl.when(of_tasks <= MOST_KB).then(of_tasks), of_task)


def _usage_of(steps: pl.DataFrame) -> pl.DataFrame:
    """job_id, and usage_in_total, the sums of TRESUsageInTot over the steps of a job, such as `cpu=57,mem=77460K`."""
    with_usage = steps.filter(pl.col("in_tresusageintot").str.contains("=", literal=True))
    pairs = with_usage.select("job_id", pair=usage_amounts(pl.col("in_tresusageintot"))).explode("pair").unnest("pair")
    sums = pairs.group_by("job_id", "resource").agg(pl.col("amount").sum(), pl.col("is_size").any()).sort("resource")
    unit = pl.when(pl.col("is_size")).then(pl.lit("K")).otherwise(pl.lit(""))
    words = pl.format("{}={}{}", "resource", pl.col("amount").round().cast(pl.Int64, strict=False), unit)
    return sums.group_by("job_id", maintain_order=True).agg(usage_in_total=words.str.join(","))


def _energy(name: str) -> pl.Expr:
    """Joules. Slurm prints the largest number of 64 bits where it does not know."""
    return whole_number(name, 18)


def fault_of() -> Any:
    """Why a row of `records_of` is not a finished job, as an expression. Null for a sound row."""
    faults: Any = pl.when(pl.col("job_id").is_null()).then(pl.lit("no JobID"))
    for name in LOCAL_TIMES:
        column = "logged_start_s" if name == "start" else f"{name}_s"
        wrong = ~pl.col(f"in_{name}").str.strip_chars().is_in(_UNKNOWN) & pl.col(column).is_null()
        relative = wrong & is_relative_time(pl.col(f"in_{name}"))
        faults = faults.when(relative).then(pl.format(f"{name.capitalize()} is {_RELATIVE}", f"in_{name}"))
        faults = faults.when(wrong).then(pl.format(f"{name.capitalize()} is no time: {{}}", f"in_{name}"))
    for column, name in _DURATIONS.items():
        wrong = ~pl.col(f"in_{name}").str.strip_chars().is_in(_UNKNOWN) & pl.col(column).is_null()
        shown = _NAMES.get(name, name.capitalize())
        faults = faults.when(wrong).then(pl.format(f"{shown} is no duration: {{}}", f"in_{name}"))
    for name, shown in _COUNTS.items():
        wrong = ~pl.col(f"in_{name}").str.strip_chars().is_in(_UNKNOWN) & whole_number(name).is_null()
        faults = faults.when(wrong).then(pl.format(f"{shown} is no count: {{}}", f"in_{name}"))
    disordered = pl.col("start_s").is_between("submit_s", "end_s").not_() | (pl.col("submit_s") > pl.col("end_s"))
    for wrong, reason in (
        (pl.col("submit_s").is_null(), "no Submit time"),
        (pl.col("end_s").is_null(), "a job that is over has no End time"),
        (disordered, "times out of order: expected Submit <= Start <= End"),
        (pl.col("procs").is_null(), "no processor count (NCPUS, AllocTRES or ReqCPUS)"),
    ):
        faults = faults.when(wrong).then(pl.lit(reason))
    return faults.otherwise(None)
