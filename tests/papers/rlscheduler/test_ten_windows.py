"""Tests of papers/rlscheduler: ten_windows, transfer, way, windows.

Policies on the windows of the source that they were trained on, and on others.

`--rules rlscheduler`: which policies there are.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.settings import RunSettings
from papers.rlscheduler.rules import replay_rlscheduler, rlscheduler_inputs
from papers.rlscheduler.ten_windows import PUBLISHED_LENGTH, PUBLISHED_WINDOWS, published_split
from papers.rlscheduler.windows import replay_range
from simulator.policies.sampling import no_recorder
from tests.models.scheduling.conftest import arena, jobs  # noqa: F401
from tests.papers.experiment_runs import rows
from tests.simulator.busy import PROCS, busy_jobs
from warehouse import Warehouse

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
