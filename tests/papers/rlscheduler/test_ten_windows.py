"""The ten published windows judge alone."""

from __future__ import annotations

from papers.rlscheduler.ten_windows import PUBLISHED_LENGTH, PUBLISHED_WINDOWS, published_split


def test_published_windows_are_kept_apart() -> None:
    for jobs in (10_000, 12_000):
        split = published_split(jobs, 256)
        taken = {k for start in PUBLISHED_WINDOWS for k in range(start, start + PUBLISHED_LENGTH)}
        learned = {k for first in split.learn.first for k in range(first, first + 256)}
        chosen = {k for first in split.choose.first for k in range(first, first + 256)}
        assert learned and chosen and not learned & taken and not chosen & taken and not learned & chosen
        assert max(learned | chosen) < jobs


def test_all_of_the_published_jobs_may_be_seen_as_in_the_paper() -> None:
    split = published_split(12_000, 256, seen=True)
    assert split.learn.first.max() == 10_000 - 256 and len(split.learn) == 10_000 - 255
