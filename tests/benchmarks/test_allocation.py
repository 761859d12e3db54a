"""Windows of the closed loop, and the order of the methods on them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.allocation import (
    BIG_IDLE,
    BIG_JOBS,
    METHODS,
    MOST_JOBS,
    REFERENCE,
    TREES,
    big_windows,
    relative_cost,
    windows_of,
)
from tests.models.allocation.windows import check_allocation


def test_the_windows_are_those_of_a_closed_loop() -> None:
    tree, integer = TREES["paper's"]
    windows = list(windows_of(tree, integer, epochs=2, windows=60))
    again = list(windows_of(tree, integer, epochs=1, windows=60))
    assert len(windows) == 120 and len(again) == 60
    assert all((one.idle == other.idle).all() for one, other in zip(windows, again, strict=False))
    assert len(windows[0].idle) == len(windows[60].idle) == 1000  # an epoch begins with an empty cluster
    assert max(len(window.sizes) for window in windows) == MOST_JOBS
    assert min(window.sizes.min() for window in windows) >= 1 and max(window.sizes.max() for window in windows) <= 40
    assert np.mean([len(window.idle) for window in windows[40:60]]) < 200  # the load is above 1


@pytest.mark.parametrize("name", list(TREES))
def test_methods_are_ordered_as_in_the_reference(name: str) -> None:
    tree, integer = TREES[name]
    windows = list(windows_of(tree, integer, epochs=2, windows=60))
    for seed, window in enumerate(windows[::10]):
        for solve in METHODS.values():
            check_allocation(window, solve(window, seed))
    costs = [relative_cost(windows, method) for method in REFERENCE]
    assert costs == sorted(costs, reverse=True) and costs[0] < -0.03 and costs[-1] < -0.08


def test_big_windows_have_room_for_all_jobs() -> None:
    for window in big_windows().values():
        assert len(window.sizes) == BIG_JOBS and window.sizes.sum() <= BIG_IDLE <= len(window.idle)
