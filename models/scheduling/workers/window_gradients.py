"""Derivatives of a clipped step, window by window: whoever replays a window adds the same numbers.

A window's derivatives are float32, as those of models.scheduling.learning.kernel_pass. Windows are added in float64, as multiples of a
grid, so that it makes no difference in which order, and on how many workers.
"""

from __future__ import annotations

import numpy as np

from models.compiled import compiled
from models.scheduling.learning.kernel_pass import ppo_pass

GRID = 2.0**-40
"""What window sums are rounded to: float64 adds multiples of it exactly up to 8,192."""


@compiled
def add_window_gradients(recorded, first_decision, windows, advantage, loss, weights, room, total):
    """Adds the derivatives of the sum over all decisions of some windows to `total`, float64 (parameters,).

    recorded, advantage, loss, weights: as in kernel_pass.ppo_pass. first_decision: int64 (windows + 1,). windows: which of them,
    int64. room: for the derivatives of one window, as a network's arrays, and the same memory as one vector, float32 (parameters,).
    Sums of a window are rounded to GRID, so that adding windows is exact. Returns the sums of approximate KL and entropy, and the
    number of decisions.
    """
    gradients, flat = room
    divergence = entropy = 0.0
    decisions = 0
    for w in windows:
        begin, end = first_decision[w], first_decision[w + 1]
        if begin == end:
            continue
        flat[:] = np.float32(0.0)
        moved, spread = ppo_pass(recorded, advantage, np.arange(begin, end), loss, weights, gradients)
        for k in range(len(flat)):
            total[k] += np.rint(flat[k] / GRID) * GRID
        divergence += np.rint(moved / GRID) * GRID
        entropy += np.rint(spread / GRID) * GRID
        decisions += end - begin
    return divergence, entropy, decisions
