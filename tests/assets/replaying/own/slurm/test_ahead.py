"""What a log says of the jobs before a replay under Slurm begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replaying.own.slurm.ahead import counts_use, slurm_jobs_ahead
from assets.replaying.running.settings import REQUEST_LABELS
from tests.assets.replaying.own.homes import LARGE, SMALL, own_home
from tests.simulator.busy import SITE
from traces.cluster.accounts import Limit
from traces.cluster.description import Node

LOG = [(0, 0, 2000, LARGE), (50, 60, 400, SMALL), (100, 2000, 2300, LARGE), (500, 2300, 2600, LARGE)]
"""At second 500 the first job runs on n1, the second has ended, and the third waits."""


def test_a_warm_start_has_the_running_and_the_waiting_jobs_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_home(tmp_path / "home", LOG, monkeypatch)
    cold = tracehouse.replay("mine", window=(3, 1)).replayed
    warm = tracehouse.replay("mine", window=(3, 1), warm_start=True).replayed

    assert warm.policy.text == cold.policy.text == "slurm"
    assert warm.counts["running_jobs"] == warm.counts["waiting_jobs"] == 1
    assert "running_jobs_without_room" not in warm.counts
    first = int(cold.jobs.submit[0])
    assert cold.schedule.start[0] < first + 60
    assert warm.all_starts.start[0] < first + 60 and warm.schedule.start[0] >= first + 300  # behind the one that waited


def test_usage_is_that_of_all_jobs_that_still_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", LOG, monkeypatch)
    trace = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS)
    begin = int(trace.rows["submit_s"][3])
    main = replace(SITE, partitions=(replace(SITE.partitions[0], name="main"),), nodes=(Node("n1", 4), Node("n2", 4)))
    ahead = slurm_jobs_ahead(trace, (trace.rows[:3], begin), main)
    assert not counts_use(main) and ahead.running == ahead.started.height == 1

    of_limits = replace(main, limits=(Limit("account", "x", "used", "all", "cpu", 100),))
    assert counts_use(of_limits)
    assert slurm_jobs_ahead(trace, (trace.rows[:3], begin), of_limits).started["job_index"].to_list() == [0, 1]
