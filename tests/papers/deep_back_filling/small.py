"""A small cluster, a trace for it, and options with which a training takes a second."""

from __future__ import annotations

from typing import Any

from papers.deep_back_filling.options import DeepBackFillingOptions
from tests.simulator.busy import busy_jobs

JOBS = busy_jobs(1200, load=1.2)


def small_options(**changes: Any) -> DeepBackFillingOptions:
    """Episodes of 40 jobs, and small networks."""
    values = {
        "front": 4,
        "back": 2,
        "hidden": (16, 8),
        "placed": 40,
        "later": 150,
        "training_later": 100,
        "episodes": 4,
        "checkpoint_every": 2,
        "save_every": 1,
        "test_episodes": 5,
    }
    return DeepBackFillingOptions(**values | changes)
