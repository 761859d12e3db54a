"""Whether anything can be learned from a source."""

from __future__ import annotations

import sql
from warehouse import Warehouse, first_row

LEAST_JOBS = 300
"""Fewer jobs leave too few windows to train a policy on and to compare on. Measured on cut traces."""


def nothing_to_learn(warehouse: Warehouse, source: str, least_jobs: int) -> str | None:
    """Why nothing can be learned from a source, with what works nevertheless. None where something can.

    Training splits the log, never before its middle. So all assets that learn are passed over together."""
    lacking = what_learning_lacks(warehouse, source, least_jobs)
    if lacking is None:
        return None
    return f"source {source!r}: {lacking}; `tracehouse replay {source} --policy SAF` works with any number"


def why_no_model(warehouse: Warehouse, source: str) -> str:
    """Why a source has no run-time model: what its log lacks, else which command trains one."""
    with warehouse.read() as connection:
        is_loaded = first_row(connection, "SELECT 1 FROM core.sources WHERE source = ?", [source]) is not None
    lacking = what_learning_lacks(warehouse, source, LEAST_JOBS) if is_loaded else None
    return lacking or f"`tracehouse run {source}{' --job train' if is_loaded else ''}` trains one"


def what_learning_lacks(warehouse: Warehouse, source: str, least_jobs: int) -> str | None:
    """What a source lacks to be learned from: it has fewer jobs, or none of them had ended in time. None where it lacks nothing."""
    with warehouse.read() as connection:
        row = first_row(connection, sql.load("features.learnable_jobs"), {"source": source})
    jobs, ended = row or (0, 0)
    if jobs < least_jobs:
        return f"{jobs} jobs with a known run time are too few to learn from, at least {least_jobs:,} are needed"
    if least_jobs >= LEAST_JOBS and not ended:
        return f"no job had ended when half of its {jobs:,} jobs had been submitted, so that there is nothing to learn from"
    return None
