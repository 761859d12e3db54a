"""A random order that is planted as a policy dominates in no table: each has a lottery beside it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.common.trace import Trace, load_trace
from assets.evaluation import replay_evaluation
from assets.evaluation.leaderboard import board_of, readable
from assets.evaluation.prediction_search import searched_uses, tried_uses
from assets.evaluation.random_orders import is_random_order, stored_cloud, with_share_as_good
from assets.evaluation.replay_evaluation import Contestant, period_replays
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.policies.verdicts import JudgedRule, chance_cloud, judge_rules, judged_replays
from assets.replay.compare import compare_runs
from assets.report.changes import scheduler_table
from assets.report.comparison import read_comparison, word_of
from assets.report.summary import _recommendation
from models.judging.judge import takes_over
from models.judging.verdict import DOMINATES, LIKE_CHANCE, MOST_AS_GOOD, plain_word
from models.runtime import search
from models.runtime.search import Configuration
from simulator.policies.registry import register_policy
from studies.judging import verdicts
from tests.assets.replay.scenarios.examples import results_of
from tests.models.judging.bursts import PROCS, bursts
from tests.pipelines.command_line import succeed, use_home
from tests.tiny import swf_line
from tracehouse.text.training_text import print_ratios
from tracehouse.text.what_if_text import what_if_text
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse, replace_partitions

PLANTED = "planted-lottery"


def _lottery(submit: np.ndarray) -> np.ndarray:
    return submit + np.random.default_rng(1001).random(len(submit)) * 4 * 3600


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
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
def trace(warehouse: Warehouse) -> Trace:
    return load_trace(warehouse, "mine")


@pytest.fixture(scope="module")
def scores(warehouse: Warehouse) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql("FROM replay.period_scores").pl()


def test_without_a_lottery_beside_it_the_planted_order_would_dominate(trace: Trace) -> None:
    ((_, judgement),) = judged_replays(trace, [JudgedRule(PLANTED, PLANTED)], trace.rows.height // 2)
    assert judgement.verdict.word == DOMINATES


def test_in_the_leaderboard(trace: Trace, scores: pl.DataFrame) -> None:
    board = board_of(scores)
    words = dict(board.select("policy", "verdict").iter_rows())
    assert words[PLANTED] == LIKE_CHANCE
    assert plain_word(words["WFP3"]) == DOMINATES, "what knows something still does"
    cloud, again = stored_cloud(scores), chance_cloud(trace, trace.rows.height // 2)
    assert cloud is not None and cloud.spread("wait") == pytest.approx(again.spread("wait"))
    by_lot = {row["policy"]: row for row in board.iter_rows(named=True) if row["policy"].startswith("random order, ")}
    ends = [by_lot[f"random order, {shown}"]["wait_ratio"] for shown in ("mean", "5 %", "95 %")]
    assert ends == pytest.approx(cloud.spread("wait")) and {row["rank"] for row in by_lot.values()} == {None}
    shown = readable(with_share_as_good(board, cloud))
    shares = dict(shown.select("policy", "random orders as good").iter_rows())
    assert shares[PLANTED] > MOST_AS_GOOD >= shares["WFP3"]
    assert scores.filter(is_random_order())["verdict"].null_count() == len(cloud.orders) == 102


def test_in_the_report(warehouse: Warehouse) -> None:
    compared = read_comparison(warehouse, "mine")
    rows = {row.name.split(" with ")[0]: row for row in compared.tried}
    assert word_of(rows[PLANTED]) == LIKE_CHANCE and rows[PLANTED].as_good > MOST_AS_GOOD  # type: ignore[operator]
    assert word_of(rows["WFP3"]) == DOMINATES
    table = scheduler_table("", compared, list(compared.tried))
    labels = [row[0] for row in table.rows]
    assert labels.index("Random order, mean of 102") in range(3, len(labels)), "among the others, by its mean wait"
    assert _recommendation(compared, PROCS)[1].startswith("Most orders by lot dominate EASY"), "and nothing is advised"


def test_in_what_if(warehouse: Warehouse) -> None:
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


def test_in_the_search_for_uses_of_predictions(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = Configuration(PLANTED, "easy", "requested")
    monkeypatch.setattr(search, "use_families", lambda: {"ordering": [planted]})
    monkeypatch.setattr(search, "PREDICTION_RIVALS", {"EASY": search.EASY})
    first = trace.rows.height // 2
    rows = searched_uses(trace, first, tried_uses(trace, first, 0, 1, slice(None)))
    words = rows.filter(policy=PLANTED).select("part", "verdict", "dominates_in_search").sort("part").rows()
    assert [row[0] for row in words] == ["choosing", "testing"]
    assert {plain_word(row[1]) for row in words} & {DOMINATES} == set() and not any(row[2] for row in words)
    assert rows.filter(pl.col("name").str.starts_with("random order"))["verdict"].unique().to_list() == [LIKE_CHANCE]


def test_in_a_comparison_of_saved_runs(warehouse: Warehouse) -> None:
    for name, policy in (("first", "FCFS"), ("lot", PLANTED), ("wise", "WFP3")):
        succeed("replay", "mine", "--policy", policy, "--save", name)
    by_lot, wise = (compare_runs(warehouse, "mine", "first", run)["verdict"] for run in ("lot", "wise"))
    assert (by_lot["word"], wise["word"]) == (LIKE_CHANCE, DOMINATES)
    assert by_lot["random_orders_as_good"] > MOST_AS_GOOD >= wise["random_orders_as_good"]
    assert "102 random orders: " in succeed("compare", "mine", "first", "lot")
