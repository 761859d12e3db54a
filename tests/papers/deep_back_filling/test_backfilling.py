"""Agents that pick, the rules with their view and the rules with any, judged on later jobs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assets.common.storage import data_folder
from models.scheduling.policy_file import load_agent
from papers.deep_back_filling.backfilling import backfilling
from simulator.policies.agents import agent_text
from tests.assets.experiments.runs import QUICK, materialize, rows
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log, warehouse_of

GUARDED, OPEN = "pick:by=shortest,window=9-8", "pick:by=shortest,from=all,window=3-3"


def test_agents_and_their_rivals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(900, days=60))
    asked = QUICK | {"agents": [GUARDED, OPEN], "ppo": QUICK["ppo"] | {"layout": "picking"}, "seeds": [1]}
    materialize(backfilling, warehouse, asked)
    verdicts = rows(warehouse, "verdicts")
    names = set(verdicts["policy"])
    for agent in (GUARDED, OPEN):
        assert {f"FCFS, {agent}", f"ppo, FCFS, {agent}", f"evolution, FCFS, {agent}"} <= names
        for rule in ("oldest", "narrowest", "smallest"):
            assert f"FCFS, {agent.replace('shortest', rule)}" in names
    assert {"FCFS", "EASY-SJBF", "conservative", "SAF", "SAF, first fit", "key", "bounded-key"} <= names
    assert any("kept free" in name for name in names)
    assert verdicts.height == len(names), "one seed, so that no name comes twice"
    by_name = {row["policy"]: row for row in verdicts.iter_rows(named=True)}
    assert by_name["FCFS"]["verdict"] == "no difference"
    # the window sees every job here, so that the rule is EASY-SJBF
    sjbf, rule = by_name["EASY-SJBF"], by_name[f"FCFS, {GUARDED}"]
    assert rule["average_wait_s"] == sjbf["average_wait_s"]
    rivals = set(rows(warehouse, "comparisons")["rival"])
    assert {"EASY-SJBF, requested", "SAF, requested", "key, requested", f"FCFS, {OPEN}, requested"} <= rivals
    stored = rows(warehouse, "policies").filter(pl.col("experiment") == "backfilling")
    assert stored.height == 4 and set(stored["backfill"]) == {"easy"}
    assert stored["file"].n_unique() == 4
    for file, policy in stored.select("file", "policy").iter_rows():
        agent, card = load_agent(data_folder() / file)
        assert (
            card["policy"] == policy
            and agent.weights is not None
            and agent_text(agent) in policy.replace("by=shortest,", "")
        )
