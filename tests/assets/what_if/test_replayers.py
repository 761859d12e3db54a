"""Which way a replay takes, what each refuses, and replays by an agent that decides all starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import torch

from assets.common.trace import Trace, load_trace
from assets.what_if import replayers
from assets.what_if.changes.outages import Outage
from assets.what_if.on_nodes import NodeReplayer
from assets.what_if.replayers import WAYS, Way, check_settings, choose_policy, way_of
from assets.what_if.run import ReplayRun, replay_run
from assets.what_if.settings import REFUSABLE, NodeSettings, RunSettings
from models.allocation.looking_ahead import LookingAheadReplayer
from models.runtime.live import LiveReplayer
from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules
from papers.deep_back_filling.placing_file import PlacingAgent, placing_to_bytes
from papers.deep_back_filling.playing import play_episodes
from papers.deep_back_filling.trials import agent_of, new_network
from papers.rlscheduler.rules import RLSchedulerReplayer
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.words import TOGETHER
from simulator.partitions import PartitionReplayer
from simulator.published import published
from simulator.replayer import Outcome, Replayer
from simulator.topology.switches import SwitchReplayer
from tests.papers.deep_back_filling.small import small_options
from tests.tiny import busy_log, warehouse_of

LOG_PROCS = 16
OPTIONS = small_options(front=3, back=2, longest_s=90_000)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("placing"), busy_log(150)), "mine")


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """The file of an agent that nobody has trained."""
    torch.manual_seed(5)
    path = tmp_path / "agent.json"
    path.write_bytes(placing_to_bytes(agent_of(new_network(LOG_PROCS, OPTIONS), LOG_PROCS, OPTIONS, {})))
    return str(path)


def run_of(trace: Trace, **settings: object) -> ReplayRun:
    checked = check_settings(RunSettings(**settings))  # type: ignore[arg-type]
    return replay_run(trace, checked, choose_policy(checked, None, "mine"))


@pytest.mark.parametrize("estimates", ["requested", "actual"])
@pytest.mark.parametrize(("first", "length"), [(0, 150), (40, 60)])
def test_the_starts_are_those_of_its_episode(trace: Trace, agent: str, first: int, length: int, estimates: str) -> None:
    run = run_of(trace, backfill=agent, window=f"{first}:{length}", estimates=estimates)
    torch.manual_seed(5)
    actor = new_network(LOG_PROCS, OPTIONS).actor
    rules = PlacingRules(3, 2, length, length, longest_s=90_000)
    batch = PlacingBatch(trace.jobs(estimates), LOG_PROCS, 1, rules)
    play_episodes(actor, batch, np.array([first]), None)
    assert np.array_equal(run.schedule.start, batch.start[0])
    assert run.schedule.started.all() and run.policy.agent_sha256 is not None and run.policy.text == "FCFS"
    other = run_of(trace, backfill="pick:by=shortest,from=all,window=3-2", window=f"{first}:{length}")
    assert not np.array_equal(run.schedule.start, other.schedule.start)
    assert run.settings.portable_backfill == "agent.json" and run.metrics()["average_wait_s"] > 0


def test_what_is_refused_beside_it(trace: Trace, agent: str) -> None:
    for settings, said in (
        ({"policy": "SAF"}, "decides all starts by itself, .*: leave --policy out"),
        ({"inspector": "unfit"}, "leave --inspector out"),
        ({"reserve_by": "requested"}, "leave --reserve-by out"),
        ({"admit_by": "requested"}, "leave --admit-by out"),
        ({"correction": "doubling"}, "leave --correction out"),
        ({"warm_start": True, "window": "50:50"}, "leave --warm-start out"),
        ({"cancelled": True}, "leave --cancelled out"),
        ({"outages": [Outage(start=5, end=50, procs=1)]}, "leave --outages out"),
        ({"estimates": "live"}, "use actual or predicted"),
        ({"procs": 20}, "made for a cluster of 16 processors and a window of the first 3 and the last 2 waiting jobs. This "),
        ({"rules": "rlscheduler"}, "not one of the RLScheduler rules"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            run_of(trace, backfill=agent, **settings)


def test_a_log_without_requests_needs_other_estimates(trace: Trace, agent: str) -> None:
    rows = trace.rows.with_columns(requested_walltime_s=pl.lit(0, dtype=trace.rows["requested_walltime_s"].dtype))
    without = replace(trace, rows=rows)
    with pytest.raises(
        ValueError, match=r"no job of the log has one\. Let it know the run times with --estimates actual"
    ):
        run_of(without, backfill=agent)
    assert run_of(without, backfill=agent, estimates="actual").schedule.started.all()


def test_other_files_and_rules_are_not_its(tmp_path: Path, agent: str) -> None:
    for backfill in ("easy", str(tmp_path / "none.json")):
        assert way_of(RunSettings(backfill=backfill)).replayer is not PlacingAgent
    Path(agent).write_bytes(Path(agent).read_bytes()[:300])
    with pytest.raises(ValueError, match=r"agent.json: not an agent's file, or one that is cut short"):
        choose_policy(RunSettings(backfill=agent), None, "mine")


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
    for way in (published(way).WAY if isinstance(way, str) else way for _, way in WAYS):
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
