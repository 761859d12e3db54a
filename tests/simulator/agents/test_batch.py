"""Tests of simulator/agents: batch, slurm_windows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from models.scheduling.learning.recipes import smallest_area_first
from simulator.agents.batch import Batch, Observation, WindowRules, replay_windows
from simulator.agents.slurm_windows import SlurmTrace
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.network import VISIBLE_JOBS, KernelWeights, score_rows
from simulator.policies.observation import LAYOUTS
from simulator.policies.registry import network_policy, parse_policy
from tests.simulator.busy import FIRST, PROCS, WINDOW, assert_as_replayed, busy_jobs, random_weights, uneven_jobs
from tests.simulator.slurm.variants.test_variants import JOBS, crowded_jobs

# batch: Windows stepped side by side come out as `replay` replays each of them alone.

Choose = Callable[[Observation], np.ndarray]

ESTIMATE, WIDTH, AREA, FITS = 0, 1, 2, 5
INPUTS = len(LAYOUTS["plain"].inputs)
"""Features that a job can be chosen by."""


def played(batch: Batch, first: np.ndarray, choose: Choose) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start times, backfilled flags and the number of choices of each episode."""
    seen = batch.reset(first)
    choices = np.zeros(len(first), dtype=int)
    while seen.choosing.any():
        choices += seen.choosing
        seen = batch.step(choose(seen))
    return batch.start.copy(), batch.backfilled.copy(), choices


def first_submitted(seen: Observation) -> np.ndarray:
    return np.zeros(len(seen.mask), dtype=np.int64)


def least(feature: int) -> Choose:
    """Chooses the job with the smallest feature; ties go to the one submitted first."""
    return lambda seen: np.where(seen.mask, seen.features[:, :, feature], np.inf).argmin(axis=1)


def largest_output(weights: KernelWeights) -> Choose:
    """Chooses as the learned policy does."""

    def choose(seen: Observation) -> np.ndarray:
        action = np.zeros(len(seen.mask), dtype=np.int64)
        outputs = np.empty(VISIBLE_JOBS, dtype=np.float32)
        for e, visible in enumerate(seen.mask.sum(axis=1).tolist()):
            score_rows(seen.features[e], visible, weights, outputs)
            action[e] = outputs[:visible].argmax() if visible else 0
        return action

    return choose


def arbitrary(seen: Observation) -> np.ndarray:
    """Some job, the same one whenever the same is seen."""
    waiting = np.maximum(seen.mask.sum(axis=1), 1)
    return (seen.features.sum(axis=(1, 2)) * 1e4).astype(np.int64) % waiting


# Stepping.


@pytest.mark.parametrize(
    ("policy", "backfill", "choose"),
    [
        ("FCFS", "none", first_submitted),
        ("FCFS", "easy", first_submitted),
        ("FCFS", "easy-sjbf", first_submitted),
        # Behind a chosen head, EASY goes on in submit order: other policies can be imitated only where that does not matter.
        ("SJF", "none", least(ESTIMATE)),
        ("SJF", "easy-sjbf", least(ESTIMATE)),
        ("SAF", "none", least(AREA)),
        ("SAF", "easy-sjbf", least(AREA)),
        ("smallest", "none", least(WIDTH)),
        ("smallest", "easy-sjbf", least(WIDTH)),
    ],
)
@pytest.mark.parametrize("correction", ["requested", "doubling"])
def test_choosing_a_policys_job_is_replaying_the_policy(
    policy: str, backfill: str, correction: str, choose: Choose
) -> None:
    jobs = busy_jobs(500)
    batch = Batch(jobs, PROCS, WINDOW, len(FIRST), backfill, correction)
    start, backfilled, choices = played(batch, FIRST, choose)
    assert choices.min() > 10
    assert_as_replayed(jobs, FIRST, (start, backfilled), policy, backfill, correction=correction)


@pytest.mark.parametrize("backfill", ["none", "easy-sjbf"])
def test_choosing_the_largest_output_is_the_learned_policy(backfill: str) -> None:
    """Where a batch shows the whole queue."""
    jobs, weights = busy_jobs(500, load=9.0), random_weights()
    first = np.array([0, 140])
    batch = Batch(jobs, PROCS, VISIBLE_JOBS, 2, backfill)
    start, backfilled, _ = played(batch, first, largest_output(weights))
    assert_as_replayed(jobs, first, (start, backfilled), "learned", backfill, weights)
    others = replay(jobs.window(0, VISIBLE_JOBS), PROCS, "learned", backfill, random_weights(2))
    assert (start[0] != others.start).any(), "the weights matter"


