"""Tables of decentralised PPO, from rows of the warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assets.experiments.tables import ExperimentEntry, comparisons, costs_of
from models.scheduling.arena import Windows
from studies.publishing.warehouse_tables import warehouse_tables
from warehouse import Warehouse, replace_partition

WINDOWS = Windows(np.arange(5, dtype=np.int64) * 100, 100)
COSTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def entries(goal: str) -> list[ExperimentEntry]:
    """A rule, PPO and DD-PPO of two logs. DD-PPO costs one less than the rule, and on the second log two less."""
    learned = [
        ExperimentEntry(f"{policy}, for {goal}", "requested", log, seed, COSTS - less)
        for policy, log, less in (("ppo", "large", 0.0), ("population", "large", 1.0), ("population", "larger", 2.0))
        for seed in (1, 2)
    ]
    return [ExperimentEntry("SAF", "requested", None, None, COSTS), *learned]


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, tuple[str, str]]:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    costs, differences = [], []
    for goal in ("bsld", "utilisation"):
        labels = {"experiment": "ddppo", "rules": "standard", "backfill": "easy", "goal": goal}
        rivals = [("SAF", "requested"), (f"ppo, for {goal}", "requested")]
        costs.append(costs_of(entries(goal), WINDOWS, labels))
        differences.append(comparisons(entries(goal), WINDOWS, labels, rivals))
    verdict: dict[str, Any] = {
        "experiment": "ddppo", "goal": "bsld", "policy": "population, large, for bsld", "seed": 1, "backfill": "easy",
        "estimates": "requested",
        "average_bounded_slowdown": 12.34, "average_wait_s": 7200.0, "p99_wait_s": 36_000.0, "max_wait_s": 86_400.0, "verdict": "trades",
    }  # fmt: skip
    with warehouse.write() as connection:
        columns = dict(
            connection.sql("SELECT column_name, column_type FROM (DESCRIBE experiments.verdicts)").fetchall()
        )
        numbers = {name: 1 for name, kind in columns.items() if name != "source" and kind in ("DOUBLE", "BIGINT")}
        replace_partition(connection, "experiments.window_costs", "mine", pl.concat(costs))
        replace_partition(connection, "experiments.comparisons", "mine", pl.concat(differences))
        texts = {name: "" for name, kind in columns.items() if name != "source" and kind == "VARCHAR"}
        tuned = verdict | {"policy": "without PBT, large, for bsld"}
        verdicts = pl.DataFrame([texts | numbers | row for row in (verdict, tuned)])
        replace_partition(connection, "experiments.verdicts", "mine", verdicts)
    return warehouse_tables(warehouse)


def test_windows_are_told_with_their_deviation(tables: dict[str, tuple[str, str]]) -> None:
    command, table = tables["ddppo, mine"]
    assert command == "tracehouse run mine --job ddppo_transfer"
    assert table.splitlines() == [
        "| policy | bounded slowdown | wait, s | turnaround, s | utilisation |",
        "| --- | --- | --- | --- | --- |",
        "| SAF | 3.0 ± 1.6 |  |  | -3.000 ± 1.581 |",
        "| our population, large | 2.0 ± 1.6 |  |  | -2.000 ± 1.581 |",
        "| our PPO, large | 3.0 ± 1.6 |  |  | -3.000 ± 1.581 |",
        "| our population, larger | 1.0 ± 1.6 |  |  | -1.000 ± 1.581 |",
    ]


def test_differences_are_paired_and_have_intervals(tables: dict[str, tuple[str, str]]) -> None:
    lines = tables["ddppo differences, mine"][1].splitlines()
    assert (
        lines[0] == "| metric | policy | seeds | minus FCFS's | minus SAF's | minus bounded key's | minus our PPO's |"
    )
    better = "-1.0 [-1.0, -1.0]"
    assert f"| bounded slowdown | our population, large | 2 |  | {better} |  | {better} |" in lines
    assert (
        "| bounded slowdown | our population, larger | 2 |  | -2.0 [-2.0, -2.0] |  |  |" in lines
    )  # it has no PPO of its own
    assert any(line.startswith("| utilisation | our population, large | 2 |  | +1.0000 [") for line in lines)


def test_logs_are_compared_and_replays_judged(tables: dict[str, tuple[str, str]]) -> None:
    assert tables["ddppo by training log"][1].splitlines() == [
        "| judged on | large | larger | larger minus large |",
        "| --- | --- | --- | --- |",
        "| mine | 2.0 | 1.0 | -1.0 [-1.0, -1.0] |",
    ]
    assert tables["ddppo verdicts, mine"][1].splitlines()[2:] == [
        "| our population, large, seed 1 | requested | 12.3 | 2.00 | 10.0 | 1.0 | trades |"
    ]
