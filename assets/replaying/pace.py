"""Who follows whom in a source: in a replay of its site, with everything as it was."""

from __future__ import annotations

from assets.common.storage import open_warehouse
from assets.common.trace import Trace, load_trace
from assets.replaying.running.loading import is_path
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import replay_run
from assets.replaying.running.users import UsersPace, pace_of
from assets.replaying.site import site_of


def pace_of_site(source: str, trace: Trace) -> UsersPace:
    """The pace of the users of a source, or of the log at a path. trace: of that log.

    Raises ValueError where the log names one user or none, so that nobody knows who follows whom."""
    site, warehouse = site_of(source), None if is_path(source) else open_warehouse()
    settings = site.settings
    if not settings.is_on_cluster:
        settings = settings.model_copy(update={"procs": site.procs})
    if warehouse is not None:
        trace = load_trace(warehouse, source, settings.cancelled, settings.labels)
    pace = pace_of(replay_run(trace, settings, choose_policy(settings, warehouse, source), own_runs=1))
    if pace.users < 2:
        raise ValueError(
            f"{source}: the log names no users, or one, so that nobody knows which jobs follow others: leave users = 'keep pace' out"
        )
    return pace
