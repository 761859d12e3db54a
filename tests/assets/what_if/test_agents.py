"""Agents of a replay by name and by file, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.trace import Trace, load_trace
from assets.what_if.agents import choose_agent
from assets.what_if.run import choose_policy, replay_run
from assets.what_if.settings import RunSettings, check_settings
from models.scheduling.learning.starts import rule_network
from models.scheduling.policy_file import policy_to_bytes
from simulator.policies.agents import NETWORK, UNFIT, parse_agent
from simulator.policies.observation import layout_named
from tests.simulator.busy import random_weights
from tests.tiny import busy_log, warehouse_of


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("agents"), busy_log(120)), "mine")


def agent_file(folder: Path, text: str, **card: object) -> str:
    agent = parse_agent(text)
    weights = rule_network(agent, layout_named("picking" if agent.picking.by else "inspecting"), 40.0, 1)
    path = folder / f"{text[:4]}.json"
    path.write_bytes(policy_to_bytes(weights, {"source": "mine", "trained_jobs": 3, **card}, text))
    return str(path)


def test_files_and_rules(tmp_path: Path) -> None:
    picks = agent_file(tmp_path, "pick:by=shortest,window=9-8")
    chosen = choose_agent(RunSettings(backfill=picks, inspector="unfit"), "mine")
    assert chosen is not None and chosen.sha256 is not None and chosen.trained_jobs == 3
    assert (chosen.agent.picking.by, chosen.agent.inspecting.by) == (NETWORK, UNFIT)
    assert (chosen.agent.picking.front, chosen.agent.picking.back) == (9, 8)
    other = choose_agent(RunSettings(inspector=agent_file(tmp_path, "inspect:accept")), "other")
    assert other is not None and other.agent.inspecting.by == NETWORK and other.trained_jobs == 0
    assert choose_agent(RunSettings(), "mine") is None


def test_what_does_not_go(trace: Trace, tmp_path: Path) -> None:
    picks, inspects = agent_file(tmp_path, "pick:by=shortest,window=9-8"), agent_file(tmp_path, "inspect:accept")
    orders = tmp_path / "order.json"
    orders.write_bytes(policy_to_bytes(random_weights(), {}))
    for settings, said in (
        (RunSettings(backfill=picks, inspector=inspects), "one learned agent decides in a replay"),
        (RunSettings(backfill=inspects), "decides something else: give it to --inspector"),
        (RunSettings(inspector=picks), "decides something else: give it to --backfill"),
        (RunSettings(backfill=str(orders)), "orders the queue: give it to --policy"),
        (RunSettings(backfill=str(tmp_path / "none.json")), "no such policy file"),
        (RunSettings(policy=picks), "is an agent, which picks"),
        (RunSettings(inspector="sometimes"), "expected accept, unfit, reject"),
        (RunSettings(rules="rlscheduler", inspector="unfit"), "know no --inspector"),
        (RunSettings(backfill="pick:by=fastest"), "by must be one of first, oldest"),
        (RunSettings(backfill="conservative", inspector="unfit"), "no picks that could be inspected"),
    ):
        with pytest.raises(ValueError, match=said):
            replay_run(trace, check_settings(settings), choose_policy(check_settings(settings), None, "mine"))


def test_a_run_says_who_decided(trace: Trace, tmp_path: Path) -> None:
    picks = agent_file(tmp_path, "pick:by=shortest,window=120-0")
    settings = check_settings(RunSettings(backfill=picks))
    run = replay_run(trace, settings, choose_policy(settings, None, "mine"))
    same = check_settings(RunSettings(backfill="easy-sjbf"))
    expected = replay_run(trace, same, choose_policy(same, None, "mine"))
    assert run.schedule.start.tolist() == expected.schedule.start.tolist()
    assert settings.portable_backfill == "pick.json" and run.policy.agent_sha256 is not None


def test_live_estimates_are_used_beside_agents(trace: Trace) -> None:
    def starts(**settings: str) -> list[int]:
        checked = check_settings(RunSettings(**settings))
        return replay_run(trace, checked, choose_policy(checked, None, "mine")).schedule.start.tolist()

    live = starts(backfill="easy-sjbf", estimates="live")
    assert starts(backfill="pick:by=shortest", estimates="live") == live != starts(backfill="easy-sjbf")
    assert starts(inspector="accept", estimates="live") == starts(estimates="live")