def test_what_is_seen() -> None:
    """4 processors, all busy from 0 to 100; two jobs wait since 10 and 60, and at 100 one has to be chosen."""
    estimate = np.array([100, 31, 127])
    jobs = Jobs(np.array([0, 10, 60]), np.array([100, 30, 50]), np.array([4, 3, 2]), estimate, estimate)
    batch = Batch(jobs, 4, 3, 1)
    seen = batch.reset(np.array([0]))
    assert seen.choosing.tolist() == [True]
    assert seen.mask[0].tolist() == [True, True] + [False] * (VISIBLE_JOBS - 2)
    assert not seen.features[0, 2:].any()
    expected = [
        [
            math.log2(1 + estimate) / 20, math.log2(1 + procs) / math.log2(5), math.log2(1 + estimate * procs / 4) / 20,
            math.log2(1 + wait) / 20, math.log2(1 + wait / estimate) / 10, 1, 1, 2 / VISIBLE_JOBS,
        ]
        for wait, estimate, procs in ((90, 31, 3), (40, 127, 2))
    ]  # fmt: skip
    assert seen.features.shape == (1, VISIBLE_JOBS, INPUTS) and seen.features.dtype == np.float32
    assert seen.features[0, :2] == pytest.approx(np.array(expected), rel=1e-6)
    assert not batch.step(np.array([1])).choosing.any()
    assert batch.start.tolist() == [[0, 150, 100]]


def test_a_choice_is_asked_for_only_where_several_jobs_wait() -> None:
    fewest = []

    def choose(seen: Observation) -> np.ndarray:
        fewest.append(seen.mask[seen.choosing].sum(axis=1).min())
        return arbitrary(seen)

    played(Batch(busy_jobs(500), PROCS, WINDOW, len(FIRST)), FIRST, choose)
    assert min(fewest) == 2


def test_a_choice_is_asked_for_only_where_a_job_fits() -> None:
    def choose(seen: Observation) -> np.ndarray:
        assert seen.features[seen.choosing][:, :, FITS].any(axis=1).all()
        return first_submitted(seen)

    played(Batch(busy_jobs(500), PROCS, WINDOW, len(FIRST)), FIRST, choose)


def test_episodes_of_very_different_lengths() -> None:
    """Episodes that are over show nothing, are not asked and are not moved by whatever action is passed."""
    jobs, first = uneven_jobs()
    batch = Batch(jobs, PROCS, WINDOW, len(first), "easy")
    final: dict[int, np.ndarray] = {}
    moves = 0

    def choose(seen: Observation) -> np.ndarray:
        nonlocal moves
        over = np.flatnonzero(~seen.choosing).tolist()
        assert not seen.mask[over].any() and not seen.features[over].any()
        assert seen.mask[seen.choosing].any(axis=1).all()
        for e in over:
            assert np.array_equal(final.setdefault(e, batch.start[e].copy()), batch.start[e])
        moves += 1
        return np.where(seen.choosing, 0, [-5, VISIBLE_JOBS, 0, 10**6, -1])

    start, backfilled, choices = played(batch, first, choose)
    assert choices.min() <= 3 and choices.max() > 100 and moves == choices.max() and len(final) >= 3
    assert_as_replayed(jobs, first, (start, backfilled), "FCFS", "easy")
    seen = batch.step(np.zeros(len(first), dtype=np.int64))  # all are over
    assert not seen.choosing.any() and not seen.mask.any() and not seen.features.any()
    assert np.array_equal(batch.start, start)


def test_an_episode_of_one_job_has_no_choice() -> None:
    jobs = busy_jobs(20)
    batch = Batch(jobs, PROCS, 1, 20)
    assert not batch.reset(np.arange(20)).choosing.any()
    assert np.array_equal(batch.start[:, 0], jobs.submit)


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf"])
def test_threads_and_neighbours_change_nothing(backfill: str) -> None:
    """Nor does it matter which other episodes are in the batch, or that it has been used before."""
    jobs, first = uneven_jobs()
    expected = played(Batch(jobs, PROCS, WINDOW, len(first), backfill, threads=1), first, arbitrary)
    for threads in (2, 3):
        batch = Batch(jobs, PROCS, WINDOW, len(first), backfill, threads=threads)
        for _ in range(2):
            for found, wanted in zip(played(batch, first, arbitrary), expected, strict=True):
                assert np.array_equal(found, wanted)
        backwards = played(batch, first[::-1], arbitrary)
        assert np.array_equal(backwards[0][::-1], expected[0])
    alone = Batch(jobs, PROCS, WINDOW, 1, backfill)
    for e in range(len(first)):
        assert np.array_equal(played(alone, first[e : e + 1], arbitrary)[0][0], expected[0][e])


