"""Tests of simulator/agents: episodes, batch_replay_windows, trajectories."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from simulator.agents.batch import Batch, WindowRules, replay_windows
from simulator.agents.episodes import Backlogs, Threads, begin_anew, keep_backlogs, many
from simulator.agents.trajectories import sample_windows
from simulator.engine.replay import replay, rules_of
from simulator.jobs.schedule import CANCELLED
from simulator.policies.observation import LAYOUTS, blank_network
from simulator.policies.registry import network_policy, parse_policy, register_policy
from tests.simulator.busy import FIRST as BUSY_FIRST
from tests.simulator.busy import PROCS, assert_as_replayed, busy_jobs, random_weights, uneven_jobs
from tests.simulator.busy import WINDOW as BUSY_WINDOW

# backlogs: Windows that begin with a policy's own backlog are parts of its replay.

JOBS = busy_jobs(900, load=1.5)
FIRST = np.array([0, 150, 151, 600])
WINDOW = 200


def from_backlogs(
    policy, backlogs: Backlogs, backfill: str = "easy", threads: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    rules = WindowRules(backfill, threads=threads, backlogs=backlogs)
    return replay_windows(JOBS, PROCS, FIRST, WINDOW, policy, rules)


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf", "conservative"])
@pytest.mark.parametrize("name", ["FCFS", "SAF", "WFP3", "fairshare:half_life_days=0.1", "learned"])
def test_windows_with_their_own_backlog_and_all_later_jobs_are_parts_of_the_replay(name: str, backfill: str) -> None:
    policy = parse_policy(name, random_weights() if name == "learned" else None)
    whole = replay(JOBS, PROCS, policy, backfill)
    backlogs = keep_backlogs(JOBS, PROCS, FIRST, policy, backfill, after=len(JOBS))
    start, backfilled = from_backlogs(policy, backlogs, backfill)
    for k, first in enumerate(FIRST.tolist()):
        assert start[k].tolist() == whole.start[first : first + WINDOW].tolist()
        assert backfilled[k].tolist() == whole.backfilled[first : first + WINDOW].tolist()
    assert max(len(state.queue) for state in backlogs.states) > 20


def test_an_empty_cluster_flatters_an_order_that_lets_jobs_starve() -> None:
    backlogs = keep_backlogs(JOBS, PROCS, FIRST, "SAF", after=0)
    start, _ = from_backlogs("SAF", backlogs)
    empty, _ = replay_windows(JOBS, PROCS, FIRST, WINDOW, "SAF")
    assert (start[0] == empty[0]).all()
    assert (start[1:] - empty[1:]).mean() > 1000


def test_jobs_behind_the_windows_count_up_to_the_number_given() -> None:
    some = keep_backlogs(JOBS, PROCS, FIRST, "SAF", after=50)
    shorter = replay(JOBS.window(0, FIRST[1] + WINDOW + 50), PROCS, "SAF")
    start, _ = from_backlogs("SAF", some)
    assert start[1].tolist() == shorter.start[FIRST[1] : FIRST[1] + WINDOW].tolist()


def test_recorded_choices_are_those_of_the_window() -> None:
    weights = random_weights(3)
    backlogs = keep_backlogs(JOBS, PROCS, FIRST, network_policy(weights), after=300)
    rules = WindowRules(threads=2, backlogs=backlogs)
    one, two = (sample_windows(JOBS, PROCS, FIRST, WINDOW, weights, seed, rules=rules) for seed in (1, 1))
    assert one.start.tolist() == two.start.tolist() and one.decisions == two.decisions > 500
    assert (one.start >= JOBS.submit[FIRST[:, None] + np.arange(WINDOW)]).all()
    other = sample_windows(JOBS, PROCS, FIRST, WINDOW, weights, 2, rules=rules)
    assert other.start.tolist() != one.start.tolist()
    # a teacher's choices are those of its replay from the same backlogs, whatever the room of the recorder
    teacher = (JOBS.estimate * JOBS.procs).astype(np.float64)
    taught = sample_windows(JOBS, PROCS, FIRST, WINDOW, weights, 1, teacher=teacher, rules=rules)
    assert taught.start.tolist() == from_backlogs("SAF", backlogs)[0].tolist()


def test_no_choice_is_recorded_after_the_last_job_of_the_window_has_started() -> None:
    """What is chosen later changes none of its waits."""
    jobs, first = busy_jobs(2000, load=0.8), np.array([200])
    teacher, decisions = jobs.submit.astype(np.float64), []
    for after in (700, 1500):
        backlogs = keep_backlogs(jobs, PROCS, first, "FCFS", after=after)
        rules = WindowRules(backlogs=backlogs)
        recorded = sample_windows(jobs, PROCS, first, WINDOW, random_weights(3), 1, teacher=teacher, rules=rules)
        decisions.append(recorded.decisions)
    assert jobs.submit[200 + WINDOW + 700] > replay(jobs, PROCS, "FCFS").start[: 200 + WINDOW].max()
    assert decisions[0] == decisions[1] > 20


def test_errors() -> None:
    backlogs = keep_backlogs(JOBS, PROCS, FIRST, "SAF")
    with pytest.raises(ValueError, match="one state per window, got 4 for 2 windows"):
        replay_windows(JOBS, PROCS, FIRST[:2], WINDOW, "SAF", WindowRules(backlogs=backlogs))
    with pytest.raises(ValueError, match="knows no backlogs"):
        replay_windows(JOBS, PROCS, FIRST, WINDOW, "SAF", WindowRules(rule_set="rlscheduler", backlogs=backlogs))
    with pytest.raises(ValueError, match="kept without these users' usage"):
        from_backlogs("fairshare", backlogs)
    with pytest.raises(ValueError, match="leave their cancellations out"):
        keep_backlogs(busy_jobs(50, cancelled_share=0.5), PROCS, FIRST[:1], "SAF")


# batch_replay_windows: Windows replayed in a batch come out as `replay` replays each of them alone.


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
        found = replay_windows(
            jobs,
            PROCS,
            BUSY_FIRST,
            BUSY_WINDOW,
            policy,
            WindowRules(backfill, correction, threads=threads),
        )
        assert_as_replayed(jobs, BUSY_FIRST, found, policy, backfill, correction=correction)


@pytest.mark.parametrize("backfill", BACKFILLS)
def test_the_learned_policy_replays_windows(backfill: str) -> None:
    jobs, weights = busy_jobs(500, load=3.0), random_weights()
    found = replay_windows(
        jobs,
        PROCS,
        BUSY_FIRST,
        BUSY_WINDOW,
        parse_policy("learned", weights),
        WindowRules(backfill, threads=2),
    )
    assert_as_replayed(jobs, BUSY_FIRST, found, "learned", backfill, weights)


def test_multifactor_replays_windows_in_which_all_users_are() -> None:
    jobs = busy_jobs(500, users=2)
    found = replay_windows(jobs, PROCS, BUSY_FIRST, BUSY_WINDOW, "multifactor")
    assert_as_replayed(jobs, BUSY_FIRST, found, "multifactor", "easy")


def test_multifactor_counts_the_users_of_a_window() -> None:
    jobs = busy_jobs(500, users=200)
    found = replay_windows(jobs, PROCS, BUSY_FIRST, BUSY_WINDOW, "multifactor")
    assert_as_replayed(jobs, BUSY_FIRST, found, "multifactor", "easy")


@pytest.mark.parametrize("policy", ["SAF", "WFP3", "fairshare", "waits-and-users"])
def test_threads_change_no_window(policy: str) -> None:
    jobs, first = uneven_jobs()
    first = np.concatenate([first, first[::-1], np.arange(40)])
    expected = replay_windows(jobs, PROCS, first, BUSY_WINDOW, policy, WindowRules(threads=1))
    for threads in (2, 3, None):
        found = replay_windows(jobs, PROCS, first, BUSY_WINDOW, policy, WindowRules(threads=threads))
        assert np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])


def test_no_windows_at_all() -> None:
    start, backfilled = replay_windows(busy_jobs(50), PROCS, np.zeros(0, dtype=np.int64), 20, "WFP3")
    assert start.shape == backfilled.shape == (0, 20)


# episodes: Many episodes side by side: their state, and how threads share them.


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("episodes", "least"), [(0, 1), (1, 1), (7, 3), (100, 1), (100, 60)])
def test_every_episode_is_taken_once(threads: int, episodes: int, least: int) -> None:
    ranges: list[tuple[int, int]] = []
    Threads(threads).share(episodes, least, lambda begin, end: ranges.append((begin, end)))
    assert sorted(e for begin, end in ranges for e in range(begin, end)) == list(range(episodes))
    assert len(ranges) == 1 or min(end - begin for begin, end in ranges) >= least


def test_what_a_thread_raises_is_raised() -> None:
    def work(begin: int, end: int) -> None:
        raise ValueError(f"episode {begin}")

    with pytest.raises(ValueError, match="episode"):
        Threads(2).share(10, 1, work)


def test_the_state_of_many_begins_anew() -> None:
    state = many(window_jobs=4, cluster_procs=8, episodes=3, users=2, rules=rules_of("easy", "requested", 8), inputs=5)
    assert {len(column) for column in state} == {3}
    assert (state.queue.shape, state.usage.shape, state.rows.shape[2]) == ((3, 4), (3, 3), 5)
    state.start[:] = 7
    state.counters[:] = 7
    begin_anew(state)
    assert (state.start == CANCELLED).all()
    assert not state.counters.any()


# trajectories: Recorded choices: complete however small the recorder, and the same when a batch takes them again.


@pytest.mark.parametrize("rules", ["standard", "rlscheduler"])
def test_a_full_recorder_loses_nothing(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, first = busy_jobs(900, load=9.0), np.arange(0, 600, 100)

    def sampled() -> list[np.ndarray]:
        found = sample_windows(
            jobs, PROCS, first, BUSY_WINDOW, random_weights(), 4, rules=WindowRules("none", rule_set=rules)
        )
        return [
            found.features,
            found.first_row,
            found.num_rows,
            found.choice,
            found.log_prob,
            found.first_decision,
            found.start,
        ]

    expected = sampled()
    assert len(expected[0]) > 2 * BUSY_WINDOW * len(first), "more rows than fit at first, below"
    monkeypatch.setattr("simulator.agents.trajectories.ROWS_PER_JOB", 1)
    assert all(np.array_equal(a, b) for a, b in zip(expected, sampled(), strict=True))


def test_sampled_choices_can_be_taken_again_step_by_step() -> None:
    """A network of zeros likes all jobs the same, so that its backfilling is in submit order, as it is for a batch. Unlike a
    batch, it also draws where no job fits any more in the pass; such draws change nothing."""

    def rows_of(d: int) -> slice:
        return slice(sampled.first_row[d], sampled.first_row[d] + sampled.num_rows[d])

    jobs = busy_jobs(500, load=3.0)
    sampled = sample_windows(jobs, PROCS, BUSY_FIRST, BUSY_WINDOW, blank_network(LAYOUTS["plain"]), seed=4)
    batch = Batch(jobs, PROCS, BUSY_WINDOW, len(BUSY_FIRST), "easy")
    seen = batch.reset(BUSY_FIRST)
    decision = sampled.first_decision[:-1].copy()
    last = sampled.first_decision[1:]
    assert (last - decision).min() > 20
    while seen.choosing.any():
        action = np.full(len(BUSY_FIRST), -1)
        for e in np.flatnonzero(seen.choosing).tolist():
            d = decision[e]
            assert seen.mask[e].sum() == sampled.num_rows[d]
            assert np.array_equal(seen.features[e][seen.mask[e]], sampled.features[rows_of(d)])
            action[e] = sampled.choice[d]
            decision[e] = d + 1
        seen = batch.step(action)
    assert decision.tolist() == last.tolist()
    assert len(np.unique(sampled.choice)) > 10, "the draws differ"
    assert np.array_equal(batch.start, sampled.start)
