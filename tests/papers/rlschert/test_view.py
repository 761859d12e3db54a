"""What schedulers see of RLSchert's cluster, and what the heuristics pick, against the slow cluster."""

from __future__ import annotations

import numpy as np
import pytest

from papers.rlschert.cluster import Setting, SlotCluster, run_heuristic_on
from papers.rlschert.rules import KILLABLE, SLOTS, WAIT
from papers.rlschert.view import HEURISTICS, WHOLE_QUEUE_HEURISTICS
from papers.rlschert.workload import Workload, draw_sequences
from tests.papers.rlschert.test_rules import oracle_of
from tests.simulator.oracle_rlschert import (
    pick_saf,
    pick_sjf,
    pick_tetris,
    run,
    run_whole_queue,
)


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


@pytest.mark.parametrize(("name", "wide"), [("SJF, whole queue", 0), ("SAF, whole queue", 1)])
@pytest.mark.parametrize("preemption_cost", [0, 3])
@pytest.mark.parametrize("stop_within", [0, 5])
def test_whole_queue_heuristics_pick_the_same(name: str, wide: int, stop_within: int, preemption_cost: int) -> None:
    setting = Setting(kill_by_rule=True, stop_within=stop_within, preemption_cost=preemption_cost)
    sequences = draw_sequences(Workload(jobs=80), 3, seed=5)
    outcome = run_heuristic_on(sequences, setting, name)
    for e in range(3):
        oracle = run_whole_queue(
            oracle_of(sequences, e, setting), lambda procs, estimate: estimate * (procs if wide else 1)
        )
        assert outcome.finish[e].tolist() == [oracle.finish[j] for j in range(80)]
    assert outcome.kills.sum() > 0


def test_the_whole_queue_is_worth_much_and_stopping_more() -> None:
    """The page's figures: 9.56, 3.20 and 2.15."""
    sequences = draw_sequences(Workload(), 16, seed=3)

    def slowdown(name: str, **rules: int) -> float:
        return float(run_heuristic_on(sequences, Setting(**rules), name).slowdowns().mean())

    costs = (slowdown("SJF"), slowdown("SJF, whole queue"), slowdown("SJF, whole queue", stop_within=5))
    assert costs == pytest.approx((9.56, 3.20, 2.15), abs=0.005)


@pytest.mark.parametrize("preemption_cost", [0, 6])
def test_every_heuristic_ends_and_oversubscribes_nothing(preemption_cost: int) -> None:
    sequences = draw_sequences(Workload(jobs=100), 4, seed=9)
    setting = Setting(procs=16, with_remaining=False, stop_within=5, preemption_cost=preemption_cost)
    for name in HEURISTICS + WHOLE_QUEUE_HEURISTICS:
        found = run_heuristic_on(sequences, setting, name)
        restart = np.where(found.kills > 0, preemption_cost, 0)
        assert (found.finish - found.start == sequences.length + restart).all() and found.over.all()
        assert found.kills.sum() > 0 and found.kills.max() <= 3
        assert found.busy.max() <= 16
        assert (found.slowdowns() >= 1).all()


def test_random_depends_on_its_seed_alone() -> None:
    sequences = draw_sequences(Workload(jobs=50), 2, seed=3)
    runs = [run_heuristic_on(sequences, Setting(), "Random", seed=seed).finish for seed in (1, 1, 2)]
    assert (runs[0] == runs[1]).all() and (runs[0] != runs[2]).any()


def test_an_unknown_heuristic() -> None:
    with pytest.raises(ValueError, match="unknown heuristic 'FCFS': expected one of Random; SJF"):
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
    assert image.shape == (120, 72)  # of section 4.1.3
    assert ((image[:, :16] > 0).sum(axis=1) == 16 - cluster.state.free[0]).all()
    state = cluster.state
    running = [state.running[0, k] for k in range(state.num_running[0])]
    colours = set(image[0, :16].tolist()) - {0.0}
    assert len(colours) == len(running) and min(colours) >= 0.5  # each running job has one of its own
    rows = image[:, 66:71].any(axis=1)
    assert rows.sum() == min(len(running), KILLABLE) and rows[: rows.sum()].all()
    assert image[0, 66] == pytest.approx(sequences.procs[0, running[-1]] / 10)  # the latest start first
    assert image[:, 71].sum() == min(state.since[0], 120)
    for w, j in enumerate(cluster.state.slots[0]):
        area = image[:, 16 + 10 * w : 26 + 10 * w].sum()
        assert area == (0 if j < 0 else cluster.state.estimate[0, j] * sequences.procs[0, j])
