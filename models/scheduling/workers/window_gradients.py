"""Derivatives of a clipped step, window by window: whoever replays a window adds the same numbers.

A window's derivatives are float32, as those of models.scheduling.learning.kernel_pass. Windows are added in float64, as multiples of a
grid, so that it makes no difference in which order, and on how many workers.
"""

from __future__ import annotations

import numpy as np

from models.compiled import compiled
from models.scheduling.learning.kernel_pass import ppo_pass


@compiled
def add_window_gradients(recorded, first_decision, windows, advantage, loss, weights, gradients, flat, total, grid):
    """Adds the derivatives of the sum over all decisions of some windows to `total`, float64 (parameters,).

    recorded, advantage, loss, weights: as in kernel_pass.ppo_pass. first_decision: int64 (windows + 1,). windows: which of them,
    int64. gradients: room for those of one window, whose arrays are parts of `flat`, float32 (parameters,). grid: what the sums of a
    window are rounded to, so that adding windows is exact. Returns the sums of approximate KL and entropy, and the number of decisions.
    """
    divergence = entropy = 0.0
    decisions = 0
    for w in windows:
        begin, end = first_decision[w], first_decision[w + 1]
        if begin == end:
            continue
        flat[:] = np.float32(0.0)
        moved, spread = ppo_pass(recorded, advantage, np.arange(begin, end), loss, weights, gradients)
        for k in range(len(flat)):
            total[k] += np.rint(flat[k] / grid) * grid
        divergence += np.rint(moved / grid) * grid
        entropy += np.rint(spread / grid) * grid
        decisions += end - begin
    return divergence, entropy, decisions
