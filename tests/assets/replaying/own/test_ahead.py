"""What a log says of the jobs before a replay begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replaying.own.ahead import HALF_LIVES, jobs_ahead, nodes_held
from assets.replaying.running.settings import REQUEST_LABELS
from tests.assets.replaying.own.homes import LARGE, SMALL, own_home
from traces.cluster.description import ClusterDescription, Node

LOG = [(0, 0, 2000, LARGE), (50, 60, 400, SMALL), (100, 2000, 2300, LARGE), (500, 2300, 2600, LARGE)]
"""At second 500 the first job runs on n1, the second has ended, and the third waits."""


def test_ended_jobs_count_for_some_half_lives_and_of_queues_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_home(tmp_path / "home", LOG, monkeypatch)
    trace = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS)
    rows, begin = trace.rows[:3], int(trace.rows["submit_s"][3])
    assert jobs_ahead(trace, (rows, begin), None).started.equals(rows[:1])
    for half_life_s, jobs in ((0.0, 2), (101 / HALF_LIVES, 2), (99 / HALF_LIVES, 1)):
        assert jobs_ahead(trace, (rows, begin), half_life_s).started.height == jobs
    assert jobs_ahead(trace, (rows, begin), 0.0, lambda queue: queue == "other").started.height == 1
    ahead = jobs_ahead(trace, (rows, begin), 0.0)
    assert ahead.running_rows.equals(rows[:1]) and [each - begin for each in map(int, ahead.past[0])] == [-440]
    assert int(ahead.past[1][0]) - begin == -100


def test_nodes_are_those_of_the_log_where_the_cluster_has_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", LOG, monkeypatch)
    trace = load_trace(open_warehouse(), "mine")
    running = trace.rows[:1]
    held = nodes_held(trace, running, ClusterDescription("two", (Node("n1", 4), Node("n2", 4))))
    assert (held.node.tolist(), held.cpus.tolist()) == ([0], [1])
    elsewhere = nodes_held(trace, running, ClusterDescription("one", (Node("other", 4),)))
    assert elsewhere.first.tolist() == [0, 0]
