"""Windows of the RLScheduler rules replayed together give what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest

from papers.rlscheduler.rules import replay_rlscheduler, rlscheduler_inputs
from papers.rlscheduler.windows import replay_range
from simulator.policies.sampling import no_recorder
from tests.simulator.busy import PROCS, busy_jobs


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
