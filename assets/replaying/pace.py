"""Who follows whom in a source, and for how long users wait: in a replay of its site, with everything as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assets.common.storage import open_warehouse
from assets.common.trace import Trace
from assets.replaying.running.loading import catalogue_source, is_path, load_any_trace, log_source
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.users import UsersPace
from assets.replaying.site import site_of
from assets.usage.habits import followers_of_rows, lines_of_rows
from simulator.jobs.followers import NO_JOB, array_ends, longest_think
from simulator.jobs.jobs import NEVER
from simulator.jobs.patience import SeenWaits, luck_of, patience_of
from simulator.metrics.metrics import size_classes
from traces.common.arrays import arrays_of_jobs

IntArray = NDArray[np.int64]


def pace_of_site(source: str, log: Trace | None = None) -> UsersPace:
    """The pace of the users of a source, or of the log at a path. log: that log, where it has been read.

    Raises ValueError where the log names one user or none, so that nobody knows who follows whom."""
    site, is_log = site_of(source), is_path(source)
    settings, warehouse = site.settings, None if is_log else open_warehouse()
    if not settings.is_on_cluster:
        settings = settings.model_copy(update={"procs": site.procs})
    declared = log_source(Path(source)) if is_log else catalogue_source(source)
    is_read = is_log and log is not None
    trace = log if is_read else load_any_trace(declared, settings, not is_log, settings.labels)
    assert trace is not None
    pace = pace_of(replay_run(trace, settings, choose_policy(settings, warehouse, source), own_runs=1))
    if pace.lines < 2:
        raise ValueError(
            f"{source}: the log names no users, or one, so that nobody knows which jobs follow others: leave users = 'keep pace' out"
        )
    return pace


def pace_of(run: ReplayRun) -> UsersPace:
    """Who follows whom in an open replay, by its ends, and the patience of each job, by its waits. Jobs of which the log names no user
    follow none."""
    jobs, schedule = run.jobs, run.schedule
    is_named = run.rows["user_name"].is_not_null().to_numpy()
    has_left = schedule.started & is_named
    end = np.where(has_left, schedule.start + jobs.runtime + schedule.suspended_s, NO_JOB)
    index = run.rows["job_index"].to_numpy().astype(np.int64)
    array = arrays_of_jobs(run.rows)
    ends = array_ends(end, array)
    line = lines_of_rows(run.rows, jobs.submit, ends, jobs.user).number
    after, think, _ = followers_of_rows(run.rows, jobs.submit, end, line, longest_think(jobs.submit, ends, line))
    lines = len(np.unique(line[is_named]))
    return UsersPace(index, np.where(after == NO_JOB, NO_JOB, index[after]), think, _patience_of(run), lines, array)


def _patience_of(run: ReplayRun) -> IntArray:
    """Seconds for which users wait for each job, int64 (jobs,): longer than the job waited in the replay and in the log. NEVER for one
    that does not start in the replay."""
    jobs, started, given_up = run.jobs, run.schedule.started, run.trace.cancelled_waits
    size = size_classes(jobs.procs, run.cluster.procs)
    replayed = np.where(started, run.schedule.start - jobs.submit, 0)
    logged = (run.rows["start_s"] - run.rows["submit_s"]).fill_null(-1).to_numpy()
    has_started = started & run.rows["cancel_s"].is_null().to_numpy()
    gave_up = np.arange(given_up.height + int(has_started.sum())) < given_up.height
    user, procs, wait = (given_up[name].to_numpy() for name in ("user_number", "procs", "wait_s"))
    seen = SeenWaits(
        np.concatenate([user, jobs.user[has_started]]),
        np.concatenate([size_classes(procs, run.cluster.procs), size[has_started]]),
        np.concatenate([wait, np.where(logged >= 0, logged, replayed)[has_started]]),
        gave_up,
    )
    luck = luck_of(run.rows["job_index"].to_numpy())
    return np.where(has_started, patience_of(seen, jobs.user, size, np.maximum(logged, replayed), luck), NEVER)
