"""Tests of papers/neural_annealing: integer_program, protocol, topology, training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
import pytest
import torch

from models.allocation.neural.repair_networks import RepairActorCritic
from models.allocation.neural.repairing import FEATURES, RepairBatch
from models.allocation.scas import scas_allocation
from models.allocation.window import Window, sequential_allocation
from papers.neural_annealing import training
from papers.neural_annealing.integer_program import (
    ROWS_OF_TABLE_4,
    Answer,
    _completed,
    program_allocation,
    program_table,
)
from papers.neural_annealing.protocol import (
    ALLOCATION_METHODS,
    ANNEALERS,
    LOOP_SIZES,
    PUBLISHED_CLUSTERS,
    Lived,
    allocated,
    alone_costs,
    live,
    published_windows,
    solving,
)
from papers.neural_annealing.topology import TopologyConfig, topology
from papers.neural_annealing.training import (
    TEST_STREAM,
    TRAINING_STREAM,
    RepairLearner,
    RepairOptions,
    RepairUpdate,
    TrainedRepair,
    epoch_seed,
    epoch_windows,
    place_at_random,
    play_repairs,
    train_repair,
)
from simulator.topology.closed_loop import published_jobs, run_closed_loop, selecting
from simulator.topology.tree import hop_cost, regular_tree
from tests.models.allocation.windows import check_allocation
from tests.papers.experiment_runs import rows
from warehouse import Warehouse

# integer_program: The paper's integer program on small windows: its optimum is ours, and every limit gives nodes for
# all jobs.

TREE = regular_tree((4, 3, 4))


def windows() -> list[Window]:
    """Idle nodes at random, with and without room to spare, costs in whole hops and in parts."""
    rng = np.random.default_rng(5)
    chosen = []
    for k in range(8):
        idle = np.sort(rng.permutation(TREE.nodes)[: int(rng.integers(12, 30))])
        sizes = rng.integers(1, 6, int(rng.integers(1, 4)))
        chosen.append(Window(TREE, idle, sizes, integer=k % 2 == 0))
    return [*chosen, Window(TREE, np.arange(0, 20, 2), np.array([4, 3, 3])), Window(TREE, np.arange(5), np.array([5]))]


def test_its_optimum_is_that_of_the_dynamic_program() -> None:
    gained = 0
    for window in windows():
        allocation, left_out = program_allocation(window, 60.0)
        check_allocation(window, allocation)
        assert left_out == 0 and allocation.proven and allocation.gap == pytest.approx(0, abs=1e-6)
        assert allocation.cost == pytest.approx(scas_allocation(window).cost)
        gained += allocation.cost < sequential_allocation(window).cost
    assert gained >= 3


def test_without_time_there_are_nodes_for_all_jobs_and_an_honest_gap() -> None:
    window = Window(regular_tree((10, 10, 10)), np.arange(0, 1000, 3), np.array([31, 40, 17, 25]))
    answer = program_allocation(window, 1e-9)
    check_allocation(window, answer.allocation)
    assert answer.left_out == 4 and answer.allocation.nodes[0].tolist() == window.idle[:31].tolist()
    assert not answer.allocation.proven and answer.allocation.bound is not None and answer.allocation.gap is not None
    assert answer.allocation.bound <= scas_allocation(window).cost <= answer.allocation.cost
    with pytest.raises(ValueError, match="more than 0 seconds"):
        program_allocation(window, 0.0)


def test_jobs_that_are_left_out_get_the_first_nodes_left() -> None:
    window = Window(TREE, np.arange(1, 11), np.array([3, 2, 4]))
    nodes = _completed(window, np.array([-1, 2, -1]))
    assert [job.tolist() for job in nodes] == [[1, 2, 5], [3, 4], [6, 7, 8, 9]]


def test_the_table_has_the_paper_and_four_solvers_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def left_out_at_first(window: Window, seconds: float) -> Answer:
        calls.append(seconds)
        nodes = list(sequential_allocation(window).nodes)
        return Answer(window.allocation(nodes, 5.0, 0.0), 1) if seconds == 5.0 else Answer(scas_allocation(window))

    monkeypatch.setattr("papers.neural_annealing.integer_program.program_allocation", left_out_at_first)
    lines = program_table(1, 12, 4, 5.0).splitlines()
    assert len(lines) == 2 + len(ROWS_OF_TABLE_4) + 2 * 4 and set(calls) == {5.0, 3600.0}
    limited, unlimited = lines[6], lines[5]
    assert "| x, y, HiGHS, 5 s |" in limited and "| +0.0% |" in limited and "| 0% | 100.00% |" in limited
    assert "| x, y, HiGHS, without limit |" in unlimited and "| 100% | 0.00% |" in unlimited


# protocol: The protocol of Neural Simulated Annealing: its windows, its methods, and clusters that methods keep to
# themselves.


def test_the_windows_are_those_of_a_closed_loop() -> None:
    cluster = PUBLISHED_CLUSTERS["paper"]
    epochs = [list(published_windows(cluster, 60, 5, 0, epoch)) for epoch in (0, 1, 0)]
    assert [len(epoch) for epoch in epochs] == [60] * 3
    same, other = (
        [one.idle.tolist() == two.idle.tolist() for one, two in zip(epochs[0], epoch, strict=True)]
        for epoch in (epochs[2], epochs[1])
    )
    assert all(same) and not all(other)
    assert len(epochs[0][0].idle) == len(epochs[1][0].idle) == 1000  # an epoch begins with an empty cluster
    sizes = [window.sizes for epoch in epochs for window in epoch]
    assert (
        max(map(len, sizes)) == 5 and min(size.min() for size in sizes) >= 1 and max(size.max() for size in sizes) <= 40
    )
    assert np.mean([len(window.idle) for window in epochs[0][40:]]) < 200  # the load is above 1
    again = next(published_windows(cluster, 60, 5, 1, 0))
    assert again.sizes.tolist() != epochs[0][0].sizes.tolist()


def test_every_method_places_all_jobs_of_a_window() -> None:
    window = Window(regular_tree((4, 3, 4)), np.arange(1, 40, 2), np.array([5, 3, 4, 2]))
    costs = {}
    for method in ALLOCATION_METHODS:
        allocation = allocated(window, method, 3)
        check_allocation(window, allocation)
        assert allocation.cost == allocated(window, method, 3).cost
        costs[method] = allocation.cost
    assert costs["SCAS, exact"] < costs["sequential"] == max(costs.values())
    assert costs["free"] <= costs["SCAS, exact"]
    with pytest.raises(KeyError, match="fastest"):
        allocated(window, "fastest", 3)


def test_the_three_annealers_differ_in_what_the_paper_and_the_code_say() -> None:
    assert len(ANNEALERS) == 6
    assert {name: (rules.undo, rules.largest_first) for name, rules in ANNEALERS.items() if rules.steps == 500} == {
        "SA-500 as published": (False, False),
        "SA-500 with undo": (True, False),
        "SA-500 by the paper's rules": (True, True),
    }


def test_costs_per_job_and_by_epoch() -> None:
    lived = Lived(np.array([2, 6, 30]), np.array([1.0, 3.0, 10.0]), np.array([5, 7, 9]), np.array([0, 0, 1]))
    assert lived.cost_of_epochs().tolist() == [2.0, 10.0]
    assert lived.of_class(2, 10).wait.tolist() == [5, 7]
    assert lived.where(lived.epoch == 1).size.tolist() == [30]


def test_methods_start_the_same_jobs_and_the_optimum_is_below_the_first_nodes() -> None:
    cluster = PUBLISHED_CLUSTERS["code"]
    names = ("sequential", "tree, one job at a time", "SA-1000 as published", "SCAS, exact", "free")
    lived = {name: live(cluster, solving(cluster.tree, name, 5, 300), range(2), 120) for name in names}
    waits = [part.wait.tolist() for part in lived.values()]
    assert all(wait == waits[0] for wait in waits)
    assert (lived["SCAS, exact"].cost_of_epochs() < lived["sequential"].cost_of_epochs()).all()
    again = live(cluster, solving(cluster.tree, "free", 5, 300), range(2), 120)
    assert np.array_equal(again.cost, lived["free"].cost)
    assert lived["free"].size.min() >= LOOP_SIZES[0] and lived["free"].size.max() <= LOOP_SIZES[1]
    assert (alone_costs(cluster, lived["free"].size.tolist()) <= lived["free"].cost + 1e-6).all()


def test_a_job_alone_costs_what_the_first_nodes_cost() -> None:
    cluster = PUBLISHED_CLUSTERS["paper"]
    expected = [1000 * hop_cost(cluster.tree, np.arange(size)) for size in (2, 13)]
    assert alone_costs(cluster, [2, 13]) == pytest.approx(expected)
    assert alone_costs(PUBLISHED_CLUSTERS["code"], [2]) == pytest.approx([500.0])  # a hop in one of two nodes


# topology: The asset of Neural Simulated Annealing's protocol: its rows, which need no source, and what it refuses.

FEW: dict[str, Any] = {"methods": ["free", "SCAS, exact"], "epochs": 2, "windows": 8, "jobs": 60}


def make(warehouse: Warehouse, **config: Any) -> dg.MaterializeResult:
    result = topology(dg.build_asset_context(), TopologyConfig(**FEW | config), warehouse)
    assert isinstance(result, dg.MaterializeResult)
    return result


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "w.duckdb")


def test_rows_are_those_of_the_protocol(warehouse: Warehouse) -> None:
    result = make(warehouse)
    made = rows(warehouse, "topology")
    assert made.height == 2 * 2 * (3 + 4) and result.metadata is not None
    assert {"window", "closed_loop", "costs"} <= set(result.metadata) and result.metadata[
        "dagster/row_count"
    ] == made.height
    cluster = PUBLISHED_CLUSTERS["code"]
    expected = live(cluster, solving(cluster.tree, "free", 5, 60), range(2), 60)
    free = made.filter(tree="code", protocol="closed_loop", method="free").sort("epoch")
    assert free["cost"].to_list() == pytest.approx(expected.cost_of_epochs().tolist())
    assert free["average_wait_s"].to_list() == [expected.where(expected.epoch == k).wait.mean() for k in (0, 1)]
    assert free["max_wait_s"].max() == expected.wait.max() and set(free["cases"]) == {60}
    for (_, protocol), part in made.group_by("tree", "protocol"):
        shares = dict(part.group_by("method").agg(pl.col("of_sequential").mean()).iter_rows())
        assert shares["sequential"] == 1 and shares["SCAS, exact"] < 1
        assert protocol == "window" or shares["ideal"] < shares["free"]
    alone = made.filter((pl.col("protocol") == "window") | (pl.col("method") == "ideal"))
    assert alone["average_wait_s"].null_count() == alone.height


def test_the_same_settings_give_the_same_rows_and_a_tree_replaces_its_own(warehouse: Warehouse) -> None:
    make(warehouse)
    first = rows(warehouse, "topology")
    make(warehouse)
    assert rows(warehouse, "topology").sort(pl.all()).equals(first.sort(pl.all()))
    make(warehouse, trees=["paper"], seed=3, jobs=0)
    after = rows(warehouse, "topology")
    assert after.filter(tree="code").sort(pl.all()).equals(first.filter(tree="code").sort(pl.all()))
    assert set(after.filter(tree="paper")["seed"]) == {3} and set(after.filter(tree="paper")["protocol"]) == {"window"}


def test_it_runs_without_a_partition_and_tells_what_it_does(
    warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"ops": {"experiments__topology": {"config": FEW | {"trees": ["code"], "most_jobs": 0, "windows": 0}}}}
    with dg.instance_for_test() as instance:
        assert dg.materialize(
            [topology], instance=instance, resources={"warehouse": warehouse}, run_config=config
        ).success
        messages = [
            record.user_message for record in instance.all_logs(instance.get_run_records()[0].dagster_run.run_id)
        ]
    assert sum(message.startswith("code, closed_loop, ") for message in messages) == 4
    assert set(rows(warehouse, "topology")["method"]) == {"sequential", "free", "SCAS, exact", "ideal"}


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"methods": ["fastest"]}, "fastest"),
        ({"trees": ["torus"]}, "torus"),
        ({"windows": 0, "jobs": 0}, "nothing to compute"),
    ],
)
def test_settings_are_refused_before_anything_is_written(
    warehouse: Warehouse, config: dict[str, Any], says: str
) -> None:
    with pytest.raises(dg.Failure, match=says):
        make(warehouse, **config)
    assert not warehouse.exists()


# training: Training of the repair operator: seeds, interruptions, what is recorded, and that it learns.

TREE_OF_TRAINING = regular_tree((4, 3, 5))


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
    one, same, other = (train_repair(TREE_OF_TRAINING, options, seed) for seed in (1, 1, 2))
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
    whole = train_repair(TREE_OF_TRAINING, options, 3)

    def interrupt(report: RepairUpdate) -> None:
        if report.episodes == (after + 1) * 120:
            raise Interrupted

    path = tmp_path / "training.pt"
    with pytest.raises(Interrupted):
        train_repair(TREE_OF_TRAINING, options, 3, path, interrupt)
    rows: list[RepairUpdate] = []
    assert_same(train_repair(TREE_OF_TRAINING, options, 3, path, rows.append), whole)
    assert rows == whole.curve
    other = train_repair(TREE_OF_TRAINING, small_options(save_every=2, update_windows=60, gamma=0.9), 3, path)
    assert other.curve[-1] != whole.curve[-1]  # the file is of another training


def test_more_updates_go_on_where_fewer_ended(tmp_path: Path) -> None:
    path = tmp_path / "training.pt"
    train_repair(TREE_OF_TRAINING, small_options(updates=2, save_every=9), 1, path)
    longer = train_repair(TREE_OF_TRAINING, small_options(), 1, path)
    assert_same(longer, train_repair(TREE_OF_TRAINING, small_options(), 1))
    with pytest.raises(ValueError, match="has 4 updates of this training"):
        train_repair(TREE_OF_TRAINING, small_options(updates=3), 1, path)


@pytest.mark.parametrize("variant", ["paper", "code"])
@pytest.mark.parametrize("siblings", [1, 4])
def test_what_is_recorded(variant: str, siblings: int) -> None:
    options = small_options(variant=variant, siblings=siblings, window_episodes=3)
    windows = epoch_windows(TREE_OF_TRAINING, 1, options.most_jobs, 10)[:6]
    batch = RepairBatch(options.problem(TREE_OF_TRAINING), windows, options.seen_nodes)
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
    windows = epoch_windows(TREE_OF_TRAINING, 1, 3, 10)
    assert len(windows) == 100 and windows[0][0].tolist() == list(range(60))
    jobs = published_jobs(450, 1, (1, 10))
    run = run_closed_loop(TREE_OF_TRAINING, jobs, selecting(lambda idle, sizes: sequential_nodes(idle, sizes), 3))
    started = [np.sort(jobs.size[run.start == start]).tolist() for start in np.unique(run.start)]
    assert [np.sort(sizes).tolist() for _, sizes in windows] == started[:100]
    assert max(len(sizes) for _, sizes in windows) == 3
    monkeypatch.setattr(training, "EPOCH_JOBS", 100)
    with pytest.raises(ValueError, match="limit the jobs of a window"):
        epoch_windows(TREE_OF_TRAINING, 1, 3, 10)


def sequential_nodes(idle: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    return list(sequential_allocation(Window(TREE_OF_TRAINING, idle, sizes)).nodes)


def test_windows_of_tests_are_never_trained_on() -> None:
    seeds = [epoch_seed(stream, *rest) for stream in (TRAINING_STREAM, TEST_STREAM) for rest in ((1, 0), (1, 1), (0,))]
    assert len(set(seeds)) == 6 and epoch_seed(1, 2) == epoch_seed(1, 2)


@pytest.mark.parametrize("siblings", [1, 8])
def test_training_beats_random_repairs(siblings: int) -> None:
    """On a small tree, where fifty updates take seconds. Windows are of a stream that was not trained on."""
    options = small_options(
        seen_nodes=30, siblings=siblings, updates=50, passes=20, update_windows=16, window_episodes=8 // siblings + 1
    )
    trained = train_repair(TREE_OF_TRAINING, options, 1)
    windows = epoch_windows(TREE_OF_TRAINING, epoch_seed(TEST_STREAM, 0), None, 10)
    batch = RepairBatch(options.problem(TREE_OF_TRAINING), windows, 30)
    rng = np.random.default_rng(1)
    played = options.model_copy(update={"window_episodes": 20, "siblings": 1})
    _, cost, random_cost = play_repairs(trained.network, batch, played, rng)
    assert cost < 0.98 * random_cost
    assert trained.curve[-1].entropy < trained.curve[0].entropy


def test_random_placing_places_all() -> None:
    options = small_options()
    batch = RepairBatch(options.problem(TREE_OF_TRAINING), [(np.arange(20), np.array([3, 4, 5]))], 20)
    assert place_at_random(batch, np.random.default_rng(1)) == pytest.approx(batch.costs()[0])
    assert batch.done and sum(len(nodes) for nodes in batch.nodes_of(0)) == 12


def test_divergence_is_said() -> None:
    with pytest.raises(ValueError, match="lower the rates"):
        RepairLearner(TREE_OF_TRAINING, small_options(critic_rate=1e30), 1).run_epoch(1)
