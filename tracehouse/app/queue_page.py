"""The page of `tracehouse queue` (look/queue.html): one file, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from assets.pages.look.templates import fill
from assets.pages.words import duration_text

LONGEST_SHOWN_S = 7 * 86_400
"""The axis of the starts ends here at the latest."""


def queue_page(source: str, lines: Sequence[str], rows: pl.DataFrame, every_s: int | None = None) -> str:
    """The whole document. lines: what holds for all jobs, the moment first. rows: of a `tracehouse.queue.QueueAnswer`, jobs without a start
    last. every_s: seconds after which a browser loads the page again, None for never."""
    has_starts = "start_p50_s" in rows.columns
    jobs = rows.sort("start_p50_s", nulls_last=True, maintain_order=True).to_dicts() if has_starts else rows.to_dicts()
    ends = [job["start_p90_s"] for job in jobs if job.get("start_p90_s") is not None]
    longest = min(max([*ends, 60]), LONGEST_SHOWN_S)
    return fill(
        "queue.html",
        source=source,
        lines=lines,
        jobs=[_row(job, longest) for job in jobs],
        longest=duration_text(longest),
        has_causes="why" in rows.columns,
        every_s=every_s,
    )


def _row(job: dict[str, Any], longest: float) -> dict[str, Any]:
    """The cells of a job. bar: where its interval begins, how wide it is, and its median, in percent of the axis."""
    bar, starts = None, job["not_predicted"] or "no start"
    if job.get("start_p50_s") is not None:
        seconds = (job[f"start_{end}_s"] for end in ("p10", "p50", "p90"))
        low, median, high = (100 * min(longest if second is None else second, longest) / longest for second in seconds)
        bar, starts = (low, high - low, median), job["start_p50"]
    return {
        "job": job["job"],
        "user": job["user"] or "",
        "procs": f"{job['procs']:,}",
        "waited": duration_text(job["waited_s"]),
        "requested": "" if job["requested_s"] is None else duration_text(job["requested_s"]),
        "starts": starts,
        "bar": bar,
        "interval": "" if bar is None else f"{job['start_p10']} to {job['start_p90'] or 'later'}",
        "why": why_words(job),
    }


def why_words(job: Mapping[str, Any]) -> str:
    """What keeps a job, with the job that it is behind, or the limit. "" where nothing says so."""
    owner = f" of {job['behind_user']}" if job.get("behind_user") else ""
    behind = f": job {job['behind_job']}{owner}" if job.get("behind_job") else ""
    limit = f": {job['limit']}" if job.get("limit") else ""
    return f"{job.get('why') or ''}{behind}{limit}"
