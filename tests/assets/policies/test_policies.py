"""Tests of assets/policies: adoption, agents, config, lessons, scheduling_policy, settings."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
import pytest

from assets.common import storage
from assets.common.storage import data_folder
from assets.common.trace import Trace, load_trace
from assets.common.writing.options import written_settings
from assets.policies import agents as module
from assets.policies.adoption import AGENT_CARD, POLICY_CARD, adopt, lesson_of_champion
from assets.policies.agents import AgentTrainingConfig, agents, lessons_of_champions
from assets.policies.config import PPOConfig, TaskConfig, task_of
from assets.policies.lessons import lessons_of, why_no_training, window_setup
from assets.policies.registry import Candidate, champion_agent, learned_policies, promote
from assets.policies.scheduling_policy import SchedulingPolicyConfig
from assets.policies.settings import TrainingSettings, seeds_of
from assets.policies.training import PolicyTask, TrainingSetup, split_of
from models.scheduling.arena import Arena
from models.scheduling.goals import parse_goal
from models.scheduling.learning.recipes import rule_network
from models.scheduling.learning.training import TrainedPolicy
from models.scheduling.learning.training_run import JudgedPolicy
from models.scheduling.options import AGENT_PPO, PIPELINE_PPO, PPOOptions, Recipe
from models.scheduling.policy_file import agent_from_bytes, policy_from_bytes, policy_to_bytes
from simulator.policies.agents import NETWORK, parse_agent
from simulator.policies.network import KernelWeights
from simulator.policies.observation import layout_named
from tests.simulator.busy import random_weights
from tests.tiny import SOURCE, busy_log, swf_line, warehouse_of
from warehouse import Warehouse, replace_partition, replace_partitions

# adoption: Agents beside the policies of a source: who of them is champion, and that neither touches the other.

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


# agents: Agents are trained again where a champion is kept, as it was trained, and nowhere else.

TASK = PolicyTask("wait", estimates="requested", agent="pick:by=shortest,window=8-8", base="SAF", window_jobs=48)
AGENTS_RECIPE = Recipe(start="rule", ppo=AGENT_PPO.model_copy(update={"trajectories": 2})).with_epochs(1)


def night(warehouse: Warehouse) -> dict[str, Any]:
    """What a run of the asset says."""
    context = dg.build_asset_context(partition_key="mine", resources={"warehouse": warehouse})
    result = agents(context, AgentTrainingConfig(seeds=[5]))
    assert isinstance(result, dg.MaterializeResult) and result.metadata is not None
    return dict(result.metadata)


def test_a_champion_is_challenged_every_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    warehouse = warehouse_of(tmp_path, busy_log(700, seed=3))
    trace = load_trace(warehouse, "mine")
    monkeypatch.setattr(module, "load_trained_trace", lambda *_: (trace, 420))
    assert night(warehouse) == {"kinds trained": 0}
    setup = TrainingSetup.on_split(trace, TASK, split_of(trace, 48))
    adopt(warehouse, setup, list(setup.train(AGENTS_RECIPE, [1])))
    ((learns, task, recipe),) = lessons_of_champions(warehouse, "mine")
    assert (learns, task.agent, task.base, task.goal, recipe) == (
        "backfilling",
        TASK.agent,
        "SAF",
        "wait",
        AGENTS_RECIPE,
    )
    found = night(warehouse)
    assert found["kinds trained"] == 1 and found["backfilling"].startswith("challenger")
    with warehouse.read() as connection:
        rows = connection.sql("FROM policies.learned_policies").pl()
    assert rows.filter("newest")["seed"].to_list() == [5]
    assert rows["learns"].unique().to_list() == ["backfilling"] and rows["champion"].sum() == 1
    assert rows.filter(pl.col("seed") == 5)["trained_jobs"].to_list() == [350], "as those of `tracehouse train`"


# config: Configurations as Dagster fills them: words as text, and defaults of nested ones stay.

QUICK = {"epochs": 2, "trajectories": 6}


class Nested(dg.Config):
    ppo: PPOConfig = PPOConfig(epochs=30, reward="plain", baseline="critic", siblings=1, trajectories=100)


def filled(config: dict[str, Any]) -> PPOConfig:
    """The nested configuration that an asset gets."""
    seen: list[PPOConfig] = []

    @dg.op
    def read(config: Nested) -> None:
        seen.append(config.ppo)

    @dg.job
    def job() -> None:
        read()

    assert job.execute_in_process(run_config={"ops": {"read": {"config": config}}}).success
    return seen[0]


def test_layers_of_the_critic() -> None:
    assert PPOOptions(**filled({}).model_dump()).critic_layers == [32, 16, 8]
    assert PPOOptions(**filled({"ppo": {"critic_layers": [64, 32, 8]}}).model_dump()).critic_layers == [64, 32, 8]
    with pytest.raises(Exception, match="each at least 1"):
        filled({"ppo": {"critic_layers": [64, 0]}})


@pytest.mark.parametrize("asked", [{}, QUICK])
def test_nested_defaults_stay_where_nothing_else_is_asked_for(asked: dict[str, Any]) -> None:
    ppo = filled({"ppo": asked} if asked else {})
    assert (ppo.reward, ppo.baseline, ppo.siblings, ppo.layout) == ("plain", "critic", 1, "plain")
    assert ppo.epochs == asked.get("epochs", 30)


def test_other_words_are_refused() -> None:
    with pytest.raises(Exception, match="String should match pattern"):
        filled({"ppo": {"reward": "absolute"}})


def test_the_nightly_recipe_is_the_default_one() -> None:
    config = SchedulingPolicyConfig()
    assert config.recipe() == Recipe(start="nothing", ppo=PIPELINE_PPO) and type(config.recipe().ppo) is PPOOptions
    assert SchedulingPolicyConfig(method="evolution", start="best").recipe().method == "evolution"


def test_tasks_are_of_the_standard_rules() -> None:
    task = task_of(TaskConfig(goal="wait", backfill="none"))
    assert (task.goal, task.backfill, task.estimates, task.rules) == ("wait", "none", "predicted", "standard")


# lessons: Which windows are learned from, which choose and which judge.


@pytest.fixture(scope="module")
def warehouse_of_lessons(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return warehouse_of(tmp_path_factory.mktemp("lessons"), busy_log(400))


def filter_windows(warehouse: Warehouse, first: list[int], jobs: int = 20) -> None:
    rows = pl.DataFrame(
        {"first_position": first, "jobs": jobs, "sjf_cost": 1.0, "kept": [True, *[False] * (len(first) - 1)]}
    )
    kept = pl.DataFrame({"goal": ["bsld"], "windows": [len(first)], "kept": [1]} | {name: [1.0] for name in RANGES})
    with warehouse.write() as connection:
        replace_partition(connection, "policies.trajectory_windows", "mine", rows)
        replace_partition(connection, "policies.trajectory_ranges", "mine", kept)


RANGES = ("median_cost", "mean_cost", "skewness", "high_cost")


def test_lessons_are_those_of_the_filter(warehouse_of_lessons: Warehouse) -> None:
    trace = load_trace(warehouse_of_lessons, "mine")
    with pytest.raises(ValueError, match="has no trajectory filter"):
        lessons_of(warehouse_of_lessons, trace, "bsld")
    filter_windows(warehouse_of_lessons, [0, 50, 100])
    lessons, split = lessons_of(warehouse_of_lessons, trace, "bsld")
    assert np.array_equal(lessons.windows.first, [0, 50, 100]) and lessons.filtered.first.tolist() == [0]
    chosen_by, confirmed_by = lessons.validation, lessons.confirming
    assert confirmed_by is not None and chosen_by.continuous and confirmed_by.continuous and lessons.after == 20
    assert chosen_by.scored.start >= 120 and chosen_by.scored.stop == 160 <= confirmed_by.scored.start
    assert confirmed_by.scored.stop == split.trained_jobs == 200, "the split of `tracehouse train`"
    with pytest.raises(ValueError, match="made for the goal 'bsld', not 'wait'"):
        lessons_of(warehouse_of_lessons, trace, "wait")
    with pytest.raises(ValueError, match="made for another split"):
        lessons_of(warehouse_of_lessons, replace(trace, test_position=150), "bsld")


def test_no_policy_is_trained_where_nobody_waits(tmp_path: Path) -> None:
    """All orders are alike there: five trainings took 315 s on such a log, and each scored 1.0."""
    log = "; MaxProcs: 16\n" + "".join(swf_line(number, 600 * number, 0, 300, 1, 600) for number in range(300))
    warehouse = warehouse_of(tmp_path, log)
    why = why_no_training(warehouse, load_trace(warehouse, "mine"))
    assert why is not None and "no job waits longer than a minute" in why and "`tracehouse train mine`" in why


def test_no_policy_is_trained_where_nothing_can_be_said(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(400))
    trace = load_trace(warehouse, "mine")
    for grade, said in ((None, None), ("A", None), ("D", "grade D")):
        rows = pl.DataFrame({"part": ["all"], "value": [""], "jobs": [200], "grade": [grade]})
        replace_partitions(warehouse, "mine", {"replay.fidelity": rows.with_columns(pl.col("grade").cast(pl.Utf8))})
        why = why_no_training(warehouse, trace)
        assert (why is None) if said is None else (why is not None and said in why)


# scheduling_policy: What a training leaves: a card, a file and a curve for every seed, and one champion.


def test_cards_files_and_curves_belong_together(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        rows = connection.sql("FROM policies.scheduling_policies ORDER BY seed").pl()
        curve = connection.sql("FROM policies.training_curve").pl()
    assert rows["seed"].to_list() == [1, 2] and rows["champion"].sum() == 1
    for row in rows.iter_rows(named=True):
        _, card = policy_from_bytes((data_folder() / row["file"]).read_bytes())
        assert tuple(card) == POLICY_CARD and all(card[name] == row[name] for name in POLICY_CARD if name in row)
        costs = curve.filter(seed=row["seed"], epoch=row["best_epoch"])["validation_cost"].to_list()
        assert costs == [row["validation_cost"]] or row["best_epoch"] == 0
    assert curve.height == 2 * 3 and not list((data_folder() / "models" / SOURCE).glob("*.checkpoint"))
    learned = learned_policies(warehouse, SOURCE)
    assert [policy.sha256 for policy in learned] == rows["sha256"].to_list()


def test_the_same_windows_and_seed_give_the_stored_file(warehouse: Warehouse) -> None:
    """Byte for byte, whoever trains."""
    with warehouse.read() as connection:
        row = connection.sql("FROM policies.scheduling_policies WHERE seed = 2").pl().row(0, named=True)
    setup = window_setup(warehouse, SOURCE, PolicyTask(estimates="predicted"))
    config = SchedulingPolicyConfig(ppo={"epochs": 3, "filtered_epochs": 1, "trajectories": 8})  # type: ignore[arg-type]
    (policy,) = setup.train(config.recipe(), [2])
    card = setup.card(policy, POLICY_CARD, parameters=json.dumps(policy.trained.parameters))
    assert policy_to_bytes(policy.trained.weights, card) == (data_folder() / row["file"]).read_bytes()


# settings: What a training is asked for.


def test_seeds_are_a_text_or_numbers() -> None:
    assert seeds_of("3,1") == seeds_of([3, 1]) == [3, 1]
    for text, said in (("a", "expected whole numbers"), ("1,1", "expected different numbers")):
        with pytest.raises(ValueError, match=said):
            seeds_of(text)


def test_what_is_not_given_is_as_declared() -> None:
    settings = written_settings(TrainingSettings, {"goal": "wait", "epochs": None, "seeds": "7"})
    assert (settings.goal, settings.seeds, settings.epochs, settings.window_jobs) == ("wait", [7], None, 512)
    config = TaskConfig()
    assert (config.goal, config.backfill, config.estimates) == ("bsld", "easy", "predicted")
