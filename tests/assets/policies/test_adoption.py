"""Agents beside the policies of a source: who of them is champion, and that neither touches the other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common import storage
from assets.common.trace import Trace, load_trace
from assets.policies.adoption import AGENT_CARD, adopt, lesson_of_champion
from assets.policies.registry import Candidate, champion_agent, learned_policies, promote
from assets.policies.training import PolicyTask, TrainingSetup, split_of
from models.scheduling.arena import Arena
from models.scheduling.goals import parse_goal
from models.scheduling.learning.starts import rule_network
from models.scheduling.learning.training import TrainedPolicy
from models.scheduling.learning.training_run import JudgedPolicy
from models.scheduling.options import AGENT_PPO, Recipe
from models.scheduling.policy_file import agent_from_bytes, policy_to_bytes
from simulator.policies.agents import NETWORK, parse_agent
from simulator.policies.network import KernelWeights
from simulator.policies.observation import layout_named
from tests.simulator.busy import random_weights
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

SHORTEST, WIDEST = "pick:by=shortest,window=20-20,guard=none", "pick:by=oldest,window=3-0,from=all"
CURVE = ("sampled_cost", "validation_cost", "approx_kl", "entropy")
RECIPE = Recipe(start="rule", ppo=AGENT_PPO).with_epochs(3)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Warehouse, Trace]:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    warehouse = warehouse_of(tmp_path, busy_log(1200, seed=3))
    return warehouse, load_trace(warehouse, "mine")


def adopted(
    place: tuple[Warehouse, Trace], agent: str, *, seed: int = 1, base: str = "FCFS", trade: bool = False
) -> str:
    """What happened to an agent that decides as this rule does, as if it had been trained."""
    warehouse, trace = place
    task = PolicyTask("bsld", agent=agent, base=base)
    setup = TrainingSetup.on_split(trace, task, split_of(trace, 64))
    learned = network_of(agent, seed)
    layout = "picking" if agent.startswith("pick") else "inspecting"
    recipe = RECIPE.model_copy(update={"ppo": RECIPE.ppo.model_copy(update={"layout": layout})})
    policy = JudgedPolicy(recipe, seed, TrainedPolicy(learned, 0, 9.5, [], recipe.model_dump()), np.zeros(1))
    return adopt(warehouse, setup, [policy], trade)[2]


def network_of(text: str, seed: int) -> KernelWeights:
    agent = parse_agent(text)
    return rule_network(agent, layout_named("picking" if agent.picking.by else "inspecting"), 40.0, seed)


def events(warehouse: Warehouse) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql("FROM policies.policy_events ORDER BY event").pl()


def test_who_is_champion(place: tuple[Warehouse, Trace]) -> None:
    warehouse, _ = place
    assert champion_agent(warehouse, "mine", "backfilling") is None
    assert lesson_of_champion(warehouse, "mine", "backfilling") is None
    assert adopted(place, WIDEST) == "the first agent that picks of this source is champion"
    assert "nothing changes" in adopted(place, WIDEST)
    said = adopted(place, SHORTEST)  # which waits less, and somebody may pay for it
    taken = adopted(place, SHORTEST, trade=True) if "refused" in said else said
    assert "promoted" in taken or "nothing changes" in taken, (said, taken)
    assert events(warehouse)["kind"][0] == "backfilling first"
    assert events(warehouse)["judged_jobs"].to_list()[0] == 112, "those that confirm, in 16 blocks"
    assert adopted(place, "inspect:unfit", base="SJF") == "the first inspector of this source is champion"
    kinds = {learns: champion_agent(warehouse, "mine", learns) for learns in ("backfilling", "inspector")}
    inspector = kinds["inspector"]
    assert inspector is not None and inspector.agent.inspecting.by == NETWORK and inspector.row["backfill"] == "easy"
    with pytest.raises(ValueError, match="no policy has been trained for source 'mine'"):
        learned_policies(warehouse, "mine")


def test_the_champion_is_what_was_stored(place: tuple[Warehouse, Trace]) -> None:
    warehouse, _ = place
    adopted(place, SHORTEST)
    champion = champion_agent(warehouse, "mine", "backfilling")
    assert champion is not None and champion.row["backfill"] == SHORTEST and champion.row["trained_jobs"] == 600
    content = storage.read_model(champion.row["file"], champion.row["sha256"])
    agent, card = agent_from_bytes(content)
    assert (agent.picking.front, agent.picking.back, agent.picking.guarded) == (20, 20, False)
    assert tuple(card) == AGENT_CARD and json.loads(card["parameters"])["base"] == "FCFS"
    lesson = lesson_of_champion(warehouse, "mine", "backfilling")
    assert lesson is not None
    assert (lesson[0].agent, lesson[0].base, lesson[0].backfill, lesson[1]) == (SHORTEST, "FCFS", "easy", RECIPE)


def test_another_policy_beside_it_or_a_lost_file_make_room(place: tuple[Warehouse, Trace]) -> None:
    warehouse, _ = place
    adopted(place, SHORTEST)
    assert "champion by default" in adopted(place, SHORTEST, base="SAF")
    champion = champion_agent(warehouse, "mine", "backfilling")
    assert champion is not None
    (storage.data_folder() / champion.row["file"]).unlink()
    assert "champion by default" in adopted(place, WIDEST, base="SAF")
    assert events(warehouse)["kind"].to_list() == ["backfilling first", "backfilling replaced", "backfilling replaced"]
    (storage.data_folder() / champion_agent(warehouse, "mine", "backfilling").row["file"]).write_text("{}")  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="not the one that was trained"):
        champion_agent(warehouse, "mine", "backfilling")


def test_policies_and_agents_leave_each_other_alone(place: tuple[Warehouse, Trace]) -> None:
    warehouse, trace = place
    adopted(place, SHORTEST)
    card = {"seed": 7, "method": "ppo", "goal": "bsld", "backfill": "easy", "estimates": "requested", "layout": "plain"}
    card |= {"trained_jobs": 600, "epochs": 3, "best_epoch": 1, "validation_cost": 5.0, "parameters": "{}"}
    file, digest = storage.store_model("mine", "policy-7", policy_to_bytes(random_weights(), card))
    candidate = Candidate(card | {"file": file, "sha256": digest}, random_weights())
    arena = Arena(trace.jobs(), trace.cluster_procs, parse_goal("bsld"), threads=1)
    curve = pl.DataFrame(
        [{"seed": 7, "epoch": 1, "phase": "all", "decisions": 9} | dict.fromkeys(CURVE, 1.0) | {"updates": 1}]
    )
    rows, _, happened = promote(warehouse, "mine", arena, [candidate], range(480, 600), curve)
    assert happened == "the first policy of this source is champion" and rows["seed"].to_list() == [7]
    champion = champion_agent(warehouse, "mine", "backfilling")
    assert champion is not None and champion.row["seed"] == 1
    adopted(place, WIDEST, seed=2)
    assert [policy.seed for policy in learned_policies(warehouse, "mine")] == [7]
    assert events(warehouse)["kind"].to_list()[:2] == ["backfilling first", "first"]
    with warehouse.read() as connection:
        assert connection.execute("SELECT seed FROM policies.training_curve").fetchall() == [(7,)]
        kinds = connection.execute(
            "SELECT learns, count(*) FROM policies.learned_policies WHERE champion GROUP BY 1 ORDER BY 1"
        )
        assert kinds.fetchall() == [("backfilling", 1), ("order", 1)]
