"""Which jobs of a log no replay has, in words."""

from __future__ import annotations

from collections.abc import Mapping

REASONS = {
    "jobs_left_before_start": "that left the queue without a start",
    "jobs_still_waiting": "that had not started when the log ended",
    "jobs_left_out": "without a run time or processors in the log",
    "jobs_wider_than_cluster": "wider than the cluster",
    "jobs_of_queues_left_out": "of queues that are left out",
}
"""Counts of a replay, and what such jobs are."""


def left_out_text(counts: Mapping[str, int]) -> str:
    """Such as "left out: 12 jobs wider than the cluster". Empty where every job of the log is replayed."""
    others = counts.get("jobs_left_out", 0) - counts.get("jobs_left_before_start", 0)  # each job has one reason
    counts = {**counts, "jobs_left_out": others}
    parts = [
        f"{counts[name]:,} {'job' if counts[name] == 1 else 'jobs'} {why}"
        for name, why in REASONS.items()
        if counts.get(name, 0) > 0
    ]
    return f"left out: {', '.join(parts)}" if parts else ""


def freed_words(count: int, waits: str = "") -> str:
    """That so many jobs, which never started in the log, take part in a replay. waits: how long they wait, in words that follow."""
    jobs, they, start = ("job", "it", "starts") if count == 1 else ("jobs", "they", "start")
    kept = f"{count:,} {jobs} that a limit kept in the log until {they} left the queue or the log ended {start}{waits}"
    return f"{kept}. Their run times are predicted, and all other waits are of the other jobs"
