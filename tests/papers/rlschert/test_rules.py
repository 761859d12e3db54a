"""The compiled cluster of RLSchert against the slow one, action by action, and its heuristics."""

from __future__ import annotations

import numpy as np
import pytest

from papers.rlschert.cluster import Setting, SlotCluster, take_sequences
from papers.rlschert.rules import ACTIONS, KILLABLE, SLOTS, WAIT, Sequences
from papers.rlschert.workload import Workload, draw_sequences
from tests.simulator.oracle_rlschert import (
    OracleCluster,
)

WORKLOAD = Workload(jobs=60, job_rate=0.8)


def oracle_of(sequences: Sequences, e: int, setting: Setting) -> OracleCluster:
    return OracleCluster(
        sequences.arrive[e].tolist(), sequences.length[e].tolist(), sequences.procs[e].tolist(),
        sequences.first[e].tolist(), sequences.remaining[e].tolist(), cluster_procs=setting.procs,
        with_remaining=setting.with_remaining, kill_by_rule=setting.kill_by_rule, reward=setting.goal,
        true_lengths=setting.true_lengths, stop_within=setting.stop_within, stop_ratio=setting.stop_ratio,
        preemption_cost=setting.preemption_cost, printed_reward=setting.printed_reward,
    )  # fmt: skip


STOPPING = {12: (0, 3.0), 16: (5, 3.0), 24: (20, 1.5)}
"""By the size of the cluster, so that each is tried: none, the default, and one that stops more."""


@pytest.mark.parametrize("goal", ["slowdown", "completion"])
@pytest.mark.parametrize("with_remaining", [True, False])
@pytest.mark.parametrize("kill_by_rule", [True, False])
@pytest.mark.parametrize("procs", [12, 16, 24])
@pytest.mark.parametrize("preemption_cost", [0, 4])
def test_the_same_after_every_action(
    goal: str, with_remaining: bool, kill_by_rule: bool, procs: int, preemption_cost: int
) -> None:
    """Random actions, among them ones that do nothing, until all jobs are done."""
    within, ratio = STOPPING[procs]
    setting = Setting(
        procs,
        with_remaining,
        kill_by_rule,
        goal,
        procs == 12,
        within,
        ratio,
        preemption_cost,
        printed_reward=procs == 24,
    )
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
        assert outcome.kills[0].tolist() == [job.kills for job in oracle.jobs]
