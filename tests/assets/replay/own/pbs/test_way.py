"""Runs under the PBS of a described cluster."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replay.own.clusters import own_cluster_named
from assets.replay.own.pbs.way import pbs_runs
from assets.replay.settings import REQUEST_LABELS
from simulator.jobs.cluster import Cluster
from tests.assets.replay.own.homes import BEHIND, PBS_CLUSTER, own_home
from tests.shared import shared_file
from tracehouse.clusters import import_cluster


def test_memory_holds_a_job_back_and_the_next_one_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, PBS_CLUSTER)

    own = tracehouse.replay("mine", "pbs")

    start = own.replayed.schedule.start - own.replayed.jobs.submit[0]
    assert start.tolist() == [0, 10, 600, 600]
    assert own.summary["jobs_never_started"] == 0 and "not in the replay: chunks of 4 jobs" in str(own)


@pytest.mark.parametrize(("name", "most_s"), [("P5", 7.3), ("P7", 1.0)])
def test_a_recorded_run_is_replayed_as_near_as_pbs_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most_s: float
) -> None:
    """Through the product: import of the configuration and of the reservations in the log, then a replay of the log."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    folder = shared_file(f"golden/pbs/{name}/run1/sched_config").parent
    log = tmp_path / f"{name}.log"
    log.write_bytes(gzip.decompress((folder / "accounting.gz").read_bytes()))
    files = ("qmgr.txt", "qmgr_sched.txt", "sched_config", "resource_group", "pbsnodes.txt.gz")
    import_cluster([*(folder / file for file in files), log], "recorded")

    own = tracehouse.replay(str(log), cluster="recorded")

    run = own.replayed
    away = np.abs(run.schedule.start - run.rows["start_s"].to_numpy())
    assert away.mean() <= most_s
    assert own.summary["pbs"]["not_modelled"] == []
    assert bool(own.summary["pbs"]["remarks"]) == (name == "P5")  # it has limits


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
