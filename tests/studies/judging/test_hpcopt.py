"""The comparison with HPCOpt's leaderboard: its measure by hand, and figures that were measured independently."""

from __future__ import annotations

import numpy as np
import pytest

import tracehouse
from assets.policies.verdicts import judged_replays
from studies.judging.hpcopt import RIVAL_LOGS, RULES, cells_of, high_slowdown
from tests.shared import shared_file


def test_short_jobs_count_as_a_minute() -> None:
    # slowdowns 1.5, 2, 3 and 7: rank 0.95 * 3 = 2.85 lies between the last two
    wait, runtime = np.array([30.0, 60.0, 200.0, 360.0]), np.array([60, 60, 100, 1])
    assert high_slowdown(wait, runtime) == pytest.approx(3 + 0.85 * (361 / 60 - 3))


@pytest.mark.parametrize(
    ("name", "figure", "mean_wait_h"), [("SDSC-SP2", 109.0, 18.10), ("CTC-SP2", 2.57, 0.16), ("HPC2N", 13.82, 1.83)]
)
def test_smallest_area_first_is_as_measured_before(name: str, figure: float, mean_wait_h: float) -> None:
    rival = RIVAL_LOGS[name]
    trace = tracehouse.load_log(shared_file("traces", "swf", rival.file), procs=rival.procs).trace()
    (rule,) = (rule for rule in RULES if rule.name == "SAF")
    ((replayed, _),) = judged_replays(trace, [rule], 0)
    measure, mean_wait, longest = cells_of(replayed).split(" | ")
    assert float(measure) == pytest.approx(figure, abs=0.006)
    assert float(mean_wait) == pytest.approx(mean_wait_h, abs=0.006)
    assert float(longest) > float(mean_wait) / 24
