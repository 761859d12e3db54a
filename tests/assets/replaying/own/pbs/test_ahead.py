"""What a log says of the jobs before a replay under PBS begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replaying.own.pbs.ahead import pbs_jobs_ahead, pbs_warm_start_of
from assets.replaying.own.pbs.requests import pbs_jobs_of_rows
from assets.replaying.own.pbs.way import with_settings
from assets.replaying.running.settings import REQUEST_LABELS
from tests.assets.replaying.own.homes import PBS_CLUSTER, RUNS_AND_WAITS, own_home
from traces.catalogue.clusters import load_cluster


def test_usage_is_that_of_all_jobs_that_still_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", RUNS_AND_WAITS, monkeypatch, PBS_CLUSTER)
    trace = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS)
    begin, two = int(trace.rows["submit_s"][3]), load_cluster("two").description
    ahead = pbs_jobs_ahead(trace, (trace.rows[:3], begin), two)
    assert ahead.running == ahead.started.height == 1

    shares = with_settings(two, {"fair_share": True, "fairshare_decay_time": "00:00:05", "fairshare_decay_factor": 0.5})
    assert pbs_jobs_ahead(trace, (trace.rows[:3], begin), shares).started["job_index"].to_list() == [0]
    shares = with_settings(two, {"fair_share": True, "fairshare_decay_time": "01:00:00", "fairshare_decay_factor": 0.5})
    ahead = pbs_jobs_ahead(trace, (trace.rows[:3], begin), shares)
    assert ahead.started["job_index"].to_list() == [0, 1]
    warm = pbs_warm_start_of(ahead, pbs_jobs_of_rows(ahead.started, shares)[0], shares)
    assert (warm.nodes.node.tolist(), len(warm.asked)) == ([0], 1)
    assert warm.past is not None and (warm.past.end - warm.past.start).tolist() == [340]
