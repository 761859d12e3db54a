"""Windows replayed in a batch come out as `replay` replays each of them alone."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from simulator.agents.batch import WindowRules, replay_windows
from simulator.policies.registry import parse_policy, register_policy
from tests.simulator.busy import FIRST, PROCS, WINDOW, assert_as_replayed, busy_jobs, random_weights, uneven_jobs


def waits_and_users(wait: np.ndarray, estimate: np.ndarray, user: np.ndarray) -> np.ndarray:
    return user - wait / estimate


@numba.njit
def compiled_packing(procs, free, wait):
    return -float(procs) - wait / 3600.0 if procs <= free else 1e9


def submitted_last(submit: np.ndarray) -> np.ndarray:
    """Asked once: its scores depend on the other jobs of the window."""
    return submit.max() - submit


register_policy("waits-and-users", waits_and_users)
register_policy("compiled-packing", compiled_packing)
register_policy("submitted-last", submitted_last)

SWEPT = (
    "FCFS", "SAF", "F1", "WFP3", "tetris-star", "random:seed=3", "fairshare:half_life_days=0.1",
    "formula:log10(estimate) * procs", "formula:wait/estimate - 5 * user_share + free * procs",
    "waits-and-users", "compiled-packing", "submitted-last",
)  # fmt: skip
BACKFILLS = ("none", "easy", "easy-sjbf", "conservative", "selective:threshold=3")


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("policy", SWEPT)
def test_windows_are_replayed_as_if_each_were_alone(policy: str, backfill: str) -> None:
    jobs = busy_jobs(500)
    for threads, correction in ((1, "requested"), (2, "increments")):
        found = replay_windows(jobs, PROCS, FIRST, WINDOW, policy, WindowRules(backfill, correction, threads=threads))
        assert_as_replayed(jobs, FIRST, found, policy, backfill, correction=correction)


@pytest.mark.parametrize("backfill", BACKFILLS)
def test_the_learned_policy_replays_windows(backfill: str) -> None:
    jobs, weights = busy_jobs(500, load=3.0), random_weights()
    found = replay_windows(
        jobs, PROCS, FIRST, WINDOW, parse_policy("learned", weights), WindowRules(backfill, threads=2)
    )
    assert_as_replayed(jobs, FIRST, found, "learned", backfill, weights)


def test_multifactor_replays_windows_in_which_all_users_are() -> None:
    jobs = busy_jobs(500, users=2)
    found = replay_windows(jobs, PROCS, FIRST, WINDOW, "multifactor")
    assert_as_replayed(jobs, FIRST, found, "multifactor", "easy")


def test_multifactor_counts_the_users_of_a_window() -> None:
    jobs = busy_jobs(500, users=200)
    found = replay_windows(jobs, PROCS, FIRST, WINDOW, "multifactor")
    assert_as_replayed(jobs, FIRST, found, "multifactor", "easy")


@pytest.mark.parametrize("policy", ["SAF", "WFP3", "fairshare", "waits-and-users"])
def test_threads_change_no_window(policy: str) -> None:
    jobs, first = uneven_jobs()
    first = np.concatenate([first, first[::-1], np.arange(40)])
    expected = replay_windows(jobs, PROCS, first, WINDOW, policy, WindowRules(threads=1))
    for threads in (2, 3, None):
        found = replay_windows(jobs, PROCS, first, WINDOW, policy, WindowRules(threads=threads))
        assert np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])


def test_no_windows_at_all() -> None:
    start, backfilled = replay_windows(busy_jobs(50), PROCS, np.zeros(0, dtype=np.int64), 20, "WFP3")
    assert start.shape == backfilled.shape == (0, 20)
