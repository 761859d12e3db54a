"""Who follows whom in a source: in a replay of its site, with everything as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assets.common.storage import open_warehouse
from assets.common.trace import Trace
from assets.replaying.running.loading import catalogue_source, is_path, load_any_trace, log_source
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.users import UsersPace
from assets.replaying.site import site_of
from simulator.jobs.followers import NO_JOB, followers_of


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
    if pace.users < 2:
        raise ValueError(
            f"{source}: the log names no users, or one, so that nobody knows which jobs follow others: leave users = 'keep pace' out"
        )
    return pace


def pace_of(run: ReplayRun) -> UsersPace:
    """Who follows whom in an open replay, by its ends. Jobs of which the log names no user follow none."""
    jobs, schedule = run.jobs, run.schedule
    is_named = run.rows["user_name"].is_not_null().to_numpy()
    has_left = schedule.started & is_named
    end = np.where(has_left, schedule.start + jobs.runtime + schedule.suspended_s, NO_JOB)
    index = run.rows["job_index"].to_numpy().astype(np.int64)
    after, think = followers_of(jobs.submit, end, jobs.user)
    users = len(np.unique(jobs.user[is_named]))
    return UsersPace(index, np.where(after == NO_JOB, NO_JOB, index[after]), think, users)
