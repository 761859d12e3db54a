"""The stored scores: each is a replay of the whole log that can be made again."""

from __future__ import annotations

import polars as pl
import pytest

from assets.common.trace import load_trained_trace
from assets.evaluation.replay_evaluation import EVALUATED_ESTIMATES, contestants_of
from assets.evaluation.rivals import EXPERT_RIVALS
from assets.policies.registry import learned_policies
from models.judging.chance import random_orders
from models.judging.panel import scored_after
from simulator.engine.replay import replay
from simulator.metrics.metrics import metrics
from simulator.policies.registry import RIVAL_HEURISTICS
from tests.tiny import SOURCE
from warehouse import Warehouse


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
