"""Training of the repair operator: seeds, interruptions, what is recorded, and that it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.allocation.neural.repair_networks import RepairActorCritic
from models.allocation.neural.repairing import FEATURES, RepairBatch
from models.allocation.sequential import sequential_allocation
from models.allocation.window import Window
from papers.neural_annealing import training
from papers.neural_annealing.options import RepairOptions
from papers.neural_annealing.training import (
    TEST_STREAM,
    TRAINING_STREAM,
    RepairLearner,
    RepairUpdate,
    TrainedRepair,
    epoch_seed,
    epoch_windows,
    place_at_random,
    play_repairs,
    train_repair,
)
from simulator.topology.closed_loop import published_jobs, run_closed_loop, selecting
from simulator.topology.tree import regular_tree

TREE = regular_tree((4, 3, 5))


def small_options(**changes: Any) -> RepairOptions:
    """A cluster of 60 nodes, and updates of a tenth of a second."""
    values = {
        "network": "FCN-1",
        "seen_nodes": 20,
        "largest": 10,
        "passes": 5,
        "update_windows": 8,
        "window_episodes": 2,
        "updates": 4,
        "save_every": 1,
    }
    return RepairOptions(**values | changes)


def assert_same(one: TrainedRepair, other: TrainedRepair) -> None:
    assert one.curve == other.curve
    states = one.network.state_dict(), other.network.state_dict()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("changes", [{}, {"variant": "code", "integer": True}, {"network": "CNN-1"}, {"siblings": 3}])
def test_training_is_a_function_of_its_seed(changes: dict) -> None:
    options = small_options(**changes)
    one, same, other = (train_repair(TREE, options, seed) for seed in (1, 1, 2))
    assert_same(one, same)
    assert one.curve != other.curve
    assert [row.episodes // options.siblings for row in one.curve] == [16, 32, 48, 64]
    assert all(row.decisions >= 16 * options.siblings for row in one.curve)
    assert all(row.cost > 0 and row.random_cost > 0 and np.isfinite(row.kl) for row in one.curve)
    assert all((row.value_error > 0) == (options.siblings == 1) for row in one.curve)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_interrupted_training_goes_on_with_the_same_bytes(tmp_path: Path, after: int) -> None:
    options = small_options(save_every=2, update_windows=60)  # so that epochs end between updates
    whole = train_repair(TREE, options, 3)

    def interrupt(report: RepairUpdate) -> None:
        if report.episodes == (after + 1) * 120:
            raise Interrupted

    path = tmp_path / "training.pt"
    with pytest.raises(Interrupted):
        train_repair(TREE, options, 3, path, interrupt)
    rows: list[RepairUpdate] = []
    assert_same(train_repair(TREE, options, 3, path, rows.append), whole)
    assert rows == whole.curve
    other = train_repair(TREE, small_options(save_every=2, update_windows=60, gamma=0.9), 3, path)
    assert other.curve[-1] != whole.curve[-1]  # the file is of another training


def test_more_updates_go_on_where_fewer_ended(tmp_path: Path) -> None:
    path = tmp_path / "training.pt"
    train_repair(TREE, small_options(updates=2, save_every=9), 1, path)
    longer = train_repair(TREE, small_options(), 1, path)
    assert_same(longer, train_repair(TREE, small_options(), 1))
    with pytest.raises(ValueError, match="has 4 updates of this training"):
        train_repair(TREE, small_options(updates=3), 1, path)


@pytest.mark.parametrize("variant", ["paper", "code"])
@pytest.mark.parametrize("siblings", [1, 4])
def test_what_is_recorded(variant: str, siblings: int) -> None:
    options = small_options(variant=variant, siblings=siblings, window_episodes=3)
    windows = epoch_windows(TREE, 1, options.most_jobs, 10)[:6]
    batch = RepairBatch(options.problem(TREE), windows, options.seen_nodes)
    torch.manual_seed(1)
    network = RepairActorCritic("FCN-1", FEATURES[options.variant], 20)
    played, cost, random_cost = play_repairs(network, batch, options, np.random.default_rng(1))
    last = played.returns.size - 1
    assert played.seen.shape == (last + 1, FEATURES[options.variant], 20)
    assert (played.action < played.choices).all() and played.choices.max() <= 20
    legal = torch.arange(20)[None] < torch.from_numpy(played.choices)[:, None]
    with torch.inference_mode():
        log_probs = network(torch.from_numpy(played.seen), legal).numpy()
    np.testing.assert_allclose(played.log_prob, log_probs[np.arange(last + 1), played.action], rtol=1e-5)
    assert (np.bincount(played.group) <= siblings).all() and played.group.max() < 3 * 6 * 2
    assert cost > 0 and random_cost > 0 and (played.returns <= 0).all()
    one_left = played.seen[:, -1, 0] == 0  # no other job is left: the last decision of an episode
    assert played.returns[one_left].sum() == pytest.approx(-cost * 18 * siblings)
    for group in np.unique(played.group):  # siblings choose among as many nodes, at first among the same
        rows = np.flatnonzero(played.group == group)
        assert len(rows) == siblings and len(np.unique(played.choices[rows])) == 1


def test_windows_are_those_of_sequential_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    windows = epoch_windows(TREE, 1, 3, 10)
    assert len(windows) == 100 and windows[0][0].tolist() == list(range(60))
    jobs = published_jobs(450, 1, (1, 10))
    run = run_closed_loop(TREE, jobs, selecting(lambda idle, sizes: sequential_nodes(idle, sizes), 3))
    started = [np.sort(jobs.size[run.start == start]).tolist() for start in np.unique(run.start)]
    assert [np.sort(sizes).tolist() for _, sizes in windows] == started[:100]
    assert max(len(sizes) for _, sizes in windows) == 3
    monkeypatch.setattr(training, "EPOCH_JOBS", 100)
    with pytest.raises(ValueError, match="limit the jobs of a window"):
        epoch_windows(TREE, 1, 3, 10)


def sequential_nodes(idle: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    return list(sequential_allocation(Window(TREE, idle, sizes)).nodes)


def test_windows_of_tests_are_never_trained_on() -> None:
    seeds = [epoch_seed(stream, *rest) for stream in (TRAINING_STREAM, TEST_STREAM) for rest in ((1, 0), (1, 1), (0,))]
    assert len(set(seeds)) == 6 and epoch_seed(1, 2) == epoch_seed(1, 2)


@pytest.mark.parametrize("siblings", [1, 8])
def test_training_beats_random_repairs(siblings: int) -> None:
    """On a small tree, where fifty updates take seconds. Windows are of a stream that was not trained on."""
    options = small_options(
        seen_nodes=30, siblings=siblings, updates=50, passes=20, update_windows=16, window_episodes=8 // siblings + 1
    )
    trained = train_repair(TREE, options, 1)
    windows = epoch_windows(TREE, epoch_seed(TEST_STREAM, 0), None, 10)
    batch = RepairBatch(options.problem(TREE), windows, 30)
    rng = np.random.default_rng(1)
    played = options.model_copy(update={"window_episodes": 20, "siblings": 1})
    _, cost, random_cost = play_repairs(trained.network, batch, played, rng)
    assert cost < 0.98 * random_cost
    assert trained.curve[-1].entropy < trained.curve[0].entropy


def test_random_placing_places_all() -> None:
    options = small_options()
    batch = RepairBatch(options.problem(TREE), [(np.arange(20), np.array([3, 4, 5]))], 20)
    assert place_at_random(batch, np.random.default_rng(1)) == pytest.approx(batch.costs()[0])
    assert batch.done and sum(len(nodes) for nodes in batch.nodes_of(0)) == 12


def test_divergence_is_said() -> None:
    with pytest.raises(ValueError, match="lower the rates"):
        RepairLearner(TREE, small_options(critic_rate=1e30), 1).run_epoch(1)
