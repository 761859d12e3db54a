"""Every replayer of the simulator gives the schedule of what it stands for, and nothing that it was not asked for."""

from __future__ import annotations

import numpy as np
import pytest

from papers.rlscheduler.rules import RLSchedulerReplayer, replay_rlscheduler
from simulator.engine.replay import OrderReplayer, replay
from simulator.jobs.cluster import Cluster, Outages
from simulator.partitions import PartitionReplayer
from simulator.replayer import BY_ORDER, Outcome, Replayer
from simulator.topology.switches import Switches, SwitchReplayer
from simulator.topology.tree import regular_tree
from simulator.topology.units import node_units
from tests.simulator.busy import PROCS, busy_jobs

JOBS = busy_jobs(300)
ORDER = OrderReplayer("SAF", "easy-sjbf", "doubling")
AS_ORDER = replay(JOBS, PROCS, "SAF", "easy-sjbf", correction="doubling")


@pytest.mark.parametrize(
    ("replayer", "expected"),
    [
        (ORDER, AS_ORDER),
        (PartitionReplayer(ORDER, np.zeros(len(JOBS), dtype=np.int64), [PROCS, 0]), AS_ORDER),
        (SwitchReplayer(ORDER, node_units(regular_tree((PROCS,))), Switches(1, 600)), AS_ORDER),
        (RLSchedulerReplayer("WFP3", True, False), replay_rlscheduler(JOBS, PROCS, "WFP3", True, False)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_schedule_is_that_of_its_rules(replayer: Replayer, expected: object) -> None:
    outcome = replayer.replay(JOBS, Cluster(PROCS))
    assert isinstance(outcome, Outcome) and outcome.counts == {}
    assert outcome.schedule.start.tolist() == expected.start.tolist()  # type: ignore[attr-defined]
    assert outcome.schedule.backfilled.tolist() == expected.backfilled.tolist()  # type: ignore[attr-defined]
    assert (outcome.placement is not None) == isinstance(replayer, SwitchReplayer)


def test_an_order_honours_the_outages_that_it_names() -> None:
    assert OrderReplayer.honours > BY_ORDER and "outages" in OrderReplayer.honours - PartitionReplayer.honours
    begin = int(JOBS.submit[0])
    half = Cluster(PROCS, outages=Outages(*np.array([[begin], [begin + 100_000], [PROCS // 2], [begin]])))
    outcome = ORDER.replay(JOBS, half)
    expected = replay(JOBS, half, "SAF", "easy-sjbf", correction="doubling")
    assert outcome.schedule.start.tolist() == expected.start.tolist() != AS_ORDER.start.tolist()
