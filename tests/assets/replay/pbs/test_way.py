"""Replays under the PBS of a source's cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from assets.replay.pbs.way import pbs_cluster_of
from tests.assets.replay.slurm.homes import CLUSTER, slurm_home
from traces.catalogue.catalogue import load_catalogue

LARGE, SMALL = 900, 300
"""Memory, MiB: two large jobs do not fit on a node, three small ones do."""
BEHIND = [(0, 0, 600, LARGE), (10, 10, 600, LARGE), (20, 600, 900, LARGE), (30, 600, 700, SMALL)]
PBS_CLUSTER = CLUSTER.replace('name = "slurm"\nversion = "22.05.8"', 'name = "pbs"\nversion = "23.06"')


def test_a_source_with_pbs_can_be_replayed_under_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm_home(tmp_path / "home", BEHIND, monkeypatch, PBS_CLUSTER)

    own = tracehouse.replay("mine", "pbs")

    start = own.replayed.schedule.start - own.replayed.jobs.submit[0]
    assert start.tolist() == [0, 10, 600, 600]  # memory holds the third job back, and the fourth with it
    assert own.summary["pbs"]["scheduler"] == "pbs 23.06" and own.summary["jobs_never_started"] == 0
    assert "replayed: pbs 23.06 of the cluster two" in str(own) and "not in the replay: chunks" in str(own)
    cluster = pbs_cluster_of(load_catalogue().source("mine"))
    assert cluster is not None and cluster.num_cpus == 8
    with pytest.raises(ValueError, match="leave --backfill out"):
        tracehouse.replay("mine", "pbs", backfill="none")


def test_a_source_without_pbs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm_home(tmp_path / "home", BEHIND, monkeypatch)
    with pytest.raises(ValueError, match="has no cluster of PBS"):
        tracehouse.replay("mine", "pbs")
