"""Logs of generated sources: a synthetic workload, run through FCFS with EASY backfilling, written as a real log."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl

from assets.common.storage import data_folder
from assets.common.trace import JOB_COLUMNS
from assets.ingest.centre_log import write_centre_log
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log
from traces.catalogue.sources import Source
from traces.common.log import log_files
from traces.pbs.writer import write_pbs
from traces.swf.writer import write_swf
from traces.synthetic.centre import CentreOptions
from traces.synthetic.workload import WorkloadOptions, generate_workload

GENERATOR_VERSION = 1
"""Raise it when the same options give another log, so that old logs are not taken for new ones."""
LEFT_BEHIND_S = 3600
"""A half-written folder to which nobody has added a file for this long is of a run that was killed."""


def generated_log(source: Source) -> Path:
    """The log of a generated source, written on first use: a file, or a folder of daily or monthly files."""
    recipe = json.dumps(
        [GENERATOR_VERSION, source.format, source.procs, source.time_zone, source.generator], sort_keys=True
    )
    folder = written_once(source.name, recipe, lambda folder: _write(source, folder))
    return folder if source.format == "pbs" or "model" in source.generator else log_files(folder)[0]


def written_once(name: str, recipe: str, write: Callable[[Path], None]) -> Path:
    """A folder that `write` has filled, now or before.

    Its name carries a hash of the recipe, which tells everything that decides the content, and it appears complete or not at
    all: runs that race, or die, leave each other's logs alone.
    """
    key = hashlib.sha256(recipe.encode()).hexdigest()[:12]
    folder = data_folder() / "logs" / f"{name}-{key}"
    if not folder.exists():
        # threads and other hosts may have the number of this process
        temporary = folder.with_name(f"{folder.name}.{secrets.token_hex(8)}.part")
        temporary.mkdir(parents=True)
        try:
            _remove_older(folder.parent, temporary.stat().st_mtime - LEFT_BEHIND_S)
            write(temporary)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.exists():
                raise
            shutil.rmtree(temporary)  # another run was faster with the same content
    return folder


def _remove_older(folder: Path, changed_s: float) -> None:
    """Removes what killed runs have left. changed_s: by the clock of the file system, which may be another host's."""
    for left in folder.glob("*.part"):
        with suppress(FileNotFoundError):
            if left.stat().st_mtime < changed_s:
                shutil.rmtree(left, ignore_errors=True)


def _write(source: Source, folder: Path) -> None:
    if "model" in source.generator:
        write_centre_log(CentreOptions(**source.generator), folder, source.name)
        return
    assert source.procs is not None  # the catalogue demands both of generated sources
    assert source.time_zone is not None
    options = WorkloadOptions(procs=source.procs, **source.generator)
    jobs = generate_workload(options)
    submit, runtime, procs, requested = (jobs[name].to_numpy() for name in JOB_COLUMNS)
    schedule = replay(jobs_from_log(submit, runtime, procs, requested), source.procs, "FCFS", "easy")
    midnight = datetime.fromisoformat(options.start_date).replace(tzinfo=ZoneInfo(source.time_zone))
    jobs = jobs.with_columns(start_s=pl.Series(schedule.start))
    if source.format == "pbs":
        unix = int(midnight.timestamp())
        write_pbs(jobs.with_columns(pl.col("submit_s", "start_s") + unix), folder, source.time_zone, "head1")
        return
    killed = pl.col("runtime_s") >= pl.col("requested_walltime_s")
    swf = jobs.select(
        "job_number",
        "submit_s",
        "runtime_s",
        "requested_walltime_s",
        wait_s=pl.col("start_s") - pl.col("submit_s"),
        allocated_procs="procs",
        requested_procs="procs",
        status=pl.when(killed).then(0).otherwise(1),
        user_id=pl.col("user").str.extract(r"(\d+)").cast(pl.Int64),
        group_id=pl.col("group").str.extract(r"(\d+)").cast(pl.Int64),
        executable=pl.col("executable").str.extract(r"(\d+)").cast(pl.Int64),
        queue=pl.col("queue").replace_strict({"short": 1, "normal": 2, "long": 3}),
        partition=pl.lit(1),
    )
    header = [
        ("Version", "2.2"),
        ("Computer", f"none: synthetic, Lublin-Feitelson 2003 model ({options.job_class}), {options.users} users"),
        ("Installation", "tracehouse"),
        ("Note", f"offered load {options.offered_load}, seed {options.seed}; waits by FCFS with EASY backfilling"),
        ("MaxJobs", str(swf.height)),
        ("MaxRecords", str(swf.height)),
        ("UnixStartTime", str(int(midnight.timestamp()))),
        ("TimeZoneString", source.time_zone),
        ("MaxNodes", str(source.procs)),
        ("MaxProcs", str(source.procs)),
        ("Queue", "1 short"),
        ("Queue", "2 normal"),
        ("Queue", "3 long"),
    ]
    write_swf(swf, header, folder / f"{source.name}.swf.gz")
