"""By which factor a job is ahead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.slurm.replaying import Phases, new_replay
from simulator.slurm.waiting.ahead import AGE, EARLIER, JOB_SIZE, OTHER, QOS, leading_factor
from tests.simulator.slurm_site import SITE, columns_of
from traces.cluster.description import SchedulerSettings

ONE = Request(0, limit_s=600, tasks=1, qos="normal")


@pytest.mark.parametrize(
    ("first", "weights", "factor"),
    [
        (ONE, {}, EARLIER),
        (replace(ONE, qos="few"), {"qos": 10, "age": 10}, QOS),
        (replace(ONE, tasks=16, min_nodes=4, max_nodes=4), {"qos": 10, "jobsize": 10}, JOB_SIZE),
        (replace(ONE, submit_s=-86_400), {"age": 100, "jobsize": 1}, AGE),
        (replace(ONE, nice=-50), {"age": 100}, OTHER),
        (replace(ONE, priority=7), {"age": 100}, OTHER),
    ],
)
def test_it_is_the_factor_with_the_largest_lead(first: Request, weights: dict[str, int], factor: int) -> None:
    values = {f"priorityweight{name}": weight for name, weight in weights.items()}
    values["prioritymaxage"] = 86_400
    site = replace(
        SITE, scheduler=SchedulerSettings("slurm", "22.05", {"prioritytype": "priority/multifactor"} | values)
    )
    arrays, columns = cluster_arrays(site), columns_of([first, ONE], site)
    replay = new_replay(site, arrays, columns, np.full(2, 60), Phases())
    replay.eligible[:] = columns.submit + 86_400
    assert leading_factor(replay, 0, 1, 0, 86_400) == factor
