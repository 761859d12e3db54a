"""The compiled cluster of RLSchert against the slow one, action by action, and its heuristics."""

from __future__ import annotations

import numpy as np
import pytest

from models.rlschert.cluster import Setting, SlotCluster, run_heuristic_on, take_sequences
from models.rlschert.workload import Workload, draw_sequences
from simulator.published.rlschert import ACTIONS, KILLABLE, SLOTS, WAIT, Sequences
from simulator.published.rlschert_view import HEURISTICS
from tests.simulator.oracle_rlschert import (
    OracleCluster,
    pick_saf,
    pick_sjf,
    pick_tetris,
    run,
)

WORKLOAD = Workload(jobs=60, job_rate=0.8)


def oracle_of(sequences: Sequences, e: int, setting: Setting) -> OracleCluster:
    return OracleCluster(
        sequences.arrive[e].tolist(), sequences.length[e].tolist(), sequences.procs[e].tolist(),
        sequences.first[e].tolist(), sequences.remaining[e].tolist(), cluster_procs=setting.procs,
        with_remaining=setting.with_remaining, kill_by_rule=setting.kill_by_rule, reward=setting.goal,
        true_lengths=setting.true_lengths,
    )  # fmt: skip


@pytest.mark.parametrize("goal", ["slowdown", "completion"])
@pytest.mark.parametrize("with_remaining", [True, False])
@pytest.mark.parametrize("kill_by_rule", [True, False])
@pytest.mark.parametrize("procs", [12, 16, 24])
def test_the_same_after_every_action(goal: str, with_remaining: bool, kill_by_rule: bool, procs: int) -> None:
    """Random actions, among them ones that do nothing, until all jobs are done."""
    setting = Setting(procs, with_remaining, kill_by_rule, goal, true_lengths=procs == 12)
    sequences = draw_sequences(WORKLOAD, 2, seed=procs)
    rng = np.random.default_rng(procs)
    for e in range(2):
        cluster, oracle = (
            SlotCluster(take_sequences(sequences, np.array([e])), setting),
            oracle_of(sequences, e, setting),
        )
        cluster.begin()
        state = cluster.state
        while not cluster.over[0]:
            chances = np.r_[np.full(SLOTS, 1.0), np.full(KILLABLE, 0.02), 2.0]
            action = int(rng.choice(ACTIONS, p=chances / chances.sum()))
            ended = len(oracle.rewards)
            reward = cluster.step(np.array([action]))[0]
            if action < SLOTS:
                oracle.select(action)
            elif action < WAIT:
                oracle.kill(action - SLOTS)
            else:
                oracle.wait()
            assert reward == pytest.approx(sum(oracle.rewards[ended:]))
            slots = [None if j < 0 else int(j) for j in state.slots[0]]
            assert slots == oracle.visible
            head, count = int(state.head[0]), int(state.waiting[0])
            ring = [int(state.backlog[0, (head + k) % len(oracle.estimate)]) for k in range(count)]
            assert ring == oracle.backlog
            assert state.ready[0, : state.num_ready[0]].tolist() == oracle.ready
            assert state.running[0, : state.num_running[0]].tolist() == oracle.running
            assert state.free[0].tolist() == oracle.free
            assert state.estimate[0].tolist() == oracle.estimate
        assert oracle.over
        outcome = cluster.outcome()
        assert outcome.slowdowns()[0] == pytest.approx(oracle.slowdown())
        assert outcome.completions()[0] == pytest.approx(oracle.completion())
        assert outcome.holes[0] == oracle.holes()


@pytest.mark.parametrize(("name", "pick"), [("SJF", pick_sjf), ("SAF", pick_saf), ("Tetris", pick_tetris)])
@pytest.mark.parametrize("kill_by_rule", [True, False])
def test_heuristics_pick_the_same(name: str, pick, kill_by_rule: bool) -> None:
    setting = Setting(with_remaining=False, kill_by_rule=kill_by_rule)
    sequences = draw_sequences(Workload(jobs=80), 3, seed=5)
    found = run_heuristic_on(sequences, setting, name)
    for e in range(3):
        oracle = oracle_of(sequences, e, setting)
        run(oracle, pick)
        assert found.finish[e].tolist() == [oracle.finish[j] for j in range(80)]


def test_every_heuristic_ends_and_oversubscribes_nothing() -> None:
    sequences = draw_sequences(Workload(jobs=100), 4, seed=9)
    for name in HEURISTICS:
        found = run_heuristic_on(sequences, Setting(procs=16, with_remaining=False), name)
        assert (found.finish - found.start == sequences.length).all() and found.over.all()
        assert found.busy.max() <= 16
        assert (found.slowdowns() >= 1).all()


def test_random_depends_on_its_seed_alone() -> None:
    sequences = draw_sequences(Workload(jobs=50), 2, seed=3)
    runs = [run_heuristic_on(sequences, Setting(), "Random", seed=seed).finish for seed in (1, 1, 2)]
    assert (runs[0] == runs[1]).all() and (runs[0] != runs[2]).any()


def test_an_unknown_heuristic() -> None:
    with pytest.raises(ValueError, match="unknown heuristic 'FCFS'; expected one of Random, SJF"):
        run_heuristic_on(draw_sequences(Workload(jobs=10), 1, 1), Setting(), "FCFS")


def test_what_a_learner_is_offered() -> None:
    """Never to wait for nothing, nor to kill what has just started; a job at most three times."""
    sequences = draw_sequences(Workload(jobs=40), 1, seed=2)
    cluster = SlotCluster(sequences, Setting())
    cluster.begin()
    state, rng = cluster.state, np.random.default_rng(1)
    for _ in range(5000):
        if cluster.over[0]:
            break
        offered = np.flatnonzero(cluster.mask[0])
        assert len(offered)
        idle = state.num_running[0] == 0 and state.num_ready[0] == 0
        assert cluster.mask[0, WAIT] == (not (idle and (state.slots[0] >= 0).any()))
        for k in range(min(KILLABLE, state.num_running[0])):
            j = state.running[0, state.num_running[0] - 1 - k]
            may = state.now[0] > state.start[0, j] and state.kills[0, j] < 3
            assert cluster.mask[0, SLOTS + k] == may
        cluster.step(np.array([rng.choice(offered)]))
    assert cluster.over[0]
    assert state.kills.max() == 3


def test_the_image_shows_the_plan() -> None:
    sequences = draw_sequences(Workload(jobs=30), 1, seed=4)
    cluster = SlotCluster(sequences, Setting(procs=16), images=True)
    cluster.begin()
    for _ in range(60):
        cluster.step(np.array([0 if cluster.mask[0, 0] else WAIT]))
    image = cluster.seen[0]
    assert image.shape == (120, 16 + 50 + 2)
    assert (image[:, :16].sum(axis=1) == 16 - cluster.state.free[0]).all()
    for w, j in enumerate(cluster.state.slots[0]):
        area = image[:, 16 + 10 * w : 26 + 10 * w].sum()
        assert area == (0 if j < 0 else cluster.state.estimate[0, j] * sequences.procs[0, j])
