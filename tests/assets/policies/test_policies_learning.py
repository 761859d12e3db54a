"""Tests of assets/policies: held_out, plots, population, priority_key, training, trajectory_filter,
verdicts."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from pathlib import Path

import dagster as dg
import numpy as np
import polars as pl
import pytest

from assets.common.partitions import SOURCES
from assets.common.plots import GREY, ORANGE
from assets.common.trace import Trace, load_trace
from assets.policies import plots
from assets.policies import population as module
from assets.policies.held_out import RANDOM, SeenLearning, read_seen, seen_learning, store_seen
from assets.policies.plots import lineage
from assets.policies.population import (
    MembersConfig,
    PopulationConfig,
    PopulationPPOConfig,
    lineage_rows,
    population,
    stop_rows,
)
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task, split_of
from assets.policies.verdicts import (
    BOUNDED_KEY,
    INCUMBENT,
    LIVE_SHIFTS,
    JudgedRule,
    best_of,
    chance_cloud,
    judge_rules,
    rivals_with,
)
from models.judging.judge import beside_cloud, judge
from models.judging.panel import Replayed, scored_after
from models.judging.verdict import NO_DIFFERENCE
from models.scheduling.arena import Windows
from models.scheduling.learning.training import Lessons
from models.scheduling.options import EvolutionOptions, PPOOptions, Recipe
from models.scheduling.search.priority_key import PriorityKey, searched_jobs
from models.scheduling.trajectory_filter import filter_trajectories
from simulator.engine.replay import replay
from tests.assets.policies.one_worker import one_worker_here
from tests.simulator.busy import random_weights
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

# held_out: What is stored of a training on held-out windows is read again as it was.


FROM_NOTHING = Recipe(start="nothing", ppo=PPOOptions(epochs=2, trajectories=8))


def test_what_was_seen_is_read_again_and_other_experiments_stay(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(700, seed=3))
    setup = _on_windows(load_trace(warehouse, "mine"))
    policies = list(setup.train(FROM_NOTHING, [1, 2]))
    seen = seen_learning(setup, policies)
    assert read_seen(warehouse, "mine") is None
    for _ in range(2):
        store_seen(warehouse, "mine", seen, policies)
    stored = read_seen(warehouse, "mine")
    assert stored is not None and stored.curves == seen.curves and stored.best_fixed == seen.best_fixed
    assert np.array_equal(stored.all_seeds, seen.all_seeds) and np.array_equal(stored.windows.first, seen.windows.first)
    assert all(len(curve) == 3 and curve[-1] == seen.learned[seed].mean() for seed, curve in seen.curves.items())


def test_seeds_are_better_where_their_whole_interval_is() -> None:
    windows, rng = Windows(np.arange(0, 3000, 30), 30), np.random.default_rng(1)
    fixed = {"FCFS": 10 + rng.random(100), "SJF": 5 + rng.random(100), "F1": 6 + rng.random(100)}
    fixed[RANDOM] = rng.random(100)
    learned = {1: 5 + rng.random(100), 2: 9.99 + rng.random(100), 3: 4 + rng.random(100)}
    seen = SeenLearning("bsld", "easy", "requested", "ppo", windows, fixed, learned, {})
    assert (seen.best_fixed, seen.better_than_fcfs, seen.reaching_best) == ("SJF", [1, 3], [1, 3])


def _on_windows(trace: Trace) -> TrainingSetup:
    windows, length = Windows.spread(0, 300, 48, 50), 48
    shown = Windows.spread(420, 700, length, 10)
    lessons = Lessons(windows, windows, Windows.spread(300, 360, length, 5), Windows.blocks(360, 420), held_out=shown)
    return TrainingSetup(trace, TASK, arena_of_task(trace, TASK), lessons, shown, 420)


# plots: Figures of training are drawn from what the tables hold.


def test_training_curves_have_a_line_per_seed(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        curve = connection.sql("SELECT * EXCLUDE (source) FROM policies.training_curve").pl()
    top, bottom = plots.training_curve(curve).axes
    assert [line.get_label() for line in top.lines] == ["seed 1", "seed 2"]
    assert len(bottom.lines) == 2 and top.get_ylabel().startswith("bsld")


def test_the_filter_s_range_is_marked(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        score = connection.sql("SELECT sjf_cost FROM policies.trajectory_windows").pl()["sjf_cost"].to_numpy()
    (ax,) = plots.trajectory_distribution(score, 2.0, 9.0, "bsld").axes
    assert sum(patch.get_height() for patch in ax.patches[:60]) == len(score)
    assert "kept: (2.00, 9.00)" in [text.get_text() for text in ax.get_legend().get_texts()]


# population: A population is trained, and its lineage is in the warehouse.

TASK = PolicyTask(estimates="requested")
CONFIG = PopulationConfig(
    goal="bsld",
    estimates="requested",
    seed=4,
    cautious=False,
    population=MembersConfig(members=2, interval=1, replaced=1),
    ppo=PopulationPPOConfig(epochs=2, trajectories=32),
)


def happened(warehouse: Warehouse) -> str:
    """What a run of the asset says: only a real run has a place where workers can report to."""
    with dg.instance_for_test() as instance:
        assert SOURCES.name is not None
        instance.add_dynamic_partitions(SOURCES.name, ["mine"])
        result = dg.materialize(
            [population],
            instance=instance,
            partition_key="mine",
            resources={"warehouse": warehouse},
            run_config=dg.RunConfig({"policies__population": CONFIG}),
        )
        (event,) = result.asset_materializations_for_node("policies__population")
        return str(event.metadata["happened"].value)


def test_a_population_and_what_is_kept_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    warehouse = warehouse_of(tmp_path, busy_log(700, seed=3))
    trace = load_trace(warehouse, "mine")
    windows = Windows.spread(0, 300, 48, 100)
    lessons = Lessons(windows, windows, Windows.blocks(300, 360), Windows.blocks(360, 420), after=48)
    setup = TrainingSetup(trace, TASK, arena_of_task(trace, TASK), lessons, Windows.blocks(360, 420), 420)
    monkeypatch.setattr(module, "filtered_setup", lambda *_: setup)
    one_worker_here(monkeypatch)
    assert happened(warehouse) == "the first policy of this source is champion"
    with warehouse.read() as connection:
        rows = connection.sql("FROM policies.population ORDER BY generation, member").pl()
        ancestors = connection.sql(
            "SELECT generation, member, ancestor_generation, ancestor FROM policies.ancestors ORDER BY ALL"
        ).pl()
        policy = connection.sql("FROM policies.learned_policies").pl().row(0, named=True)
    assert rows.select("generation", "member").rows() == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert rows["chosen"].sum() == 1 and rows.filter("chosen")["cost"].item() == rows["cost"].min()
    first = rows.filter(pl.col("generation") == 1)["cost"]
    best = int(first.arg_min())  # type: ignore[arg-type]
    assert rows["parent"].to_list() == [None, None, best, best]
    assert ancestors.filter(pl.col("generation") == 2).rows() == [
        *((2, 0, 1, best), (2, 0, 2, 0)),
        *((2, 1, 1, best), (2, 1, 2, 1)),
    ]
    assert (policy["seed"], policy["champion"]) == (4, True)
    assert json.loads(policy["parameters"])["lineage"] == rows.drop("source", "chosen").to_dicts()


def test_no_member_is_chosen_where_the_start_was_kept() -> None:
    parameters = {"lineage": [{"member": k, "parent": None, "cost": cost} for k, cost in enumerate([3.0, 1.0, 1.0])]}
    assert lineage_rows("mine", parameters, learned=True)["chosen"].to_list() == [False, True, False]
    assert lineage_rows("mine", parameters, learned=False)["chosen"].to_list() == [False, False, False]


def test_stops_of_workers_are_rows() -> None:
    rows = stop_rows("mine", {"2 0 7": [3, 4]})
    assert rows.rows() == [("mine", 2, 0, 7, 0, 3), ("mine", 2, 0, 7, 1, 4)]
    assert stop_rows("mine", {}).height == 0


# plots: The tree of a population is drawn as its rows say.


def test_a_population_of_which_nobody_was_chosen_is_drawn() -> None:
    rows = pl.DataFrame(
        {"generation": [1, 2], "member": [0, 0], "parent": [None, 0], "cost": [3.0, 2.0], "chosen": [False, False]}
    )
    (ax,) = lineage(rows, "bsld").axes
    assert [line.get_color() for line in ax.lines] == [GREY]


def test_lines_lead_to_parents_and_the_chosen_line_stands_out() -> None:
    costs = [[3.0, 4.0], [2.5, 2.0], [1.5, 1.0]]
    parents = [[None, None], [0, 0], [1, 1]]
    rows = pl.DataFrame(
        [
            {"generation": g + 1, "member": m, "parent": parents[g][m], "cost": costs[g][m], "chosen": (g, m) == (2, 1)}
            for g in range(3)
            for m in range(2)
        ],
        infer_schema_length=None,
    )
    (ax,) = lineage(rows, "bsld").axes
    drawn = {
        (tuple(line.get_xdata()), tuple(line.get_ydata())): (line.get_color(), line.get_linestyle())
        for line in ax.lines
    }
    assert drawn == {
        ((1, 2), (3.0, 2.5)): (GREY, "-"),
        ((1, 2), (3.0, 2.0)): (ORANGE, "--"),
        ((2, 3), (2.0, 1.5)): (GREY, "--"),
        ((2, 3), (2.0, 1.0)): (ORANGE, "-"),
    }


# priority_key: The stored key costs what is stored, on the windows that it was searched on.


def test_the_key_costs_what_is_stored(warehouse: Warehouse, trained_trace: tuple[Trace, int]) -> None:
    trace, test_position = trained_trace
    with warehouse.read() as connection:
        row = connection.sql("FROM policies.priority_keys").pl().row(0, named=True)
    key = PriorityKey(row["log_c"], row["a"], row["b"], row["cap_s"])
    assert row["formula"] == key.formula and row["trained_jobs"] == test_position and row["keys_tried"] >= 20
    scored = searched_jobs(test_position)
    arena = arena_of_task(trace, PolicyTask(estimates="predicted"))
    assert arena.replayed(key.policy, scored).panel().bounded_slowdown == pytest.approx(row["cost"])


# training: Splits, tasks that cannot be, and cards.


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("training"), busy_log(900)), "mine")


def test_parts_follow_each_other_and_share_no_job(trace: Trace) -> None:
    split = split_of(trace, 48)
    assert split.confirm is not None
    parts = [split.learn.scored, split.choose.scored, split.confirm.scored, split.judge.scored]
    assert [part.stop for part in parts] == [270, 360, 450, 900] and split.trained_jobs == 450
    assert [part.start for part in parts] == [0, 280, 370, 452], "blocks are of equal length"
    assert [each.continuous for each in (split.learn, split.choose, split.confirm, split.judge)] == [
        False,
        True,
        True,
        True,
    ]
    assert (split.learn.jobs, split.after, split.choose.jobs, split.judge.jobs) == (48, 48, 5, 28)
    assert split_of(trace, 256).learn.jobs == 135
    earlier = split_of(dataclasses.replace(trace, test_position=400), 48)
    assert earlier.trained_jobs == 400 and earlier.learn.scored.stop == 240
    assert split_of(dataclasses.replace(trace, test_position=540), 48).trained_jobs == 450


def test_a_short_trace_is_refused(trace: Trace) -> None:
    short = dataclasses.replace(trace, rows=trace.rows[:299])
    with pytest.raises(ValueError, match="mine: 299 jobs are too few to train on, at least 300 are needed"):
        split_of(short, 48)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (PolicyTask(estimates="live"), "cannot follow live ones"),
        (PolicyTask(estimates="actual", rules="rlscheduler"), "know requested times only"),
        (PolicyTask(backfill="easy-sjbf", rules="rlscheduler"), "backfilling none or easy"),
        (PolicyTask(goal="speed"), "goal 'speed'"),
        (PolicyTask(estimates="predicted"), "no predicted run times yet"),
    ],
)
def test_tasks_that_cannot_be(task: PolicyTask, message: str, trace: Trace) -> None:
    with pytest.raises(ValueError, match=message):
        arena_of_task(trace, task)


def test_rlscheduler_rules_take_what_was_requested(trace: Trace) -> None:
    more = np.where(np.arange(900) % 2, trace.rows["procs"] + 1, -1)
    asked = dataclasses.replace(trace, rows=trace.rows.with_columns(requested_procs=more))
    jobs = arena_of_task(asked, PolicyTask(rules="rlscheduler")).jobs
    assert np.array_equal(jobs.procs, np.maximum(trace.rows["procs"], more))


def test_cards_hold_the_facts_that_are_asked_for(trace: Trace) -> None:
    setup = TrainingSetup.on_split(trace, PolicyTask(window_jobs=48), split_of(trace, 48))
    recipe = Recipe(method="evolution", evolution=EvolutionOptions(generations=1, pairs=1, windows=1))
    (policy,) = setup.train(recipe, [5])
    card = setup.card(policy, ("seed", "trace_sha256", "note", "window_jobs", "method", "epochs"), note="mine")
    assert list(card) == ["seed", "trace_sha256", "note", "window_jobs", "method", "epochs"]
    assert len(card.pop("trace_sha256")) == 64
    assert list(card.values()) == [5, "mine", 48, "evolution", 1]


# trajectory_filter: The stored windows are those of the filter, inside the part that is learned from.


def test_windows_and_range_are_those_of_the_filter(warehouse: Warehouse, trained_trace: tuple[Trace, int]) -> None:
    trace, _ = trained_trace
    split = split_of(trace, 64)
    learned = split.learn.scored.stop
    with warehouse.read() as connection:
        windows = connection.sql("FROM policies.trajectory_windows ORDER BY first_position").pl()
        row = connection.sql("FROM policies.trajectory_ranges").pl().row(0, named=True)
    length = (split.trained_jobs - learned) // 8  # a short trace gets shorter windows than the 64 asked for
    assert windows.height == 100 and windows["jobs"].unique().to_list() == [length] and length < 64
    assert windows["first_position"].max() + length <= learned  # type: ignore[operator]
    arena = arena_of_task(trace, PolicyTask(estimates="predicted"))
    kept = filter_trajectories(arena, Windows(windows["first_position"].to_numpy(), length))
    assert np.array_equal(windows["sjf_cost"], kept.score) and np.array_equal(windows["kept"], kept.kept)
    assert (row["windows"], row["kept"]) == (100, kept.kept.sum())
    assert [row[name] for name in ("median_cost", "high_cost", "skewness")] == pytest.approx(
        [kept.low, kept.high, kept.skewness]
    )


# verdicts: Policies on whole replays of a source, beside FCFS with EASY.


@pytest.fixture(scope="module")
def trace_of_verdicts(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("judged"), busy_log(900)), "mine")


def test_rules_are_judged_on_the_whole_log_after_the_cut(trace_of_verdicts: Trace) -> None:
    found = judge_rules(
        trace_of_verdicts, [JudgedRule("short", "SJF"), JudgedRule("nobody", backfill="none")], 450
    ).judgements
    jobs, scored, cloud = trace_of_verdicts.jobs(), scored_after(900, 450), chance_cloud(trace_of_verdicts, 450)
    for name, policy, backfill in (("short", "SJF", "easy"), ("nobody", "FCFS", "none")):
        ours, theirs = (
            Replayed(
                jobs, trace_of_verdicts.cluster_procs, replay(jobs, trace_of_verdicts.cluster_procs, *rule), scored
            )
            for rule in ((policy, backfill), ("FCFS", "easy"))
        )
        assert found[name] == beside_cloud(judge([ours], [theirs]), cloud)


def test_the_incumbent_beside_itself_makes_no_difference(trace_of_verdicts: Trace) -> None:
    assert judge_rules(trace_of_verdicts, [INCUMBENT], 450).judgements["FCFS"].verdict.word == NO_DIFFERENCE


def test_live_estimates_are_judged_from_several_starts(trace_of_verdicts: Trace) -> None:
    judgement = judge_rules(trace_of_verdicts, [BOUNDED_KEY, JudgedRule("SAF", "SAF")], 450).judgements
    assert len(judgement["bounded-key"].panels) == sum(shift < 450 for shift in LIVE_SHIFTS) == 3
    assert len(judgement["SAF"].panels) == 1
    assert len(judge_rules(trace_of_verdicts, [BOUNDED_KEY], 600).judgements["bounded-key"].panels) == 4


def test_a_network_is_judged_by_its_weights(trace_of_verdicts: Trace) -> None:
    jobs, procs, weights = trace_of_verdicts.jobs(), trace_of_verdicts.cluster_procs, random_weights()
    found = judge_rules(trace_of_verdicts, [JudgedRule("net", "learned", weights=weights)], 450).judgements["net"]
    schedule = replay(jobs, procs, "learned", "easy", weights)
    assert found.panels == (Replayed(jobs, procs, schedule, scored_after(900, 450)).panel(),)
    assert found.panels != found.incumbents


def test_rivals_have_the_same_run_times() -> None:
    rivals = rivals_with("predicted:p80")
    assert {rule.estimates for rule in rivals if rule is not BOUNDED_KEY} == {"predicted:p80"}
    assert rivals[-1] is BOUNDED_KEY


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (JudgedRule("SAF", "SAF"), "--policy SAF"),
        (BOUNDED_KEY, "--policy bounded-key --estimates live --reserve-by requested --admit-by requested"),
        (JudgedRule("x", "formula:a - b", "easy-sjbf"), '--policy "formula:a - b" --backfill easy-sjbf'),
    ],
)
def test_options_of_the_replay(rule: JudgedRule, options: str) -> None:
    assert rule.options == options


def test_the_best_is_one_that_dominates(trace_of_verdicts: Trace) -> None:
    judged = judge_rules(trace_of_verdicts, [JudgedRule("none", backfill="none"), INCUMBENT], 450).judgements
    assert best_of(judged) is None
    verdict = judged["FCFS"].verdict
    ratios = replace(verdict.ratios[0], bounded_slowdown=0.5, wait=0.9)
    for name, slowdown in (("good", 0.9), ("better", 0.5)):
        ratio = replace(ratios, bounded_slowdown=slowdown)
        judged[name] = replace(judged["FCFS"], verdict=replace(verdict, word="dominates", ratios=(ratio,)))
    assert best_of(judged) == "better"
