"""Agents of a replay by name and by file, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assets.common.trace import Trace, load_trace
from assets.policies.adoption import adopt
from assets.policies.training import PolicyTask, TrainingSetup, split_of
from assets.replay.policies import choose_agent
from assets.replay.replayers import check_settings, choose_policy
from assets.replay.run import replay_run
from assets.replay.settings import RunSettings
from models.scheduling.learning.starts import rule_network
from models.scheduling.learning.training import TrainedPolicy
from models.scheduling.learning.training_run import JudgedPolicy
from models.scheduling.options import AGENT_PPO, Recipe
from models.scheduling.policy_file import load_agent, policy_to_bytes
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
        (RunSettings(inspector="sometimes"), "expected one of accept, unfit, reject"),
        (RunSettings(rules="rlscheduler", inspector="unfit"), "have no --inspector"),
        (RunSettings(backfill="pick:by=fastest"), "by must be one of first, oldest"),
        (RunSettings(backfill="conservative", inspector="unfit"), "no picks that could be inspected"),
        (RunSettings(backfill="learned", rules="rlscheduler"), "not one of the RLScheduler rules"),
        (
            RunSettings(backfill="learned"),
            "--backfill learned: a log has no learned agent of its own: .* --learn backfilling`",
        ),
        (
            RunSettings(inspector="learned"),
            "--inspector learned: a log has no learned agent of its own: .* --learn inspector`",
        ),
        (RunSettings(backfill="learned", inspector=inspects), "one learned agent decides in a replay"),
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


def test_the_champions_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    warehouse = warehouse_of(tmp_path, busy_log(400))
    trace = load_trace(warehouse, "mine")

    def starts(**settings: str | None) -> list[int]:
        checked = check_settings(RunSettings(**settings))
        run = replay_run(trace, checked, choose_policy(checked, warehouse, "mine"))
        if "Learned" in settings.values():
            assert (run.settings.portable_backfill, run.counts["jobs_seen_in_training"]) == ("learned", 200)
            assert run.policy.agent_sha256 is not None
        return run.schedule.start.tolist()

    for option, learns in (("backfill", "backfilling"), ("inspector", "inspector")):
        with pytest.raises(
            ValueError, match=f"for source 'mine': train one with `tracehouse train mine --learn {learns}`"
        ):
            starts(**{option: "learned"})
    files = {}
    for text, base in (("pick:by=shortest,window=12-8", "FCFS"), ("inspect:unfit", "SJF")):
        setup = TrainingSetup.on_split(trace, PolicyTask(agent=text, base=base), split_of(trace, 48))
        files[base] = agent_file(tmp_path, text)
        agent, _ = load_agent(Path(files[base]))
        assert agent.weights is not None
        trained = TrainedPolicy(agent.weights, 0, 1.0, [], {})
        layout = "picking" if base == "FCFS" else "inspecting"
        recipe = Recipe(ppo=AGENT_PPO.model_copy(update={"layout": layout}))
        adopt(warehouse, setup, [JudgedPolicy(recipe, 1, trained, np.zeros(1))])
    assert starts(backfill="Learned") == starts(backfill=files["FCFS"]) != starts(backfill="easy")
    assert (
        starts(policy="SJF", inspector="learned")
        == starts(policy="SJF", inspector=files["SJF"])
        != starts(policy="SJF")
    )
    assert starts(policy="SJF", backfill="learned", inspector="unfit") != starts(policy="SJF", backfill="learned")
