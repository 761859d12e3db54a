"""The order of the methods on the windows of the closed loop."""

from __future__ import annotations

import pytest

from papers.neural_annealing.protocol import allocated
from papers.neural_annealing.single_windows import (
    BIG_IDLE,
    BIG_JOBS,
    REFERENCE_COSTS,
    WINDOW_CLUSTERS,
    WINDOW_METHODS,
    big_windows,
    relative_cost,
    windows_of,
)
from tests.models.allocation.windows import check_allocation


@pytest.mark.parametrize("name", list(WINDOW_CLUSTERS))
def test_methods_are_ordered_as_in_the_reference(name: str) -> None:
    windows = list(windows_of(WINDOW_CLUSTERS[name], epochs=2, windows=60))
    for seed, window in enumerate(windows[::10]):
        for method in WINDOW_METHODS.values():
            check_allocation(window, allocated(window, method, seed))
    costs = [relative_cost(windows, method) for method in REFERENCE_COSTS]
    assert costs == sorted(costs, reverse=True) and costs[0] < -0.03 and costs[-1] < -0.08


def test_big_windows_have_room_for_all_jobs() -> None:
    for window in big_windows().values():
        assert len(window.sizes) == BIG_JOBS and window.sizes.sum() <= BIG_IDLE <= len(window.idle)
