"""Tests of assets/replay: evaluation, policy_plots, random_orders, usual_changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sql
from assets.common.storage import open_warehouse
from assets.common.trace import Trace, load_trace, load_trained_trace
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.marts.leaderboard import board_of, readable
from assets.pages.changes import scheduler_table
from assets.pages.comparison import read_comparison, word_of
from assets.pages.summary import _recommendation
from assets.policies.registry import learned_policies
from assets.policies.verdicts import JudgedRule, chance_cloud, judge_rules, judged_replays
from assets.replay import evaluation as replay_evaluation
from assets.replay import policy_plots
from assets.replay.evaluation import (
    EVALUATED_ESTIMATES,
    EXPERT_RIVALS,
    Contestant,
    contestants_of,
    period_replays,
    with_threshold,
)
from assets.replay.random_orders import is_random_order, stored_cloud, with_share_as_good
from assets.replaying.compare import compare_runs
from models.judging.chance import random_orders
from models.judging.judge import takes_over
from models.judging.panel import scored_after
from models.judging.verdict import DOMINATES, LIKE_CHANCE, MOST_AS_GOOD, NO_VERDICT
from simulator.engine.replay import replay
from simulator.metrics.metrics import metrics
from simulator.policies.registry import RIVAL_HEURISTICS, register_policy
from studies.judging import verdicts
from tests.assets.replaying.scenarios.examples import results_of
from tests.models.judging.bursts import PROCS, bursts
from tests.pipelines.command_line import succeed, use_home
from tests.simulator.busy import PROCS as BUSY_PROCS
from tests.simulator.busy import busy_jobs
from tests.tiny import SOURCE, busy_log, swf_line, warehouse_of
from tracehouse.text.training_text import print_ratios
from tracehouse.text.what_if_text import what_if_text
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse, replace_partitions

# policy_plots: Figures of compared policies are drawn from what the tables hold.


def rows_of(warehouse: Warehouse, query: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(query, params={"source": SOURCE} if "$source" in query else None).pl()


def test_every_rank_has_a_line(warehouse: Warehouse) -> None:
    board = rows_of(warehouse, "FROM marts.leaderboard ORDER BY rank, policy, estimates")
    (ax,) = policy_plots.ranked_intervals(board).axes
    labels = [label.get_text() for label in ax.get_yticklabels()]
    best = board.row(0, named=True)
    assert len(labels) == board.height and labels[-1] == f"{best['policy']}, {best['estimates']}: {best['verdict']}"
    assert len(ax.lines) >= 2 * board.height, "slowdown and wait of each"


def test_usage_has_a_panel_per_policy(warehouse: Warehouse) -> None:
    usage = rows_of(warehouse, sql.load("replay.usage_over_time"))
    axes = policy_plots.usage_over_time(usage, 64).axes
    assert len(axes) == 3 and [line.get_label() for line in axes[-1].lines] == ["FCFS", "learned"]


def test_waits_of_log_and_replay_fall_from_all_jobs_to_the_longest_wait() -> None:
    (ax,) = policy_plots.logged_and_replayed(np.array([0, 3600, 7200]), np.array([60, 60, 36_000])).axes
    assert [line.get_label() for line in ax.lines] == ["log", "replay"]
    assert list(ax.lines[0].get_xdata()) == [2.0, 1.0, 1 / 60] and ax.lines[1].get_xdata()[0] == 10.0
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(100)


# random_orders: A random order that is planted as a policy dominates in no table: each has a lottery beside it.

PLANTED = "planted-lottery"


def _lottery(submit: np.ndarray) -> np.ndarray:
    return submit + np.random.default_rng(1001).random(len(submit)) * 4 * 3600


@pytest.fixture(scope="module")
def warehouse_of_random_orders(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """Of a home whose source `mine` is a log of bursts, on which most random orders beat FCFS. Its scores are stored."""
    register_policy(PLANTED, _lottery)
    folder = tmp_path_factory.mktemp("planted")
    with pytest.MonkeyPatch.context() as patch:
        catalogue, log = use_home(patch, folder / "home"), folder / "mine.swf"
        jobs, start = bursts().jobs, bursts().schedule.start
        columns = zip(
            *map(np.ndarray.tolist, (jobs.submit, start - jobs.submit, jobs.runtime, jobs.procs)), strict=True
        )
        lines = [swf_line(k + 1, submit, wait, run, wide, run) for k, (submit, wait, run, wide) in enumerate(columns)]
        log.write_text(f"; MaxProcs: {PROCS}\n" + "".join(lines))
        catalogue.write_text(f'[sources.mine]\nformat = "swf"\npath = "{log}"\n')
        update_raw_log(open_warehouse(), load_catalogue().source("mine"))
        write_jobs(open_warehouse(), "mine")
        patch.setattr(replay_evaluation, "EVALUATED_ESTIMATES", ("requested",))
        trace = load_trace(open_warehouse(), "mine")
        first = trace.rows.height // 2
        contestants = [Contestant("FCFS", "FCFS"), Contestant("WFP3", "WFP3"), Contestant(PLANTED, PLANTED)]
        scores, schedules, _ = period_replays(trace, contestants, first)
        split = pl.DataFrame({"test_job_index": [trace.rows["job_index"][first]], "train_share": [0.5]})
        tables = {"replay.period_scores": scores, "replay.schedules": schedules}
        replace_partitions(open_warehouse(), "mine", tables | {"predictions.training_splits": split})
        yield open_warehouse()


@pytest.fixture(scope="module")
def trace(warehouse_of_random_orders: Warehouse) -> Trace:
    return load_trace(warehouse_of_random_orders, "mine")


@pytest.fixture(scope="module")
def scores_of_random_orders(warehouse_of_random_orders: Warehouse) -> pl.DataFrame:
    with warehouse_of_random_orders.read() as connection:
        return connection.sql("FROM replay.period_scores").pl()


def test_without_a_lottery_beside_it_the_planted_order_would_dominate(trace: Trace) -> None:
    ((_, judgement),) = judged_replays(trace, [JudgedRule(PLANTED, PLANTED)], trace.rows.height // 2)
    assert judgement.verdict.word == DOMINATES


def test_in_the_leaderboard(trace: Trace, scores_of_random_orders: pl.DataFrame) -> None:
    board = board_of(scores_of_random_orders)
    words = dict(board.select("policy", "verdict").iter_rows())
    assert words[PLANTED] == LIKE_CHANCE
    assert words["WFP3"] == NO_VERDICT, "most random orders dominate here, so that nothing is said of any order"
    cloud, again = stored_cloud(scores_of_random_orders), chance_cloud(trace, trace.rows.height // 2)
    assert cloud is not None and cloud.spread("wait") == pytest.approx(again.spread("wait"))
    by_lot = {row["policy"]: row for row in board.iter_rows(named=True) if row["policy"].startswith("random order, ")}
    ends = [by_lot[f"random order, {shown}"]["wait_ratio"] for shown in ("mean", "5 %", "95 %")]
    assert ends == pytest.approx(cloud.spread("wait")) and {row["rank"] for row in by_lot.values()} == {None}
    shown = readable(with_share_as_good(board, cloud))
    shares = dict(shown.select("policy", "random orders as good").iter_rows())
    assert shares[PLANTED] > MOST_AS_GOOD >= shares["WFP3"]
    assert scores_of_random_orders.filter(is_random_order())["verdict"].null_count() == len(cloud.orders) == 102


def test_in_the_report(warehouse_of_random_orders: Warehouse) -> None:
    compared = read_comparison(warehouse_of_random_orders, "mine")
    rows = {row.name.split(" with ")[0]: row for row in compared.tried}
    assert word_of(rows[PLANTED]) == LIKE_CHANCE and rows[PLANTED].as_good > MOST_AS_GOOD  # type: ignore[operator]
    assert word_of(rows["WFP3"]) == NO_VERDICT
    table = scheduler_table("", compared, list(compared.tried))
    labels = [row[0] for row in table.rows]
    assert labels.index("Random order, mean of 102") in range(3, len(labels)), "among the others, by its mean wait"
    assert _recommendation(compared, PROCS)[1].startswith("Most orders by lot dominate EASY"), "and nothing is advised"


def test_in_what_if(warehouse_of_random_orders: Warehouse) -> None:
    results = results_of({"planted": {"policy": PLANTED}, "by width and wait": {"policy": "WFP3"}})
    rows = {row["scenario"]: row for row in results.rows.iter_rows(named=True)}
    assert rows["planted"]["verdict"] == LIKE_CHANCE and rows["planted"]["random_orders_as_good"] > MOST_AS_GOOD
    lines = what_if_text(results, None, 1).splitlines()
    (line,) = (line for line in lines if line.startswith("random order "))
    assert "5 to 95 %: -" in line


def test_in_the_tables_of_training_and_promotion(trace: Trace, capsys: pytest.CaptureFixture[str]) -> None:
    judged = judge_rules(trace, [JudgedRule(PLANTED, PLANTED)], trace.rows.height // 2)
    assert judged.judgements[PLANTED].verdict.word == LIKE_CHANCE
    print_ratios(judged, trace.rows.height // 2)
    planted, lottery = (
        line for line in capsys.readouterr().out.splitlines() if line.startswith((PLANTED, "random order "))
    )
    assert planted.endswith(LIKE_CHANCE) and " 5 to 95 %: " in lottery
    ((_, alone),) = judged_replays(trace, [JudgedRule(PLANTED, PLANTED)], trace.rows.height // 2)
    assert not takes_over(alone, cloud=lambda: judged.cloud)


def test_in_the_program_of_verdicts(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "RULES", (JudgedRule(PLANTED, PLANTED),))
    judged = verdicts.judged(trace, "KTH-SP2", chance_cloud(trace, trace.rows.height // 2))
    assert LIKE_CHANCE in verdicts.line(PLANTED, judged[PLANTED])


def test_in_a_comparison_of_saved_runs(warehouse_of_random_orders: Warehouse) -> None:
    for name, policy in (("first", "FCFS"), ("lot", PLANTED), ("wise", "WFP3")):
        succeed("replay", "mine", "--policy", policy, "--save", name)
    by_lot, wise = (
        compare_runs(warehouse_of_random_orders, "mine", "first", run)["verdict"] for run in ("lot", "wise")
    )
    assert (by_lot["word"], wise["word"]) == (LIKE_CHANCE, NO_VERDICT)
    assert by_lot["random_orders_as_good"] > MOST_AS_GOOD >= wise["random_orders_as_good"]
    assert "102 random orders: " in succeed("compare", "mine", "first", "lot")


# evaluation: The stored scores: each is a replay of the whole log that can be made again.


def test_every_contestant_is_judged_with_both_kinds_of_run_times(warehouse: Warehouse) -> None:
    _, test_position = load_trained_trace(warehouse, SOURCE)
    contestants = contestants_of(warehouse, SOURCE, test_position)
    with warehouse.read() as connection:
        rows = connection.sql("SELECT * EXCLUDE (source) FROM replay.period_scores ORDER BY ALL").pl()
    judged = len(EVALUATED_ESTIMATES) * (len(contestants) + 1) + 1 + len(EXPERT_RIVALS)
    assert rows["verdict"].count() == judged, "EASY-SJBF and the bounded key besides"
    assert rows.height == judged + len(random_orders(1000))


def test_the_whole_period_has_a_start_for_every_job(warehouse: Warehouse) -> None:
    trace, test_position = load_trained_trace(warehouse, SOURCE)
    with warehouse.read() as connection:
        counts = connection.sql(
            "SELECT policy, estimates, count(*) AS jobs, count(DISTINCT job_index) AS different, min(wait_s) AS least "
            "FROM replay.schedules GROUP BY ALL"
        ).pl()
    assert (
        counts["jobs"].unique().to_list()
        == counts["different"].unique().to_list()
        == [trace.rows.height - test_position]
    )
    assert (counts["least"] >= 0).all()


def test_the_period_is_scored_in_a_replay_of_the_whole_log(warehouse: Warehouse) -> None:
    """Not from an empty cluster: the jobs before it are replayed, too, and not scored."""
    trace, test_position = load_trained_trace(warehouse, SOURCE)
    jobs, procs = trace.jobs("predicted"), trace.cluster_procs
    schedule = replay(jobs, procs, "SAF")
    scored = scored_after(len(jobs), test_position)
    with warehouse.read() as connection:
        rows = connection.sql("SELECT * EXCLUDE (source) FROM replay.period_scores").pl()
        starts = connection.sql(
            "SELECT wait_s FROM replay.schedules WHERE policy = 'SAF' AND estimates = 'predicted' ORDER BY job_index"
        ).pl()
    stored = rows.row(by_predicate=(pl.col("policy") == "SAF") & (pl.col("estimates") == "predicted"), named=True)
    expected = metrics(jobs, schedule, procs, scored)
    assert {name: stored[name] for name in expected} == expected
    assert stored["jobs"] == len(jobs) - test_position
    assert starts["wait_s"].to_list() == (schedule.start - jobs.submit)[test_position:].tolist()


def test_every_policy_has_a_verdict_beside_the_incumbent(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        rows = connection.sql("SELECT * EXCLUDE (source) FROM replay.period_scores").pl()
    found = {(row["policy"], row["estimates"]): row for row in rows.to_dicts()}
    assert found["FCFS", "requested"]["verdict"] == "no difference"
    assert (found["FCFS", "requested"]["bounded_slowdown_ratio"], found["FCFS", "requested"]["payers"]) == (1.0, "")
    fcfs, saf = found["FCFS", "requested"], found["SAF", "requested"]
    assert saf["wait_ratio"] == pytest.approx(saf["average_wait_s"] / fcfs["average_wait_s"])
    assert saf["lost_capacity_change"] == pytest.approx(saf["loss_of_capacity"] - fcfs["loss_of_capacity"])
    intervals = {
        name: (saf[f"typical_{name}_low"], saf[f"typical_{name}_ratio"], saf[f"typical_{name}_high"])
        for name in ("slowdown", "wait")
    }
    assert all(low is None or low < ratio < high for low, ratio, high in intervals.values())
    assert {"EASY-SJBF", "bounded-key", "key", "learned"} <= {policy for policy, _ in found}
    assert found["EASY-SJBF", "predicted"]["backfill"] == "easy-sjbf" and ("bounded-key", "live") in found
    assert found["learned", "requested"]["seed"] is not None and saf["seed"] is None


def test_heuristics_key_and_learned_policies_are_compared(warehouse: Warehouse) -> None:
    _, test_position = load_trained_trace(warehouse, SOURCE)
    contestants = contestants_of(warehouse, SOURCE, test_position)
    assert [entry.policy for entry in contestants] == [*RIVAL_HEURISTICS, "key", "learned"], (
        "of the learned the champion"
    )
    assert contestants[-1].seed in (1, 2) and contestants[-1].weights is not None
    with pytest.raises(ValueError, match="trained on jobs that are now in the test part"):
        contestants_of(warehouse, SOURCE, learned_policies(warehouse, SOURCE)[0].trained_jobs - 1)


def test_a_source_that_nothing_is_trained_for_is_compared_without_key_and_learned(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(60))
    with pytest.raises(ValueError, match="no policy has been trained for source 'mine'"):
        contestants_of(warehouse, "mine", 30)
    contestants = contestants_of(warehouse, "mine", 30, is_trained=False)
    assert [entry.policy for entry in contestants] == [*RIVAL_HEURISTICS]


# rivals: Rules that an expert would name can be replayed, and nobody starves under those with a threshold.


@pytest.mark.parametrize("rule", EXPERT_RIVALS, ids=lambda rule: rule.name)
def test_each_orders_a_busy_queue_in_its_own_way(rule: JudgedRule) -> None:
    jobs = busy_jobs(300)
    assert not np.array_equal(
        replay(jobs, BUSY_PROCS, rule.policy, rule.backfill).start, replay(jobs, BUSY_PROCS, "FCFS", "easy").start
    )


def test_whoever_has_waited_for_the_threshold_goes_first() -> None:
    jobs = busy_jobs(300)
    all_over, none_over = (
        replay(jobs, BUSY_PROCS, with_threshold("SJF", "estimate", hours).policy) for hours in (0, 10**6)
    )
    assert np.array_equal(none_over.start, replay(jobs, BUSY_PROCS, "SJF").start)
    waits = [replay(jobs, BUSY_PROCS, policy).start - jobs.submit for policy in ("FCFS", "SJF")]
    assert waits[1].max() > 6 * 3600, "so that the threshold matters here"
    assert (all_over.start - jobs.submit).max() < waits[1].max()
