"""Heuristics and learned policies on the later jobs of one replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common.trace import load_trace
from assets.experiments.held_out import held_out
from assets.experiments.tables import ExperimentEntry, comparisons, costs_of, verdicts_on, write_results
from assets.policies.verdicts import JudgedRule
from models.scheduling.arena import Windows
from tests.assets.experiments.runs import QUICK, materialize, rows
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log, warehouse_of


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
