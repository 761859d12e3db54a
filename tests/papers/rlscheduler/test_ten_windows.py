"""Tests of papers/rlscheduler: on_device, ten_windows, transfer, way, windows.

Gradients by torch on a device, here the processor, against the compiled learner.

Policies on the windows of the source that they were trained on, and on others.

`--rules rlscheduler`: which policies there are.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.settings import RunSettings
from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.ppo import Learner, train_by_ppo
from models.scheduling.learning.training import Lessons
from models.scheduling.options import PAPER_PPO, PPOOptions
from papers.rlscheduler import on_device
from papers.rlscheduler.on_device import DeviceLearner
from papers.rlscheduler.rules import replay_rlscheduler, rlscheduler_inputs
from papers.rlscheduler.ten_windows import PUBLISHED_LENGTH, PUBLISHED_WINDOWS, published_split
from papers.rlscheduler.windows import replay_range
from simulator.policies.sampling import no_recorder
from tests.models.scheduling.conftest import arena, jobs  # noqa: F401
from tests.papers.experiment_runs import rows
from tests.simulator.busy import PROCS, busy_jobs
from warehouse import Warehouse

FEW = PAPER_PPO.model_copy(update={"epochs": 2, "trajectories": 4, "passes": 3, "kl_limit": 1.0, "layout": "plain"})


def test_both_learners_learn_the_same(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """But for the last digits. In parts and at once."""
    windows = Windows(np.arange(0, 100, 10, dtype=np.int64), 40)
    lessons = Lessons(windows, windows, windows)
    compiled = train_by_ppo(arena, lessons, FEW, 1, learner=Learner(arena, FEW, 1, None))
    for most in (on_device.ROWS_OF_A_PASS, 200):
        monkeypatch.setattr(on_device, "ROWS_OF_A_PASS", most)
        learner = DeviceLearner(arena, FEW, 1, "cpu")
        assert learner.kind == "kernel, torch on cpu"
        ours = train_by_ppo(arena, lessons, FEW, 1, learner=learner)
        for report, other in zip(ours.curve, compiled.curve, strict=True):
            assert report.approx_kl == pytest.approx(other.approx_kl, rel=1e-2, abs=1e-6)
            assert report.entropy == pytest.approx(other.entropy, rel=1e-3)
            assert report.updates == other.updates == 3
        for array, expected in zip(ours.weights[2:], compiled.weights[2:], strict=True):
            np.testing.assert_allclose(array, expected, rtol=1e-2, atol=1e-4)


def test_only_the_papers_way_is_taken(arena: Arena) -> None:  # noqa: F811
    with pytest.raises(ValueError, match="RLScheduler's own options"):
        DeviceLearner(arena, PPOOptions(), 1, "cpu")


# --- ten windows


# ten_windows: The ten published windows judge alone.


def test_published_windows_are_kept_apart() -> None:
    for job_count in (10_000, 12_000):
        split = published_split(job_count, 256)
        taken = {k for start in PUBLISHED_WINDOWS for k in range(start, start + PUBLISHED_LENGTH)}
        learned = {k for first in split.learn.first for k in range(first, first + 256)}
        chosen = {k for first in split.choose.first for k in range(first, first + 256)}
        assert learned and chosen and not learned & taken and not chosen & taken and not learned & chosen
        assert max(learned | chosen) < job_count


def test_all_of_the_published_jobs_may_be_seen_as_in_the_paper() -> None:
    split = published_split(12_000, 256, seen=True)
    assert split.learn.first.max() == 10_000 - 256 and len(split.learn) == 10_000 - 255


# windows: Windows of the RLScheduler rules replayed together give what each gives alone.


@pytest.mark.parametrize("backfill", [False, True])
def test_each_window_starts_as_if_it_were_alone(backfill: bool) -> None:
    window_jobs, first, length = busy_jobs(120), np.array([0, 17, 60]), 50
    inputs = rlscheduler_inputs(window_jobs, PROCS, "SJF", backfill)
    start = np.zeros((len(first), length), dtype=np.int64)
    backfilled = np.ones((len(first), length), dtype=np.bool_)
    replay_range(*inputs, no_recorder(), first, start, backfilled)
    for k, position in enumerate(first.tolist()):
        alone = replay_rlscheduler(window_jobs.window(position, length), PROCS, "SJF", backfill)
        assert start[k].tolist() == alone.start.tolist()
        assert backfilled[k].tolist() == alone.backfilled.tolist()
    assert backfilled.any() == backfill


# --- transfer


def test_policies_transfer_to_what_they_were_trained_on(done: Warehouse) -> None:
    """On its own source a policy costs what it did when it was trained."""
    found = rows(done, "comparisons").filter(pl.col("goal") == "bsld", pl.col("policy").is_in(["ppo", "evolution"]))
    there = found.filter(pl.col("experiment") == "transfer").sort("policy")
    here = found.filter(pl.col("experiment") == "published").sort("policy")
    assert there.height == 2 and np.allclose(there["cost"], here["cost"])
    assert rows(done, "policies").filter(pl.col("experiment") == "published").height == 2 * 2 * 2


# --- way


@pytest.mark.parametrize("name", ["wfp3", "INSPECTOR-sjf", "F1", "lrf"])
def test_policies_are_those_of_both_codes(name: str) -> None:
    chosen = choose_policy(RunSettings(rules="rlscheduler", policy=name), None, "mine")
    assert chosen.text.lower() == name.lower() and (chosen.policy is None) == (chosen.text in ("WFP3", "F1"))


def test_another_policy_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"unknown policy of the RLScheduler rules 'WFP4'; did you mean 'WFP3'\?.*--rules standard"
    ):
        choose_policy(RunSettings(rules="rlscheduler", policy="WFP4"), None, "mine")
