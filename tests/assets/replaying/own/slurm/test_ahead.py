"""What a log says of the jobs before a replay under Slurm begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replaying.own.slurm.ahead import counts_use, slurm_jobs_ahead
from assets.replaying.running.settings import REQUEST_LABELS
from tests.assets.replaying.own.homes import RUNS_AND_WAITS, own_home
from tests.simulator.busy import SITE
from traces.cluster.accounts import Limit
from traces.cluster.description import Node


def test_usage_is_that_of_all_jobs_that_still_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", RUNS_AND_WAITS, monkeypatch)
    trace = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS)
    begin = int(trace.rows["submit_s"][3])
    main = replace(SITE, partitions=(replace(SITE.partitions[0], name="main"),), nodes=(Node("n1", 4), Node("n2", 4)))
    ahead = slurm_jobs_ahead(trace, (trace.rows[:3], begin), main)
    assert not counts_use(main) and ahead.running == ahead.started.height == 1

    of_limits = replace(main, limits=(Limit("account", "x", "used", "all", "cpu", 100),))
    assert counts_use(of_limits)
    assert slurm_jobs_ahead(trace, (trace.rows[:3], begin), of_limits).started["job_index"].to_list() == [0, 1]
