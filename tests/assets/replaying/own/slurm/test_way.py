"""Runs under the Slurm of a described cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tracehouse
from assets.replaying.own.slurm.way import phases_of_run
from models.scheduling.learning.recipes import smallest_area_first
from models.scheduling.policy_file import policy_to_bytes
from simulator.policies.observation import LAYOUTS
from simulator.slurm.replaying import TEST_US
from tests.assets.replaying.own.homes import LARGE, SMALL, own_home
from tests.simulator.busy import SITE
from traces.slurm.state import cycles


def test_a_learned_policy_orders_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All take their memory's node alone, and the network takes the smallest area first, which here is the first job submitted."""
    own_home(tmp_path / "home", [(k, 400 * k, 400 * k + 300, LARGE) for k in range(8)], monkeypatch)
    file = tmp_path / "mine.json"
    file.write_bytes(policy_to_bytes(smallest_area_first(LAYOUTS["plain"], 40.0, 1), {"trained_jobs": 0}))

    learned = tracehouse.replay("mine", f"slurm:{file}")

    assert (learned.replayed.schedule.start >= learned.replayed.jobs.submit).all()
    assert (np.diff(np.sort(learned.replayed.schedule.start)[::2]) >= 300).all()
    assert learned.replayed.policy.portable_text == "slurm:mine.json"


def test_runs_differ_in_their_phases() -> None:
    assert phases_of_run(SITE, 1) != phases_of_run(SITE, 2) and SMALL < LARGE


def test_cycles_take_as_long_as_the_cluster_s_own_sdiag_says() -> None:
    assert phases_of_run(SITE, 1).test_us == TEST_US
    values = {**SITE.scheduler.values, cycles.MEASURED_TEST_US: 14_000}
    slow = replace(SITE, scheduler=replace(SITE.scheduler, values=values))
    assert phases_of_run(slow, 1) == replace(phases_of_run(SITE, 1), test_us=14_000)
