"""What a log says of the jobs before a replay under PBS begins."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replaying.own.pbs.ahead import pbs_jobs_ahead, pbs_warm_start_of
from assets.replaying.own.pbs.requests import pbs_jobs_of_rows
from assets.replaying.own.pbs.way import with_settings
from assets.replaying.running.settings import REQUEST_LABELS
from tests.assets.replaying.own.homes import LARGE, PBS_CLUSTER, SMALL, own_home
from traces.catalogue.clusters import load_cluster

LOG = [(0, 0, 2000, LARGE), (50, 60, 400, SMALL), (100, 2000, 2300, LARGE), (500, 2300, 2600, LARGE)]
"""At second 500 the first job runs on n1, the second has ended, and the third waits."""


def test_a_warm_start_has_the_running_and_the_waiting_jobs_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large job fills the memory of a node: the one that waited gets n2 at once, and the asked one waits for its end."""
    own_home(tmp_path / "home", LOG, monkeypatch, PBS_CLUSTER)
    cold = tracehouse.replay("mine", window=(3, 1)).replayed
    warm = tracehouse.replay("mine", window=(3, 1), warm_start=True).replayed

    assert warm.policy.text == cold.policy.text == "pbs"
    assert warm.counts["running_jobs"] == warm.counts["waiting_jobs"] == 1
    assert "running_jobs_without_room" not in warm.counts
    first = int(cold.jobs.submit[0])
    assert cold.schedule.start.tolist() == [first]
    assert warm.all_starts.start.tolist() == [first, first + 300]
    in_our_order = tracehouse.replay("mine", "pbs:SAF", window=(3, 1), warm_start=True).replayed
    assert in_our_order.all_starts.start.tolist() == [first, first + 300]


def test_usage_is_that_of_all_jobs_that_still_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", LOG, monkeypatch, PBS_CLUSTER)
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
