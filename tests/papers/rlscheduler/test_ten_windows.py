"""Tests of papers/rlscheduler: ten_windows, windows."""

from __future__ import annotations

import numpy as np
import pytest

from papers.rlscheduler.rules import replay_rlscheduler, rlscheduler_inputs
from papers.rlscheduler.ten_windows import PUBLISHED_LENGTH, PUBLISHED_WINDOWS, published_split
from papers.rlscheduler.windows import replay_range
from simulator.policies.sampling import no_recorder
from tests.simulator.busy import PROCS, busy_jobs

# ten_windows: The ten published windows judge alone.


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


# windows: Windows of the RLScheduler rules replayed together give what each gives alone.


@pytest.mark.parametrize("backfill", [False, True])
def test_each_window_starts_as_if_it_were_alone(backfill: bool) -> None:
    jobs, first, length = busy_jobs(120), np.array([0, 17, 60]), 50
    inputs = rlscheduler_inputs(jobs, PROCS, "SJF", backfill)
    start = np.zeros((len(first), length), dtype=np.int64)
    backfilled = np.ones((len(first), length), dtype=np.bool_)
    replay_range(*inputs, no_recorder(), first, start, backfilled)
    for k, position in enumerate(first.tolist()):
        alone = replay_rlscheduler(jobs.window(position, length), PROCS, "SJF", backfill)
        assert start[k].tolist() == alone.start.tolist()
        assert backfilled[k].tolist() == alone.backfilled.tolist()
    assert backfilled.any() == backfill
