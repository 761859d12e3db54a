"""Runs under the PBS of a described cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replay.own.clusters import own_cluster_named
from assets.replay.own.pbs.way import pbs_runs
from assets.replay.settings import REQUEST_LABELS
from simulator.jobs.cluster import Cluster
from tests.assets.replay.own.homes import BEHIND, PBS_CLUSTER, own_home


def test_memory_holds_a_job_back_and_the_next_one_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, PBS_CLUSTER)

    own = tracehouse.replay("mine", "pbs")

    start = own.replayed.schedule.start - own.replayed.jobs.submit[0]
    assert start.tolist() == [0, 10, 600, 600]
    assert own.summary["jobs_never_started"] == 0 and "not in the replay: chunks" in str(own)


def test_runs_differ_by_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, PBS_CLUSTER)
    trace, cluster = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS), own_cluster_named("mine")
    assert cluster is not None
    runs = pbs_runs(cluster, trace.rows, 0, None)

    outcome = runs.replay(trace.jobs(), Cluster(8))

    away = [abs(other.start - outcome.schedule.start).max() for other in outcome.others]
    assert len(away) == 4 and max(away) == 1
    again = runs.run(trace.jobs(), Cluster(8), 1).schedule.start
    assert (again == outcome.others[0].start).all()
