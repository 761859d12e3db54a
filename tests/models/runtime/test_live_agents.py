"""Agents in replays that note what heads are promised: behind a guard no head is late, whoever picks; rules go with live estimates."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from models.runtime.live import LiveReplay, LiveSettings, replay_live
from simulator.jobs.jobs import Jobs
from simulator.policies.agents import parse_agent
from simulator.policies.registry import Policy, assisted
from tests.simulator.busy import PROCS, busy_jobs, random_weights


def exact_jobs() -> tuple[Jobs, pl.DataFrame]:
    busy = busy_jobs(1500)
    jobs = Jobs(busy.submit, busy.runtime, busy.procs, busy.runtime, busy.runtime, origin=busy.origin, user=busy.user)
    rows = pl.DataFrame(
        {
            "user_name": [f"u{user}" for user in jobs.user],
            "executable": ["x"] * len(jobs),
            "requested_procs": jobs.procs,
            "requested_walltime_s": jobs.runtime,
        }
    )
    return jobs, rows


def replayed(policy: str | Policy, backfill: str = "easy", statistic: str = "given") -> LiveReplay:
    jobs, rows = exact_jobs()
    return replay_live(jobs, rows, PROCS, policy, backfill, settings=LiveSettings(statistic, reserve_by="estimate"))


def lateness(run: LiveReplay) -> np.ndarray:
    """By how many seconds each head started later than its promise."""
    heads = run.promised >= 0
    return (run.schedule.start - run.promised)[heads]


@pytest.mark.parametrize("seed", range(5))
def test_no_head_is_late_behind_a_guard(seed: int) -> None:
    """Exact estimates, first come first served, a network that picks for no reason, or picks none."""
    agent = parse_agent("pick:by=first,window=64-63").learned(random_weights(seed, "picking"))
    late = lateness(replayed(assisted("FCFS", agent)))
    assert len(late) > 100 and late.max() == 0
    easy = replayed("FCFS")
    assert lateness(easy).max() == 0
    assert replayed(assisted("FCFS", agent)).schedule.start.tolist() != easy.schedule.start.tolist()


def test_heads_are_late_without_a_guard() -> None:
    agent = parse_agent("pick:by=first,window=64-63,slack_s=3000").learned(random_weights(1, "picking"))
    assert 0 < lateness(replayed(assisted("FCFS", agent))).max() <= 3000


@pytest.mark.parametrize(
    ("picks", "named"), [("pick", "easy"), ("pick:by=shortest", "easy-sjbf"), ("pick:guard=none", "any")]
)
def test_rules_pick_by_live_estimates(picks: str, named: str) -> None:
    for policy in ("FCFS", "SAF"):
        ours, theirs = replayed(policy, picks, "mean"), replayed(policy, named, "mean")
        assert ours.schedule.start.tolist() == theirs.schedule.start.tolist()
