"""Replays under the Slurm of a source's cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.evaluation.fidelity import fidelity_of
from assets.replay.settings import REQUEST_LABELS
from assets.replay.slurm.way import by_order, in_clock
from simulator.cluster.requests import Request
from tests.assets.replay.slurm.homes import CLUSTER, slurm_home
from tests.simulator.slurm_site import SITE, columns_of
from traces.cluster.nodes import Absence

LARGE, SMALL = 900, 300
"""Memory, MiB: two large jobs do not fit on a node, three small ones do."""
BEHIND = [(0, 0, 600, LARGE), (10, 10, 600, LARGE), (20, 600, 900, LARGE), (30, 600, 700, SMALL)]
"""Memory holds the third job back, though six of eight CPUs are idle. The fourth one fits on no node either."""


def test_a_source_with_slurm_is_replayed_under_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm_home(tmp_path / "home", BEHIND, monkeypatch)

    own, on_processors = tracehouse.replay("mine"), tracehouse.replay("mine", "FCFS", procs=8)

    assert own.policy == "slurm" and on_processors.policy == "FCFS"
    assert (on_processors.replayed.schedule.start == on_processors.replayed.jobs.submit).all()
    waits = own.replayed.schedule.start - own.replayed.jobs.submit
    assert (waits[:2] <= 35).all() and (waits[2:] >= 500).all()
    about = own.summary["slurm"]
    assert about["scheduler"] == "slurm 22.05.8" and about["runs"] == 5 and about["not_modelled"] == []
    assert len(set(about["mean_waits_s"])) > 1  # phases of the cycles differ
    assert "replayed: slurm 22.05.8 of the cluster two" in str(own)


def test_an_order_takes_the_place_of_its_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = [*BEHIND[:3], (30, 1000, 1100, LARGE)]
    slurm_home(tmp_path / "home", late, monkeypatch)

    first_come = tracehouse.replay("mine", "slurm:FCFS").replayed.schedule.start
    last_come = tracehouse.replay("mine", "slurm:LCFS").replayed.schedule.start

    assert first_come[2] <= first_come[3]
    assert last_come[3] <= last_come[2]
    with pytest.raises(ValueError, match="known at submission"):
        tracehouse.replay("mine", "slurm:WFP3")


def test_the_lowest_score_has_the_highest_priority() -> None:
    priority = by_order(columns_of([Request(0), Request(1), Request(2)]), np.array([5.0, 1.0, 5.0])).priority
    assert priority[1] > priority[0] > priority[2]


def test_times_of_a_description_are_of_the_logs_clock() -> None:
    away = (Absence(1000, 1600), Absence(2000, None, "drain"))
    moved = in_clock(replace(SITE, nodes=(replace(SITE.nodes[0], absences=away), *SITE.nodes[1:])), 900)
    assert moved.nodes[0].absences == (Absence(100, 700), Absence(1100, None, "drain"))


def test_what_slurm_has_no_rule_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm_home(tmp_path / "home", BEHIND, monkeypatch)
    with pytest.raises(ValueError, match="leave --backfill out"):
        tracehouse.replay("mine", "slurm", backfill="none")
    with pytest.raises(ValueError, match="the nodes of cluster two have 8 CPUs, and 6 were asked for"):
        tracehouse.replay("mine", "slurm", procs=6)
    with pytest.raises(ValueError, match="'lublin-256' has no cluster of Slurm"):
        tracehouse.replay("lublin-256", "slurm")


def test_a_scenario_within_the_spread_is_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm_home(tmp_path / "home", BEHIND, monkeypatch)

    answer = tracehouse.what_if({"in order": {"policy": "slurm:FCFS"}, "processors": {"policy": "FCFS"}}, "mine")

    base, in_order, processors = (
        answer.scenarios.filter(scenario=name).row(0, named=True) for name in ("base", "in order", "processors")
    )
    assert base["policy"] == "slurm" and in_order["verdict"] in ("no difference", "no significant difference")
    assert "the Slurm that the cluster two describes" in answer.results.base_words
    assert processors["verdict"] is None and "no verdict: it has a row of processors" in str(answer)


def test_fidelity_grades_its_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [
        (k, s, e, m)
        for n in range(12)
        for k, s, e, m in ((a + 4000 * n, b + 4000 * n, c + 4000 * n, d) for a, b, c, d in BEHIND)
    ]
    slurm_home(tmp_path / "home", jobs, monkeypatch)

    result = fidelity_of(open_warehouse(), load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS))

    assert result.ranked[0].policy == "slurm" and len(result.ranked) > 1
    assert result.ranked[0].error < 0.1
    assert result.rows[0]["rank_correlation"] > 0.9


def test_limits_that_no_replay_knows_are_said_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_licences = CLUSTER + "[licences]\nmatlab = 2\n"
    slurm_home(tmp_path / "home", BEHIND, monkeypatch, with_licences)
    text = str(tracehouse.replay("mine"))
    assert text.index("not in the replay: licences matlab") < text.index("settings")
