"""Which way a replay takes, what each refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from assets.common.trace import Trace, load_trace
from assets.replay import replayers
from assets.replay.changes.outages import Outage
from assets.replay.on_nodes import NodeReplayer
from assets.replay.replayers import WAYS, Way, check_settings, choose_policy, way_of
from assets.replay.run import ReplayRun, replay_run
from assets.replay.settings import REFUSABLE, NodeSettings, RunSettings
from models.allocation.looking_ahead import LookingAheadReplayer
from models.runtime.live import LiveReplayer
from papers.rlscheduler.rules import RLSchedulerReplayer
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.words import TOGETHER
from simulator.partitions import PartitionReplayer
from simulator.published import paper_part
from simulator.replayer import Outcome, Replayer
from simulator.topology.switches import SwitchReplayer
from tests.tiny import busy_log, warehouse_of


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("placing"), busy_log(150)), "mine")


def run_of(trace: Trace, **settings: object) -> ReplayRun:
    checked = check_settings(RunSettings(**settings))  # type: ignore[arg-type]
    return replay_run(trace, checked, choose_policy(checked, None, "mine"))


ON_NODES = NodeSettings(topology="4x2x8")


@pytest.mark.parametrize(
    ("settings", "nodes", "replayer"),
    [
        ({}, None, OrderReplayer),
        ({"backfill": "pick:by=shortest", "warm_start": True}, None, OrderReplayer),
        ({"estimates": "live"}, None, LiveReplayer),
        ({"partitions": {"7": 4}}, None, PartitionReplayer),
        ({"rules": "rlscheduler"}, None, RLSchedulerReplayer),
        ({"rules": "rlscheduler-corrected", "backfill": "none"}, None, RLSchedulerReplayer),
        ({"estimates": "live"}, {}, NodeReplayer),
        ({"cancelled": True}, {"switches": "1@1h"}, SwitchReplayer),
        ({}, {"place": TOGETHER, "period": 60}, LookingAheadReplayer),
    ],
)
def test_the_way_of_settings(settings: dict, nodes: dict | None, replayer: type[Replayer]) -> None:
    placed = None if nodes is None else ON_NODES.model_copy(update=nodes)
    assert way_of(check_settings(RunSettings(**settings), placed), placed).replayer is replayer


def test_every_way_has_words_for_what_it_does_not_honour() -> None:
    parts = {name.replace("_", "-") for name in REFUSABLE} | {"estimates live", "agent", "nodes"}
    for way in (paper_part(way).WAY if isinstance(way, str) else way for _, way in WAYS):
        assert way.replayer.honours <= parts
        for part in sorted(parts - way.replayer.honours):
            with pytest.raises(ValueError, match=r"leave|use actual"):
                way.check(RunSettings(backfill="a.json"), [part])


@dataclass(frozen=True)
class OneByOne:
    """A scheduler that nobody has: jobs run one after the other."""

    honours: ClassVar = frozenset({"policy"})

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        start = np.maximum.accumulate(jobs.submit + jobs.runtime.cumsum())
        return Outcome(Schedule(start, np.zeros(len(jobs), dtype=np.bool_)), counts={"alone": len(jobs)})


def test_a_further_scheduler_is_one_entry(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses what it does not name."""
    own = Way(OneByOne, lambda asked: OneByOne(), {"": "one by one has no --{part}"})
    monkeypatch.setattr(replayers, "WAYS", ((lambda settings, nodes: True, own),))
    run = run_of(trace, policy="SJF")
    assert run.counts["alone"] == 150 and (np.diff(run.schedule.start) > 0).all()
    checked = check_settings(RunSettings())
    with pytest.raises(ValueError, match="one by one has no --outages"):
        run_of(trace, outages=[Outage(start=5, end=50, procs=1)])
    with pytest.raises(ValueError, match="one by one has no --nodes"):
        replay_run(trace, checked, choose_policy(checked, None, "mine"), ON_NODES)
