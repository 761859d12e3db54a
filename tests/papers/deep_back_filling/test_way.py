"""`--backfill FILE` with an agent that decides all starts: its replay is its episode, and what is refused beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from assets.common.trace import Trace, load_trace
from assets.replay.replayers import check_settings, choose_policy, way_of
from assets.replay.run import ReplayRun, engine_version, replay_run
from assets.replay.settings import Outage, RunSettings
from papers.compiled import RULES_HASH
from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules
from papers.deep_back_filling.networks import play_episodes
from papers.deep_back_filling.placing_file import PlacingAgent, placing_to_bytes
from papers.deep_back_filling.trials import agent_of, new_network
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
    assert run.engine == f"{engine_version()}+{RULES_HASH}" and other.engine == engine_version()


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
