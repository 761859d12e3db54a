"""A small training, and what makes two of them the same."""

from __future__ import annotations

import numpy as np

from models.scheduling.learning.evolution import flatten
from models.scheduling.learning.training import TrainedPolicy
from models.scheduling.options import PPOOptions

QUICK = PPOOptions(epochs=3, filtered_epochs=1, trajectories=24, minibatch=0)


def same(ours: TrainedPolicy, theirs: TrainedPolicy) -> bool:
    """Whether weights and curves are the same bits."""
    return ours.curve == theirs.curve and np.array_equal(flatten(ours.weights), flatten(theirs.weights))