def test_a_reset_in_the_middle_begins_anew() -> None:
    jobs, first = uneven_jobs()
    batch = Batch(jobs, PROCS, WINDOW, len(first))
    at_first = [array.copy() for array in batch.reset(first)]
    expected = played(batch, first, arbitrary)
    seen = batch.reset(first)
    for _ in range(25):
        seen = batch.step(arbitrary(seen))
    assert seen.choosing.any()
    for found, wanted in zip(batch.reset(first), at_first, strict=True):
        assert np.array_equal(found, wanted)
    for found, wanted in zip(played(batch, first, arbitrary), expected, strict=True):
        assert np.array_equal(found, wanted)


# Errors.


def test_windows_that_are_not_in_the_trace_are_refused() -> None:
    jobs = busy_jobs(50)
    batch = Batch(jobs, PROCS, 20, 2)
    for first in ([-1, 0], [0, 31]):
        with pytest.raises(ValueError, match="windows of 20 jobs must begin between 0 and 30, got"):
            batch.reset(np.array(first))
        with pytest.raises(ValueError, match="windows of 20 jobs must begin between 0 and 30, got"):
            replay_windows(jobs, PROCS, np.array(first), 20)
    batch.reset(np.array([0, 30]))
    for length in (0, 51):
        with pytest.raises(ValueError, match=f"1 to 50 jobs, as many as the trace has, got {length}"):
            Batch(jobs, PROCS, length, 2)
        with pytest.raises(ValueError, match=f"1 to 50 jobs, as many as the trace has, got {length}"):
            replay_windows(jobs, PROCS, np.array([0]), length)


@pytest.mark.parametrize("first", [np.array([0]), np.array([0, 1, 2]), np.array([[0, 1]])])
def test_a_reset_needs_one_window_per_episode(first: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"one window per episode, shape \(2,\), got"):
        Batch(busy_jobs(50), PROCS, 20, 2).reset(first)


@pytest.mark.parametrize("place", [-1, 5, VISIBLE_JOBS, 10**9])
def test_a_place_where_no_job_waits_is_refused(place: int) -> None:
    one = np.ones(6, dtype=np.int64)
    batch = Batch(Jobs(0 * one, 9 * one, PROCS * one, 9 * one, 9 * one), PROCS, 5, 2)
    seen = batch.reset(np.array([0, 1]))
    assert seen.mask.sum(axis=1).tolist() == [5, 5]
    with pytest.raises(ValueError, match=f"episode 1: no job waits at place {place}"):
        batch.step(np.array([4, place]))
    while seen.choosing.any():  # the refused step has moved nothing
        seen = batch.step(np.array([0, 0]))
    assert batch.start.tolist() == [[0, 9, 18, 27, 36]] * 2


@pytest.mark.parametrize("action", [np.array([0]), np.array([0, 0, 0]), np.array([[0], [0]])])
def test_a_step_needs_one_action_per_episode(action: np.ndarray) -> None:
    batch = Batch(busy_jobs(50, load=9.0), PROCS, 20, 2)
    batch.reset(np.array([0, 1]))
    with pytest.raises(ValueError, match=r"shape \(2,\), got"):
        batch.step(action)


def test_cancellations_are_refused() -> None:
    jobs = busy_jobs(50, cancelled_share=0.2)
    with pytest.raises(ValueError, match="jobs that can be cancelled cannot be replayed in batches"):
        Batch(jobs, PROCS, 20, 2)
    with pytest.raises(ValueError, match="jobs that can be cancelled cannot be replayed in batches"):
        replay_windows(jobs, PROCS, np.array([0]), 20)


@pytest.mark.parametrize("backfill", ["conservative", "selective:threshold=3"])
def test_reservations_cannot_be_stepped(backfill: str) -> None:
    with pytest.raises(ValueError, match=f"'{backfill}' backfilling: choose none, any, easy or easy-sjbf"):
        Batch(busy_jobs(50), PROCS, 20, 2, backfill)


