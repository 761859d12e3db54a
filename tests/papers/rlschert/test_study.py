"""Tests of papers/rlschert: cluster, measured, measured_runs, plan, rlschert_plots, study, tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from papers.kept_files import kept_archive, members_of
from papers.rlschert import study
from papers.rlschert.cluster import Setting, SlotCluster, take_sequences
from papers.rlschert.measured import errors_of, errors_of_scores, jobs_of_runs, observed_jobs
from papers.rlschert.networks import new_rlschert_network
from papers.rlschert.plan import PAPER_OPTIONS, count_iterations, ladder_tasks
from papers.rlschert.rlschert import curves_plot, holes_plot, killed_plot, sweep_plot, waits_plot
from papers.rlschert.rules import HORIZON, LONGEST, SLOTS, WAIT, Sequences
from papers.rlschert.tables import RLSchertTables, make_tables
from papers.rlschert.training import RLSchertPolicy
from papers.rlschert.trials import TrainedScheduler, Trials
from papers.rlschert.workload import PAPER_ERRORS, Workload, draw_sequences
from studies.of_papers import rlschert_networks
from studies.of_papers.kept import short_floats
from studies.of_papers.rlschert_networks import network_to_bytes
from tests.papers.rlschert.examples import PLAN, tiny_plan
from warehouse import Warehouse

# cluster: Sequences stepped side by side: what a critic sees, and what comes out.


def test_the_future_of_a_sequence() -> None:
    """Three jobs of 4, 2 and 8 units on 1, 2 and 10 processors, at 0, 1 and 5; the first runs, the second waits."""
    length, procs = np.array([[4, 2, 8]]), np.array([[1, 2, 10]])
    remaining = np.maximum(length[:, :, None] - np.arange(LONGEST), 1).astype(np.int16)
    cluster = SlotCluster(Sequences(np.array([[0, 1, 5]]), length, procs, length.copy(), remaining), Setting(procs=16))
    cluster.begin()
    for action in (0, WAIT):
        cluster.step(np.array([action]))
    (told,) = cluster.future()
    assert told == pytest.approx([1 / 3, 0, (1 / 4 + 1 / 2) / 10, (1 * 3 + 2 * 2) / 16 / LONGEST])


def test_a_run_that_is_cut_off_has_no_slowdown() -> None:
    sequences = draw_sequences(Workload(jobs=30), 2, seed=1)
    network = new_rlschert_network("facts", 16, kills=False)
    cut = RLSchertPolicy(network, "facts", False).run(sequences, Setting(), max_actions=5)
    assert not cut.over.any() and np.isnan(cut.slowdowns()).all()


def test_some_of_the_sequences() -> None:
    sequences = draw_sequences(Workload(jobs=10), 5, seed=1)
    taken = take_sequences(sequences, np.array([3, 0]))
    assert (taken.length == sequences.length[[3, 0]]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stop_within": -1}, "stop_within and preemption_cost are units of time, 0 or more: got -1 and 0"),
        ({"preemption_cost": -2}, "got 0 and -2"),
        ({"stop_ratio": 0.5}, "stop_ratio is how many times shorter a job must be, 1 or more: got 0.5"),
    ],
)
def test_settings_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Setting(**changes)


def test_what_a_kill_costs() -> None:
    """A job of 4 units is killed after 2, and its next run takes 3 more."""
    length = np.array([[4]])
    remaining = np.maximum(length[:, :, None] - np.arange(LONGEST), 1).astype(np.int16)
    cluster = SlotCluster(
        Sequences(np.array([[0]]), length, length, length.copy(), remaining), Setting(preemption_cost=3)
    )
    cluster.begin()
    for action in (0, WAIT, WAIT, SLOTS, 0):
        cluster.step(np.array([action]))
    assert cluster.state.estimate[0, 0] == 3 + 4
    for _ in range(7):
        assert not cluster.over[0]
        cluster.step(np.array([WAIT]))
    outcome = cluster.outcome()
    assert cluster.over[0] and outcome.finish[0, 0] == 2 + 3 + 4 and outcome.killed_after[0, 0] == 2
    assert outcome.slowdowns()[0] == 9 / 4


# measured: What RLSchert's experiment takes from real VASP runs.

SCORES = pl.DataFrame(
    [
        ("inputs_only", "single", 0.0, 0.3),
        ("inputs_only", "multiple", 0.0, 5.0),
        ("progress", "single", 0.0, 9.0),
        ("progress", "single", 0.5, 0.2),
        ("progress", "single", 1.0, 0.1),
        ("progress", "multiple", 0.5, 0.2),
        ("progress", "multiple", 1.0, 0.4),
    ],
    schema=["predictor", "ionic", "progress", "error"],
    orient="row",
)


def test_errors_are_means_while_a_run_lasts_and_never_grow_towards_its_end() -> None:
    errors = errors_of_scores(SCORES, "mine")
    assert errors.before == (0.3, 2.9)  # the largest error that the generator takes
    assert errors.running == pytest.approx((0.15, 0.3))
    assert errors.at_end == pytest.approx((0.1, 0.3))


def test_a_predictor_without_scores_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"no errors of progress on runs of multiple ionic steps of 'mine'\. Materialize"
    ):
        errors_of_scores(SCORES.filter((pl.col("predictor") != "progress") | (pl.col("ionic") == "single")), "mine")


def test_runs_are_counted_in_units_and_cut() -> None:
    runs = [(40.0, 4, True), (750.0, 24, False), (10.0**7, 1000, False)]
    assert jobs_of_runs(runs) == ((1, 1, True), (2, 2, False), (100, 10, False))


# measured_runs: What RLSchert's experiment reads from the warehouse.


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """Runs and scores of the folder `mine`; another folder has runs, too."""
    opened = Warehouse(tmp_path / "w.duckdb")
    with opened.write() as connection:
        connection.execute(
            "INSERT INTO raw.vasp_runs BY NAME SELECT *, folder AS job_folder, 'finished' AS state, true AS converged, 0 AS loops_s, "
            "TIMESTAMP '2026-01-01' AS changed_at, 1 AS electronic_steps, 1 AS ionic_steps, 0 AS residuals_told, "
            "1 AS outcar_bytes FROM (VALUES "
            "('mine', 'b', 'OUTCAR', 1, 900.0, 40, 0), ('mine', 'a', 'OUTCAR', 1, 300.0, 8, 20), "
            "('mine', 'c', 'OUTCAR', 1, 0.0, 8, 0), ('theirs', 'a', 'OUTCAR', 1, 600.0, 8, 0)) "
            "AS runs (source, folder, outcar, launch, elapsed_s, cores, nsw)"
        )
        connection.execute(
            "INSERT INTO predictions.remaining_time_scores BY NAME "
            "SELECT 'mine' AS source, 9 AS runs, 1 AS systems, 1 AS seeds, "
            "1 AS median_error, predictor, ionic, progress, 100 * error AS mape FROM (VALUES "
            "('inputs_only', 0.0, 0.4), ('progress', 0.5, 0.2), ('progress', 1.0, 0.1)) AS scores (predictor, progress, error), "
            "(VALUES ('single'), ('multiple'), ('all')) AS kinds (ionic)"
        )
        connection.execute(
            "INSERT INTO predictions.remaining_time_scores BY NAME SELECT * REPLACE (1 AS mape, 'seen' AS split) "
            "FROM predictions.remaining_time_scores"
        )  # errors on systems that were learned from do not count
    return opened


def test_errors_are_the_papers_or_those_of_the_folder(warehouse: Warehouse) -> None:
    assert errors_of(warehouse, "mine", "paper") == PAPER_ERRORS
    errors = errors_of(warehouse, "mine", "measured")
    assert errors.before == pytest.approx((0.4, 0.4))
    assert errors.running == pytest.approx((0.15, 0.15)) and errors.at_end == pytest.approx((0.1, 0.1))
    with pytest.raises(ValueError, match="no errors of inputs_only on runs of single ionic steps of 'theirs'"):
        errors_of(warehouse, "theirs", "measured")


def test_jobs_are_the_finished_runs_of_the_folder(warehouse: Warehouse) -> None:
    assert observed_jobs(warehouse, "mine") == ((1, 1, False), (3, 4, True))
    with pytest.raises(ValueError, match=r"no finished run of 'nobody' to draw jobs from\. Set jobs_like to paper"):
        observed_jobs(warehouse, "nobody")


# plan: Plans of RLSchert's experiment: what is trained, and what is refused before hours of training.


def test_every_scheduler_with_every_seed_and_some_for_completion() -> None:
    tasks = ladder_tasks(PLAN)
    assert [(task.experiment, task.seed) for task in tasks] == [("main", 7), ("main", 8), ("completion", 7)]
    assert list(tasks[0].settings) == [
        ("DeepRM", "none"),
        ("RLSchert", "none"),
        ("RLSchert", "rule"),
        ("RLSchert", "learned"),
    ]
    assert {setting.goal for setting in tasks[2].settings.values()} == {"completion"}
    assert [setting.kill_by_rule for setting in tasks[0].settings.values()] == [False, False, True, False]
    assert not tasks[0].settings["DeepRM", "none"].with_remaining
    assert count_iterations(tasks) == 3 * 4


def test_the_networks_of_table_3_where_asked_for() -> None:
    tasks = ladder_tasks(tiny_plan(network_iterations=2))[3:]
    assert [next(iter(task.settings)) for task in tasks[::2]] == [
        ("pg_image_mlp", "none"),
        ("ppo_image_cnn", "none"),
        ("ppo_image_mlp", "none"),
    ]
    assert {task.options.iterations for task in tasks} == {2} and tasks[0].options.minibatch == 128


def test_policies_are_trained_on_the_cluster_of_the_plan() -> None:
    (task, *_) = ladder_tasks(tiny_plan(preemption_cost=4))
    assert {setting.preemption_cost for setting in task.settings.values()} == {4}
    assert {setting.stop_within for setting in task.settings.values()} == {0}


def test_test_sequences_are_not_training_sequences() -> None:
    pool, test = PLAN.pool(), PLAN.test()
    assert len(pool.arrive) == 3 and len(test.arrive) == 4
    assert not np.array_equal(pool.length, test.length[:3])
    assert np.array_equal(PLAN.test().length, test.length)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"options": PLAN.options.model_copy(update={"goal": "completion"})},
            "training.goal: policies are trained for slowdown",
        ),
        ({"options": PLAN.options.model_copy(update={"network": "image_mlp"})}, "fits one cluster size only"),
        ({"cluster_sizes": (9,)}, r"jobs have up to 10 processors, got \[9\]"),
        ({"job_rates": (0.0,)}, "job_rate is a share from 0 to 1, got 0.0"),
        ({"predictable_shares": (1.5,)}, "predictable_share is a share"),
        ({"preemption_costs": (1, -3)}, "0 or more: got 0 and -3"),
        ({"preemption_cost": -1}, "0 or more: got 0 and -1"),
        ({"stop_ratio": 0.5}, "stop_ratio is how many times shorter"),
        ({"stop_within": 0}, "stop_within: the stopping rule needs at least 1 unit, got 0"),
    ],
)
def test_plans_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_plan(**changes)


# rlschert_plots: Figures of RLSchert's cluster show what the rows say.

RESULTS = pl.DataFrame(
    {
        "policy": ["SAF", "SAF", "RLSchert", "RLSchert"],
        "kill": ["none", "none", "learned", "learned"],
        "setting": [0.3, 0.9, 0.3, 0.9],
        "slowdown": [1.5, 4.0, 1.2, 3.0],
    }
)
JOBS = pl.DataFrame(
    {
        "policy": ["RLSchert"] * 3,
        "kill": ["rule", "learned", "learned"],
        "wait": [1, 2, 5],
        "kills": [1, 0, 2],
        "first_prediction": [3, 4, 5],
        "length": [9, 4, 30],
        "killed_after": [1, 0, 6],
    }
)


def test_a_line_for_each_scheduler_that_is_there() -> None:
    (axis,) = sweep_plot(RESULTS, "job rate").axes
    assert {text.get_text() for text in axis.get_legend().get_texts()} == {"SAF", "RLSchert, kill: learned"}
    assert axis.get_xlabel() == "job rate"
    (axis,) = waits_plot(JOBS).axes
    assert axis.lines[-1].get_ydata().tolist() == [0.5, 1.0]


def test_curves_show_the_mean_of_the_seeds() -> None:
    curves = pl.DataFrame(
        {
            "policy": ["RLSchert"] * 3,
            "kill": ["none"] * 3,
            "seed": [1, 2, 1],
            "iteration": [5, 5, 6],
            "validation": [2.0, 4.0, None],
        }
    )
    (axis,) = curves_plot(curves).axes
    assert axis.lines[0].get_ydata().tolist() == [3.0]


def test_holes_are_drawn_over_time() -> None:
    holes = pl.DataFrame({"policy": ["SAF"] * 2, "kill": ["none"] * 2, "unit": [1, 0], "holes": [5.0, 2.0]})
    (axis,) = holes_plot(holes).axes
    assert axis.lines[0].get_ydata().tolist() == [2.0, 5.0]


def test_only_killed_jobs_are_shown() -> None:
    (axis,) = killed_plot(JOBS).axes
    assert [len(points.get_offsets()) for points in axis.collections] == [1, 1]


# study: Parts of RLSchert's study run by their names.


@pytest.mark.parametrize("arguments", [[], ["table_4"]])
def test_parts_are_named(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["-", *arguments])
    with pytest.raises(SystemExit, match="completion, table_3"):
        study.main()


def test_table_3_has_a_row_for_each_network(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = PAPER_OPTIONS.model_copy(update={"pool": 2})
    monkeypatch.setattr(study, "PAPER_OPTIONS", quick)
    monkeypatch.setattr(study, "train_rlschert", lambda *_, on_iteration, **__: [on_iteration(None) for _ in range(3)])
    monkeypatch.setattr(sys, "argv", ["-", "table_3"])
    study.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| P") or line.startswith("| p")]
    assert len(rows) == len(study.NETWORKS_TRIED)


def test_networks_that_are_trained_as_published_stand_beside_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = {"pool": 1, "sequences": 1, "iterations": 1, "validate_every": 1, "passes": 1}
    trained = study.IMAGES_TRAINED[1:4]
    for module in (study, rlschert_networks):
        monkeypatch.setattr(module, "PAPER_OPTIONS", PAPER_OPTIONS.model_copy(update=changed))
        monkeypatch.setattr(module, "Workload", lambda: Workload(jobs=6))
        monkeypatch.setattr(module, "IMAGES_TRAINED", trained)
        monkeypatch.setattr(module, "KEPT_NETWORKS", tmp_path / "kept.tar.xz")
    for folder, only in (
        ("first", "rlschert"),
        ("second", "kills"),
        ("third", "deeprm"),
    ):  # the archive keeps what a folder lacks
        rlschert_networks.train_networks(tmp_path / folder, 1, only)
        rlschert_networks.keep_networks(tmp_path / folder, study.KEPT_NETWORKS)
    capsys.readouterr()
    study.networks()
    printed, curves = capsys.readouterr().out.split("by iteration")
    assert "| PPO, dense |" in curves
    rows = {line.split(" | ")[0].strip("| "): line for line in printed.splitlines() if line.startswith("| ")}
    assert {
        "SAF",
        "SJF, whole queue",
        "PPO, dense",
        "PPO, dense, first predictions",
        "PPO, dense, learned killing",
    } <= set(rows)
    assert rows["PPO, dense"].endswith("| 1 of 1 | 7.03 |") and " to " in rows["SAF"]
    kept = {f"{who}-ppo-image_mlp-1.json" for who in ("rlschert", "deeprm", "kills")} | {study.CURVES}
    assert set(members_of(study.KEPT_NETWORKS)) == kept


@pytest.fixture
def policy() -> RLSchertPolicy:
    torch.manual_seed(1)
    return RLSchertPolicy(new_rlschert_network("image_mlp", 16, False), "image_mlp", False)


def test_a_network_comes_back_with_short_weights(policy: RLSchertPolicy) -> None:
    content = network_to_bytes(policy, 16, {"seed": 1})
    other, card = study.network_from_bytes(content)
    assert card == {"seed": 1} and network_to_bytes(other, 16, card) == content
    for name, part in policy.network.state_dict().items():
        assert np.array_equal(short_floats(part.numpy()), other.network.state_dict()[name].numpy())


@pytest.mark.parametrize("wrong", [b"[]", b"no JSON", b"{}"])
def test_what_is_no_network_is_refused(wrong: bytes, policy: RLSchertPolicy) -> None:
    content = network_to_bytes(policy, 16, {})
    for damaged in (wrong, content.replace(b'"procs": 16', b'"procs": 18'), content[:-900]):
        with pytest.raises(ValueError, match="no network of RLSchert, or a damaged one"):
            study.network_from_bytes(damaged)


def test_kept_networks_decide() -> None:
    kept = {name: content for name, content in members_of(kept_archive("rlschert")).items() if name.endswith(".json")}
    assert len(kept) >= 3
    for content in kept.values():
        policy, card = study.network_from_bytes(content)
        assert policy.network.act(torch.zeros(1, HORIZON, 72)).shape == (1, 14) and 0 < card["iterations"] <= card["of"]


# tables: Rows of RLSchert's experiment.


@pytest.fixture(scope="module")
def tables(trained: list[TrainedScheduler], groups: list[Trials]) -> RLSchertTables:
    return make_tables(PLAN, trained, groups)


def test_a_row_for_every_sequence_of_every_trial(tables: RLSchertTables) -> None:
    heuristics = 2 * 7 + 4
    of_seeds = (4 + 1) * len(PLAN.seeds)  # RLSchert without killing under the stopping rule, too
    assert tables.results.height == (3 + 6 * 4) * (heuristics + of_seeds) + 4 * (heuristics + 5)
    assert tables.results["setting"].dtype == pl.Float64
    assert set(tables.comparisons["experiment"]) == set(tables.results["experiment"])
    assert {"RLSchert, learned killing", "SJF, whole queue, stopping rule"} <= set(tables.comparisons["policy"])


def test_curves_have_a_row_for_every_iteration(tables: RLSchertTables) -> None:
    assert tables.curves.height == 12
    assert tables.curves.columns[:4] == ["experiment", "policy", "kill", "seed"]


def test_jobs_and_holes_are_those_of_the_first_seed(tables: RLSchertTables) -> None:
    assert tables.jobs.height == (18 + 5) * 4 * PLAN.workload.jobs
    one = tables.jobs.filter(policy="SAF", kill="none")
    assert (one["finish"] - one["arrive"] - one["length"] == one["wait"]).all()
    of_results = tables.results.filter(experiment="main", part="test", policy="SAF", kill="none")
    assert tables.holes.filter(policy="SAF", kill="none")["holes"][-1] == pytest.approx(
        of_results["holes"].mean(), rel=0.2
    )
