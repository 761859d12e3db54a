"""Tests of papers: experiment_agents, experiment_tables, rlscheduler/held_out."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from assets.common.trace import load_trace
from assets.policies.verdicts import JudgedRule
from models.scheduling.arena import Windows
from models.scheduling.options import LearningMethod
from papers.experiment_agents import LearningConfig, rules_with_any_view, rules_with_the_view, unlearned
from papers.experiment_tables import ExperimentEntry, comparisons, costs_of, verdicts_on, write_results
from papers.rlscheduler.held_out import held_out
from simulator.policies.agents import parse_agent
from tests.papers.experiment_runs import QUICK, materialize, rows
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

# agents: Which rules agents are compared with.


def test_rules_with_the_same_view_pick_from_the_same_jobs() -> None:
    agent = parse_agent("pick:by=shortest,from=all,window=5-3,must=1")
    rules = rules_with_the_view("FCFS", agent, "requested")
    assert [rule.name for rule in rules] == [
        f"FCFS, pick:by={by},from=all,window=5-3" for by in ("oldest", "shortest", "narrowest", "smallest")
    ]
    assert all(rule.agent is not None and rule.agent.picking.front == 5 for rule in rules)
    assert [rule.name for rule in rules_with_the_view("SJF", parse_agent("inspect:accept"), "requested")] == [
        "SJF, inspect:unfit"
    ]
    assert unlearned("SJF", agent, "actual").estimates == "actual"


def test_rules_that_keep_processors_free_are_of_the_clusters_size() -> None:
    rules = {rule.name: rule for rule in rules_with_any_view("requested", 64)}
    kept = [rule.agent.picking.keep_free for name, rule in rules.items() if "kept free" in name and rule.agent]
    assert kept == [4, 16, 24]
    assert rules["EASY-SJBF"].backfill == "easy-sjbf" and rules["SAF, first fit"].backfill == "any"


# config: One configuration gives the recipe of every method.


@pytest.mark.parametrize("method", get_args(LearningMethod))
def test_recipes_have_the_settings_of_the_configuration(method: LearningMethod) -> None:
    config = LearningConfig(start="key", cautious=False)
    recipe = config.recipe(method)
    assert (recipe.method, recipe.start, recipe.cautious) == (method, "key", False)
    assert recipe.ppo.layout == "informed" and recipe.imitation.passes == 10
    plain = config.recipe(method, "plain")
    assert plain.ppo.layout == "plain" and plain.evolution == recipe.evolution
    assert config.ppo.layout == "informed", "the configuration stays as it is"


def test_other_methods_are_refused() -> None:
    with pytest.raises(ValidationError, match="method"):
        LearningConfig().recipe("guessing")


# held_out: Heuristics and learned policies on the later jobs of one replay.


@pytest.mark.parametrize("wrong_by", [1.1, 50.0])
def test_later_jobs(wrong_by: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions that are nearer to the truth than requests are believed by what learns, others are not."""
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(1_500, days=110))
    quantiles = ", ".join(
        f"least(runtime_s * {wrong_by}, {wrong_by} * requested_walltime_s) AS runtime_p{p}_s"
        for p in ("05", "10", "25", "50", "75", "80", "90", "95")
    )
    with warehouse.write() as connection:
        connection.execute(
            "INSERT INTO predictions.runtime_predictions BY NAME SELECT source, job_index, 'stand-in' AS predictor, "
            f"runtime_s * {wrong_by} AS predicted_runtime_s, {quantiles} FROM core.jobs"
        )
        connection.execute("UPDATE core.jobs SET requested_walltime_s = 20 * runtime_s")
    asked = QUICK | {"hindsight": {"orders": 50}}
    materialize(held_out, warehouse, asked | {"ppo": asked["ppo"] | {"layout": "informed"}})
    costs = rows(warehouse, "window_costs")
    estimates = "predicted" if wrong_by < 20 else "requested"
    learned = costs.filter(pl.col("policy").is_in(["ppo", "evolution", "imitation"]))
    assert set(learned["estimates"]) == {estimates}
    each = costs.group_by("policy", "estimates", "seed").agg(pl.len(), pl.col("first_position").min())
    assert each.height == 5 + 2 * 2 + 3 * 2 and (each["len"] == 16).all() and (each["first_position"] >= 750).all()
    found = rows(warehouse, "comparisons")
    assert set(found["rival"]) == {"SAF, requested", "SAF, predicted"} and found.height == 2 * (5 + 2 + 3)
    fcfs = found.filter(pl.col("rival") == "SAF, requested", pl.col("policy") == "FCFS").row(0, named=True)
    assert fcfs["difference_low"] is None and fcfs["ratio_low"] < fcfs["ratio"] < fcfs["ratio_high"]
    same = found.filter(
        pl.col("rival") == "SAF, requested", pl.col("policy") == "SAF", pl.col("estimates") == "requested"
    )
    assert same["ratio"].to_list() == [1.0] and same["difference"].to_list() == [0.0]
    verdicts = rows(warehouse, "verdicts")
    assert verdicts.height == 5 + 2 * 2 + 3 * 2 + 3 and set(verdicts["jobs"]) == {736}, "16 blocks of 46 jobs"
    assert verdicts.filter(pl.col("policy") == "FCFS").select("verdict", "bounded_slowdown_ratio").row(0) == (
        "no difference", 1.0,
    )  # fmt: skip
    assert set(verdicts.filter(pl.col("estimates") == "live")["policy"]) == {"bounded-key"}
    for name in ("SAF", "ppo"):  # the same jobs, and the same schedules
        of_policy = (pl.col("policy") == name, pl.col("estimates") == estimates)
        blocks = costs.filter(*of_policy).group_by("seed").agg(pl.col("cost").mean()).sort("seed", nulls_last=True)
        whole = verdicts.filter(*of_policy).sort("seed", nulls_last=True)["average_bounded_slowdown"]
        assert blocks["cost"].to_list() == pytest.approx(whole.to_list())


