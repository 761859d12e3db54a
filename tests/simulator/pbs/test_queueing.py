"""The order of the queue."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.pbs.queueing import eligible_time
from simulator.pbs.replaying import idle_pbs
from simulator.pbs.settings import PbsPhases
from tests.simulator.pbs_site import asking, pbs_site, starts_on

WAITING = [asking(0, 4, 60), asking(1, 4, 50), asking(2, 4, 20, queue="high"), asking(3, 4, 30, priority=7)]


@pytest.mark.parametrize(
    ("settings", "starts"),
    [
        ({}, [0, 10, 20, 30]),
        ({"by_queue": True}, [0, 20, 10, 30]),
        ({"job_sort_key": '"walltime LOW"'}, [0, 30, 10, 20]),
        ({"job_sort_key": '"job_priority HIGH"'}, [0, 20, 30, 10]),
        ({"job_sort_formula": "queue_priority - walltime"}, [0, 30, 10, 20]),
        ({"job_sort_formula": "eligible_time"}, [0, 10, 20, 30]),
    ],
)
def test_orders(settings: dict[str, str | bool], starts: list[int]) -> None:
    assert starts_on(pbs_site(**settings), WAITING, [10, 10, 10, 10]) == starts


def test_eligible_time_has_what_was_kept_and_what_runs() -> None:
    engine = idle_pbs(pbs_site(), [asking(0, 1, 60)], np.array([0]), PbsPhases())
    engine.waiting.eligible[0], engine.waiting.since[0] = 5, 10
    assert eligible_time(engine.waiting, 0, 30) == 25
