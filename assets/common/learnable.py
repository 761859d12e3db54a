"""Whether anything can be learned from a source."""

from __future__ import annotations

import sql
from warehouse import Warehouse, first_row

LEAST_JOBS = 300
"""Fewer jobs leave too few windows to train a policy on and to compare on. Measured on cut traces."""


def nothing_to_learn(warehouse: Warehouse, source: str, least_jobs: int) -> str | None:
    """Why nothing can be learned from a source: it has fewer jobs, or none of them had ended in time. None where something can.

    Training splits the log, never before its middle. So all assets that learn are passed over together."""
    with warehouse.read() as connection:
        row = first_row(connection, sql.load("features.learnable_jobs"), {"source": source})
    jobs, ended = row or (0, 0)
    if jobs < least_jobs:
        why_not = f"{jobs} jobs with a known run time are too few to learn from, at least {least_jobs:,} are needed"
    elif least_jobs >= LEAST_JOBS and not ended:
        why_not = f"no job had ended when half of its {jobs:,} jobs had been submitted, so that there is nothing to learn from"
    else:
        return None
    return f"source {source!r}: {why_not}; `tracehouse replay {source} --policy SAF` works with any number"
