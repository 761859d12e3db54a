"""CMA-ES (Hansen and Ostermeier 2001) for the constants of an order, which the searches of keys and of programs share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def tuned_constants(
    value_of: Callable[[FloatArray], float],
    start: FloatArray,
    spread: float,
    scales: FloatArray,
    seed: int,
    steps: int,
) -> None:
    """Asks `value_of` for the value of about `steps` points, which it makes small. start, scales: (constants,). Callers keep
    the points themselves."""
    import cma

    if not steps:
        return
    search = cma.CMAEvolutionStrategy(
        start, spread, {"CMA_stds": scales, "seed": seed + 1, "maxfevals": steps, "verbose": -9}
    )
    while not search.stop():
        points = search.ask()
        search.tell(points, [value_of(point) for point in points])
