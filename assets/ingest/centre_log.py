"""The log of a generated source of years: week by week through FCFS with EASY backfilling, written as SWF, a file a month.

Memory does not depend on the number of jobs: a week is generated, replayed and written before the next one is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain, pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from assets.common.trace import JOB_COLUMNS
from simulator.engine.replay import StoppableReplay
from simulator.jobs.cluster import Cluster, RunningJobs
from simulator.jobs.jobs import jobs_from_log
from traces.swf.writer import swf_content
from traces.synthetic.centre import CentreOptions
from traces.synthetic.weeks import job_weeks


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