def test_what_replay_refuses_is_refused() -> None:
    jobs = busy_jobs(50)
    for refused in (
        lambda: Batch(jobs, 8, 20, 2),
        lambda: replay_windows(jobs, 8, np.array([0]), 20),
    ):
        with pytest.raises(ValueError, match="the cluster has 8: give the cluster's true processor count"):
            refused()
    with pytest.raises(ValueError, match="unknown backfilling 'eazy'"):
        Batch(jobs, PROCS, 20, 2, "eazy")
    with pytest.raises(ValueError, match="unknown correction 'never'"):
        replay_windows(jobs, PROCS, np.array([0]), 20, rules=WindowRules(correction="never"))
    with pytest.raises(ValueError, match="unknown policy 'FIFO'"):
        replay_windows(jobs, PROCS, np.array([0]), 20, "FIFO")
    with pytest.raises(ValueError, match=r"division by zero.*\n.*\n.*\n.*wait = 0"):
        replay_windows(jobs, PROCS, np.array([0, 10]), 20, "formula:estimate/wait")


# slurm_windows: Windows of a trace under Slurm.

NETWORK = smallest_area_first(LAYOUTS["plain"], 40.0, 1)
FIRST_OF_SLURM_WINDOWS = np.array([40, 60])


@pytest.fixture(scope="module")
def trace() -> SlurmTrace:
    replayer, jobs = crowded_jobs()
    return SlurmTrace(jobs, 16, replayer, threads=1)


@pytest.mark.parametrize("name", [None, "SAF", "WFP3"])
def test_a_window_with_its_backlog_goes_on_as_the_whole_replay(trace: SlurmTrace, name: str | None) -> None:
    """Slurm's cycles have another phase after a warm start, so starts are near, and far from those on an idle cluster."""
    policy = None if name is None else parse_policy(name)
    whole = trace.history(policy, JOBS)[0].start
    backlogs = trace.keep_states(policy, FIRST_OF_SLURM_WINDOWS, JOBS)
    own = FIRST_OF_SLURM_WINDOWS[:, None] + np.arange(40)
    begun = trace.starts(policy, FIRST_OF_SLURM_WINDOWS, 40, backlogs)
    idle = trace.starts(policy, FIRST_OF_SLURM_WINDOWS, 40, None)
    assert (begun >= trace.jobs.submit[own]).all()
    assert np.abs(begun - whole[own]).mean() < 0.3 * np.abs(idle - whole[own]).mean()


def test_a_network_draws_heads_of_the_queue_that_are_recorded(trace: SlurmTrace) -> None:
    policy = network_policy(NETWORK)
    backlogs = trace.keep_states(policy, FIRST_OF_SLURM_WINDOWS, 20)
    seeds = np.array([1, 1])
    drawn = trace.sample(
        policy, FIRST_OF_SLURM_WINDOWS[[0, 0]], 40, seeds, trace.keep_states(policy, FIRST_OF_SLURM_WINDOWS[[0, 0]], 20)
    )
    assert (drawn.start[0] == drawn.start[1]).all()  # the same window with the same draws
    drawn = trace.sample(policy, FIRST_OF_SLURM_WINDOWS, 40, 3, backlogs)
    assert (
        drawn.decisions > 40
        and (drawn.start >= trace.jobs.submit[FIRST_OF_SLURM_WINDOWS[:, None] + np.arange(40)]).all()
    )
    assert (drawn.choice < drawn.num_rows).all() and (drawn.num_rows > 1).all() and (drawn.log_prob <= 0).all()
    assert drawn.first_decision.tolist()[-1] == drawn.decisions and len(drawn.features) == drawn.num_rows.sum()
    best = np.array(
        [
            drawn.features[first : first + rows, 2].argmin()
            for first, rows in zip(drawn.first_row, drawn.num_rows, strict=True)
        ]
    )
    assert 0.2 < (best == drawn.choice).mean() < 1.0  # it orders by area, and draws others, too


def test_a_teacher_is_followed(trace: SlurmTrace) -> None:
    area = (trace.jobs.estimate * trace.jobs.procs).astype(np.float64)
    shown = trace.sample(network_policy(NETWORK), FIRST_OF_SLURM_WINDOWS[:1], 40, 1, None, teacher=area)
    picked = [
        shown.features[first : first + rows, 2].argmin() == choice
        for first, rows, choice in zip(shown.first_row, shown.num_rows, shown.choice, strict=True)
    ]
    assert all(picked) and (shown.log_prob == 0).all()
