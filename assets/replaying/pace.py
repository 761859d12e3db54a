"""Who follows whom in a source: in a replay of its site, with everything as it was."""

from __future__ import annotations

from pathlib import Path

from assets.common.storage import open_warehouse
from assets.replaying.running.loading import catalogue_source, is_path, load_any_trace, log_source
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import replay_run
from assets.replaying.running.users import UsersPace, pace_of
from assets.replaying.site import site_of


def pace_of_site(source: str) -> UsersPace:
    """The pace of the users of a source, or of the log at a path.

    Raises ValueError where the log names one user or none, so that nobody knows who follows whom."""
    site, is_log = site_of(source), is_path(source)
    settings, warehouse = site.settings, None if is_log else open_warehouse()
    if not settings.is_on_cluster:
        settings = settings.model_copy(update={"procs": site.procs})
    declared = log_source(Path(source)) if is_log else catalogue_source(source)
    trace = load_any_trace(declared, settings, not is_log, settings.labels)
    pace = pace_of(replay_run(trace, settings, choose_policy(settings, warehouse, source), own_runs=1))
    if pace.users < 2:
        raise ValueError(
            f"{source}: the log names no users, or one, so that nobody knows which jobs follow others: leave users = 'keep pace' out"
        )
    return pace
