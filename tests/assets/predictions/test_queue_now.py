"""When a snapshot was written; the state that comes of one is tested with the command."""

from __future__ import annotations

from assets.predictions.queue_now import snapshot_moment
from traces.common.queue import RUNNING, QueueJob, snapshot_of


def test_the_moment_is_the_snapshots_own_and_never_before_its_jobs() -> None:
    job = QueueJob("1", RUNNING, "", 1, 4, 60, 100, 150)
    assert snapshot_moment(snapshot_of("q", 200, [job]), 900) == 200
    assert snapshot_moment(snapshot_of("q", None, [job]), 900) == 900
    assert snapshot_moment(snapshot_of("q", 120, [job]), 900) == 150