def test_verdicts_are_replaced_with_their_goal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(600, days=50))
    trace = load_trace(warehouse, "mine")
    costs = np.arange(1.0, 17.0)
    entries = [ExperimentEntry("SJF", "requested", None, None, costs, JudgedRule("SJF", "SJF"))]
    labels = {"experiment": "held_out", "rules": "standard", "backfill": "easy", "goal": "bsld"}
    for goal in ("bsld", "wait", "bsld"):
        labels["goal"] = goal
        windows = Windows.blocks(300, 600)
        judged = {name: labels[name] for name in ("experiment", "goal")}
        verdicts = verdicts_on(trace, entries, [JudgedRule("EASY-SJBF", backfill="easy-sjbf")], range(300, 600), judged)
        tables = costs_of(entries, windows, labels), comparisons(entries, windows, labels)
        write_results(warehouse, "mine", "held_out", *tables, [], verdicts)
    stored = rows(warehouse, "verdicts")
    assert sorted(stored.select("goal", "policy").rows()) == sorted(
        (goal, policy) for goal in ("bsld", "wait") for policy in ("SJF", "EASY-SJBF")
    )


# tables: Rows of the experiments' tables by hand.

WINDOWS = Windows(np.arange(0, 800, 100), 100)
EASY = {"experiment": "mine", "rules": "standard", "backfill": "easy", "goal": "bsld"}


def entries() -> list[ExperimentEntry]:
    saf = np.arange(10.0, 18.0)
    return [
        ExperimentEntry("SAF", "requested", None, None, saf),
        ExperimentEntry("ppo", "requested", "log", 1, saf - 1.0),
        ExperimentEntry("ppo", "requested", "log", 2, saf - 3.0),
    ]


def test_every_window_has_its_cost() -> None:
    costs = costs_of(entries(), WINDOWS, EASY)
    assert costs.height == 3 * 8 and costs["window_jobs"].unique().to_list() == [100]
    assert costs["cost"][8:10].to_list() == [9.0, 10.0] and costs["first_position"][8:10].to_list() == [0, 100]
    assert costs["seed"].to_list() == [None] * 8 + [1] * 8 + [2] * 8


def test_seeds_are_compared_together() -> None:
    table = comparisons(entries(), WINDOWS, EASY)
    assert table["rival"].to_list() == ["SAF, requested"] * 2, "no entry has SAF with predicted times"
    ppo = table.row(1, named=True)
    assert (ppo["policy"], ppo["seeds"], ppo["windows"]) == ("ppo", 2, 8)
    assert ppo["difference"] == pytest.approx(-2.0) and ppo["difference_low"] <= -2.0 <= ppo["difference_high"] < 0


def test_only_the_same_goal_and_backfilling_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for labels in (EASY, EASY | {"backfill": "none"}, EASY):
        costs, differences = costs_of(entries(), WINDOWS, labels), comparisons(entries(), WINDOWS, labels)
        write_results(warehouse, "log", "mine", costs, differences, [])
    assert rows(warehouse, "window_costs").height == 2 * 24 and rows(warehouse, "comparisons").height == 2 * 2
