"""How large the random studies are: small in the suite, large in `python -m benchmarks.random_tests`."""

from __future__ import annotations

import os

FULL = "TRACEHOUSE_FULL_STUDIES"
"""Set in the environment of a run that takes its time."""


def size(usual: int, full: int) -> int:
    """How many examples, kills or deliveries a study has."""
    return full if os.environ.get(FULL) else usual
