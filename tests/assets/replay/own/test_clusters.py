"""Which cluster replays a log under its own scheduler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tracehouse
from assets.replay.own.clusters import in_clock, own_cluster_named, own_cluster_of
from tests.assets.replay.own.homes import BEHIND, CLUSTER, PBS_CLUSTER, own_home
from tests.simulator.slurm_site import SITE
from traces.catalogue.catalogue import load_catalogue
from traces.cluster.nodes import Absence


def test_times_of_a_description_are_of_the_logs_clock() -> None:
    away = (Absence(1000, 1600), Absence(2000, None, "drain"))
    moved = in_clock(replace(SITE, nodes=(replace(SITE.nodes[0], absences=away), *SITE.nodes[1:])), 900)
    assert moved.nodes[0].absences == (Absence(100, 700), Absence(1100, None, "drain"))


@pytest.mark.parametrize(("cluster", "scheduler"), [(CLUSTER, "slurm"), (PBS_CLUSTER, "pbs")])
def test_a_source_has_the_scheduler_of_its_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str, scheduler: str
) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, cluster)

    described = own_cluster_of(load_catalogue().source("mine"))

    assert described is not None and (described.scheduler.name, described.num_cpus) == (scheduler, 8)
    assert own_cluster_named("mine") == described and own_cluster_named("none of the catalogue") is None


def test_a_source_without_such_a_cluster_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch)
    with pytest.raises(ValueError, match="'mine' has no cluster of PBS"):
        tracehouse.replay("mine", "pbs")
    with pytest.raises(ValueError, match="'lublin-256' has no cluster of Slurm"):
        tracehouse.replay("lublin-256", "slurm")
    with pytest.raises(ValueError, match="cluster 'two' has the scheduler slurm"):
        tracehouse.replay("mine", "pbs", cluster="two")
