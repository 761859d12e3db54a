"""Tests of assets/waits: loading, queue_now."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assets.features.tables import runtime_rows
from assets.predictions.runtime_predictions import write_predictions
from assets.waits.loading import load_site_waits, load_walltime_jobs
from assets.waits.queue_now import QueueMoment, snapshot_moment
from tests.assets.predictions.registry import JOBS, night
from tests.tiny import swf_line, warehouse_of
from traces.common.queue import RUNNING, QueueJob, snapshot_of
from warehouse import Warehouse

# queue_now: When a snapshot was written; the state that comes of one is tested with the command.


def test_the_moment_is_the_snapshots_own_and_never_before_its_jobs() -> None:
    job = QueueJob("1", RUNNING, "", 1, 4, 60, 100, 150)
    changed = QueueMoment(900, "when the file was changed last")
    said = "as the queue says itself"
    assert snapshot_moment(snapshot_of("q", 200, [job], 180), changed) == (200, said)
    assert snapshot_moment(snapshot_of("q", 120, [job]), changed) == (150, said)
    latest = snapshot_of("q", None, [job], 180)
    assert snapshot_moment(latest, changed).second == 180, "a file that was copied is years younger than its queue"
    assert "latest time in the queue" in snapshot_moment(latest, changed).words
    assert snapshot_moment(latest, changed, is_live=True) == changed
    assert snapshot_moment(snapshot_of("q", None, [job]), changed) == changed


# loading: What is read of a source for questions about waits and wall times.


def test_a_source_with_predictions(evaluated: Warehouse) -> None:
    basis = load_site_waits(evaluated, "mine").log.basis
    assert basis is not None and basis.endswith("a model is trained by `tracehouse run mine --job train`")
    night(evaluated, "user_mean")
    write_predictions(evaluated, "mine", runtime_rows(evaluated, "mine"))
    source = load_site_waits(evaluated, "mine").log
    assert source.name == "mine" and len(source.history) == JOBS and source.clock.name == "UTC"
    assert (source.history.quantiles >= 1).all() and (np.diff(source.history.quantiles, axis=1) >= 0).all()
    assert (source.history.wait(np.arange(JOBS)) == 5).all()


def test_jobs_of_a_user_for_advice(warehouse: Warehouse) -> None:
    jobs, number, executable = load_walltime_jobs(warehouse, "mine", "3", None)
    assert len(jobs) == JOBS and executable is None and (jobs.user == number).any()
    assert (jobs.end - jobs.submit == jobs.runtime + 5).all()
    with pytest.raises(ValueError, match="has no job of user 'nobody' that ran"):
        load_walltime_jobs(warehouse, "mine", "nobody", None)
    with pytest.raises(ValueError, match="user '3' has no job of executable 'x'"):
        load_walltime_jobs(warehouse, "mine", "3", "x")


def test_advice_from_a_log_that_knows_no_starts(tmp_path: Path) -> None:
    """Submissions are taken for starts; a job without a start among others that have one is left out."""
    for name, wait, count in (("none", -1, 3), ("some", 7, 2)):
        lines = [swf_line(k, 1000 * k, -1 if k == 0 else wait, 100, 1, user=4) for k in range(3)]
        warehouse = warehouse_of(tmp_path, "; MaxProcs: 4\n; UnixStartTime: 1767225600\n" + "".join(lines), name)
        jobs, _, _ = load_walltime_jobs(warehouse, name, "4", None)
        assert len(jobs) == count
        assert (jobs.end - jobs.submit == 100 + max(wait, 0)).all()
