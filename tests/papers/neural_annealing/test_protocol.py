"""The protocol of Neural Simulated Annealing: its windows, its methods, and clusters that methods keep to themselves."""

from __future__ import annotations

import numpy as np
import pytest

from models.allocation.window import Window
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
from simulator.topology.hops import hop_cost
from simulator.topology.tree import regular_tree
from tests.models.allocation.windows import check_allocation


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


def test_costs_per_job_per_node_and_by_epoch() -> None:
    lived = Lived(np.array([2, 6, 30]), np.array([1.0, 3.0, 10.0]), np.array([5, 7, 9]), np.array([0, 0, 1]))
    assert lived.cost_per_node == (2 + 18 + 300) / 38
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
