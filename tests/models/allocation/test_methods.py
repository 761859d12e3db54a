"""All methods give allocations above their bounds; what they are given by users is refused where it cannot be."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest

import models.allocation.methods as methods
from models.allocation.methods import PLACE_METHODS, PlaceMethod, place_window
from models.allocation.scas import MOST_SCAS_CELLS, scas_cells
from models.allocation.window import Allocation, Window
from simulator.topology.tree import fat_tree, regular_tree
from tests.models.allocation.neural.slow_repairing import small_policy
from tests.models.allocation.test_scas import costs_by_pairs, is_static, least_of_all_assignments
from tests.models.allocation.windows import check_allocation, small_window, window_of_papers_size

POLICY = small_policy("FCN-1", "paper", 20)
FORTY_SIZES = Window(fat_tree(20), np.arange(1000), np.arange(1, 41))


def placed_by(method: PlaceMethod, window: Window, seconds: float = 60.0, seed: int = 1) -> Allocation:
    return place_window(window, method, seconds, seed, POLICY if method == "nsa" else None)


def test_every_name_has_a_solver() -> None:
    assert set(get_args(PlaceMethod)) == set(PLACE_METHODS) == {*methods._SOLVERS, "nsa"}


@pytest.mark.parametrize("method", PLACE_METHODS)
def test_allocations_are_valid_and_not_below_their_bound(method: PlaceMethod) -> None:
    rng = np.random.default_rng(61)
    windows = [window_of_papers_size(rng) for _ in range(6)] + [small_window(rng) for _ in range(40)]
    for window in windows:
        if method == "nsa" and window.tree.levels < 2:
            continue
        allocation = placed_by(method, window)
        check_allocation(window, allocation)
        assert allocation.bound is not None and 0.0 <= allocation.bound <= allocation.cost
        assert allocation.gap is not None and 0.0 <= allocation.gap <= 1.0
        assert allocation.seconds < 10.0, "compiling is not counted"


def test_scas_is_the_least_of_all_assignments() -> None:
    rng = np.random.default_rng(62)
    for _ in range(60):
        window = small_window(rng)
        allocation = place_window(window, "scas")
        assert allocation.cost == pytest.approx(least_of_all_assignments(costs_by_pairs(window), window.sizes.tolist()))
        assert allocation.proven and all(is_static(window, nodes) for nodes in allocation.nodes)


def test_no_method_is_below_the_bound_of_free() -> None:
    rng = np.random.default_rng(63)
    for _ in range(3):
        window = window_of_papers_size(rng)
        bound = placed_by("free", window).bound
        assert bound is not None
        assert all(placed_by(method, window).cost >= bound - 1e-9 for method in PLACE_METHODS)


def test_many_jobs_of_different_sizes_have_a_time_limit() -> None:
    assert scas_cells(FORTY_SIZES) > MOST_SCAS_CELLS
    allocation = place_window(FORTY_SIZES, "scas", seconds=0.01)
    check_allocation(FORTY_SIZES, allocation)
    assert all(is_static(FORTY_SIZES, nodes) for nodes in allocation.nodes)
    assert allocation.bound is not None and 0.0 < allocation.bound <= allocation.cost
    assert allocation.seconds < 10.0


@pytest.mark.parametrize("method", PLACE_METHODS)
def test_the_same_seed_gives_the_same_nodes(method: PlaceMethod) -> None:
    window = window_of_papers_size(np.random.default_rng(64), 12)
    first, second = (placed_by(method, window, seed=5) for _ in range(2))
    assert [nodes.tolist() for nodes in first.nodes] == [nodes.tolist() for nodes in second.nodes]


@pytest.mark.parametrize("method", PLACE_METHODS)
def test_no_job_costs_nothing(method: PlaceMethod) -> None:
    allocation = placed_by(method, Window(regular_tree((4, 2)), np.arange(3), np.array([], dtype=np.int64)))
    assert (allocation.cost, allocation.bound, allocation.gap, allocation.nodes) == (0.0, 0.0, 0.0, ())
    assert allocation.proven


@pytest.mark.parametrize("method", PLACE_METHODS)
def test_hops_of_zero_cost_nothing(method: PlaceMethod) -> None:
    allocation = placed_by(method, Window(regular_tree((2, 3), (0, 0)), np.arange(6), np.array([3, 2])))
    assert allocation.cost == 0.0 and allocation.proven


def test_what_cannot_be_done_is_refused() -> None:
    window = Window(regular_tree((9,)), np.arange(9), np.array([2]))
    for method, seconds, repair, message in (
        ("best", 60.0, None, "unknown method 'best'; expected one of scas, dcas, free, anneal, nsa, tree"),
        ("scas", 0.0, None, "the limit is 0.0 seconds: expected a number above 0"),
        ("free", math.nan, None, "the limit is nan seconds"),
        ("free", math.inf, None, "the limit is inf seconds"),
        ("nsa", 60.0, None, "the method nsa needs a trained network: give one"),
        ("tree", 60.0, POLICY, "the method tree uses no trained network: leave it out"),
        ("nsa", 60.0, POLICY, "the tree needs at least two levels"),
    ):
        with pytest.raises(ValueError, match=message):
            place_window(window, method, seconds, 1, repair)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["scas", "free", "anneal"])
def test_a_window_that_would_fill_the_memory_is_refused(method: PlaceMethod) -> None:
    tree = regular_tree((10, 2000))
    sizes = np.array([10_000, *[1] * 10_000] if method == "anneal" else [15_000] if method == "free" else range(1, 200))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "MOST_PLACING_CELLS", 1 << 24)
        window = Window(tree, np.arange(tree.nodes), sizes)
        with pytest.raises(ValueError, match=f"too many for the method {method}: use dcas or tree"):
            placed_by(method, window)


def test_a_very_large_window_has_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "MOST_PLACING_CELLS", 10)
    allocation = placed_by("dcas", Window(regular_tree((3, 3)), np.arange(9), np.array([4, 3])))
    assert allocation.bound is None and allocation.gap is None and not allocation.proven
