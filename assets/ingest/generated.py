"""Logs of generated sources: a synthetic workload, run through FCFS with EASY backfilling, written as a real log."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import chain, pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from assets.common.storage import data_folder
from assets.common.trace import JOB_COLUMNS
from assets.ingest.site_logs import write_bundled_log
from simulator.engine.replay import StoppableReplay, replay
from simulator.jobs.cluster import Cluster, RunningJobs
from simulator.jobs.jobs import jobs_from_log
from traces.catalogue.sources import Source
from traces.common.log import log_files
from traces.pbs.writer import write_pbs
from traces.swf.writer import swf_content, write_swf
from traces.synthetic.centre import CentreOptions
from traces.synthetic.sites import SiteOptions
from traces.synthetic.weeks import job_weeks
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
    is_folder = source.format == "pbs" or "model" in source.generator
    return folder if is_folder else log_files(folder)[0]


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
    if "site" in source.generator:
        write_bundled_log(SiteOptions(**source.generator), folder)
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


def write_centre_log(options: CentreOptions, folder: Path, name: str) -> int:
    """Writes the log into files `name`-YYYY-MM.swf of the folder, by the local month of submission; returns how many jobs it has.

    Seconds count from local midnight of the first day in all files.
    """
    centre = options.centre
    zone = ZoneInfo(centre.time_zone)
    midnight = int(datetime.combine(centre.first_day, datetime.min.time(), zone).timestamp())
    header = [
        ("Version", "2.2"),
        ("Computer", f"none: synthetic, after what is published of {options.model.capitalize()}"),
        ("Installation", "tracehouse"),
        ("Note", f"offered load {options.offered_load}, seed {options.seed}; waits by FCFS with EASY backfilling"),
        ("UnixStartTime", str(midnight)),
        ("TimeZoneString", centre.time_zone),
        ("MaxNodes", str(centre.nodes)),
        ("MaxProcs", str(centre.procs)),
        ("Queue", "1 short"),
        ("Queue", "2 normal"),
        ("Queue", "3 long"),
    ]
    total = 0
    for jobs in scheduled(job_weeks(options), centre.procs):
        total += jobs.height
        local = pl.from_epoch(pl.col("submit_s") + midnight).dt.replace_time_zone("UTC")
        jobs = jobs.with_columns(month=local.dt.convert_time_zone(centre.time_zone).dt.strftime("%Y-%m"))
        for (month,), rows in jobs.group_by("month", maintain_order=True):
            path = folder / f"{name}-{month}.swf"
            swf = rows.with_columns(
                wait_s=pl.col("start_s") - pl.col("submit_s"), allocated_procs="procs", requested_procs="procs"
            )
            with path.open("ab") as file:
                file.write(swf_content(swf, [] if file.tell() else header, packed=False))
    return total


def scheduled(parts: Iterable[pl.DataFrame], procs: int) -> Iterator[pl.DataFrame]:
    """The jobs of a log with `start_s` under FCFS with EASY backfilling, which is that of a replay of the whole log.

    parts: JOB_COLUMNS and others of consecutive jobs in the order of submission, none of them empty. Frames that are given back
    have other bounds: a job is held until all before it have started.
    """
    running, held = RunningJobs(), None
    for jobs, following in pairwise(chain(parts, [None])):
        assert jobs is not None
        until = None if following is None else int(following["submit_s"][0])
        jobs = jobs.with_columns(start_s=pl.lit(None, dtype=pl.Int64))
        held = jobs if held is None else pl.concat([held, jobs])
        is_open = held["start_s"].is_null().to_numpy()
        submit, runtime, width, requested = (held[name].to_numpy()[is_open] for name in JOB_COLUMNS)
        cluster = Cluster(procs, running, waiting=len(submit) - jobs.height)
        replay = StoppableReplay(jobs_from_log(submit, runtime, width, requested), cluster, "FCFS", "easy")
        replay.run(until)
        start = replay.schedule.start
        starts = held["start_s"].fill_null(-1).to_numpy().copy()
        starts[is_open] = np.where(start >= 0, start, -1)
        held = held.with_columns(start_s=pl.Series(starts).set(pl.Series(starts < 0), None))
        if until is not None:
            begun = start >= 0
            running = _running_at(until, running, start[begun], runtime[begun], width[begun], requested[begun])
        done = int(np.argmax(starts < 0)) if (starts < 0).any() else len(starts)
        yield held.head(done)
        held = held.slice(done)


def _running_at(
    moment: int, before: RunningJobs, start: np.ndarray, runtime: np.ndarray, procs: np.ndarray, requested: np.ndarray
) -> RunningJobs:
    """Those that run at a moment, of the jobs that ran before and of those that have started since."""
    columns = [
        np.concatenate([old, new])
        for old, new in (
            (before.start, start),
            (before.runtime, runtime),
            (before.procs, procs),
            (before.limit, requested),
        )
    ]
    runs = columns[0] + columns[1] > moment
    start, runtime, procs, requested = (column[runs] for column in columns)
    return RunningJobs(start, runtime, procs, requested, requested, np.zeros(len(start), dtype=np.int64))
