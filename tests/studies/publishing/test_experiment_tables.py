"""Tables of the experiments that follow RLScheduler's paper, from rows of the warehouse."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from studies.publishing.warehouse_tables import warehouse_tables
from warehouse import Warehouse, replace_partition


def row(experiment: str, policy: str, cost: float, trained_on: str | None = None, **others: str) -> dict[str, object]:
    """A row of experiments.comparisons; each policy is compared with two rivals."""
    return {
        "experiment": experiment, "rules": "rlscheduler", "backfill": "none", "goal": "bsld", "policy": policy,
        "estimates": "requested", "trained_on": trained_on, "seeds": 3 if trained_on else 1, "windows": 10, "cost": cost,
        "difference": 0.0,
    } | others  # fmt: skip


ROWS = [
    row("published", "SAF", 292.881),
    row("published", "evolution", 264.2, "mine"),
    row("published", "evolution", 66.7, "mine", backfill="easy"),
    row("published", "evolution", -0.82, "mine", goal="utilisation_as_coded"),
    row("published_seen", "evolution", 243.9, "mine"),
    row("transfer", "SAF", 292.881),
    row("transfer", "UNICEP", 22_275.0),
    row("transfer", "evolution", 264.2, "mine"),
    row("transfer", "evolution", 308.9, "other"),
]


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, tuple[str, str]]:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    rivals = pl.concat([pl.DataFrame(ROWS).with_columns(rival=pl.lit(rival)) for rival in ("SAF", "FCFS")])
    curves = pl.DataFrame(
        [
            {
                "experiment": "filtering", "variant": "filtered", "seed": seed, "epoch": epoch, "phase": "all windows",
                "decisions": 1, "sampled_cost": 1.0, "validation_cost": 10.0 * seed + epoch,
            }
            for seed in (1, 2)
            for epoch in (1, 2, 3)
        ]
    )  # fmt: skip
    with warehouse.write() as connection:
        replace_partition(connection, "experiments.comparisons", "mine", rivals)
        replace_partition(connection, "experiments.curves", "mine", curves)
    return warehouse_tables(warehouse)


def test_learned_policies_of_the_published_protocol(tables: dict[str, tuple[str, str]]) -> None:
    command, table = tables["published, mine"]
    assert command == "tracehouse run mine --job experiments (experiments/published)"
    assert table.splitlines() == [
        "| goal | policy | learned from | seeds | none | easy |",
        "| --- | --- | --- | --- | --- | --- |",
        "| bounded slowdown (V) | SAF |  |  | 292.88 |  |",
        "| bounded slowdown (V) | evolution | other jobs | 3 | 264.20 | 66.70 |",
        "| bounded slowdown (V) | evolution | all jobs | 3 | 243.90 |  |",
        "| utilisation (VI) | evolution | other jobs | 3 | 0.820 |  |",
    ]


def test_transfer_names_the_worst_rule(tables: dict[str, tuple[str, str]]) -> None:
    lines = tables["transfer, evolution"][1].splitlines()
    assert lines[0] == "| judged on | mine | other | SAF | worst heuristic |"
    assert lines[2:] == ["| mine, none | 264.2 | 308.9 | 292.9 | 22275.0 (UNICEP) |"]


def test_curves_are_means_over_seeds(tables: dict[str, tuple[str, str]]) -> None:
    lines = tables["curves of filtering, mine"][1].splitlines()
    assert lines[0] == "| epoch | 1 | 2 |"
    assert lines[2] == "| filtered | 16.0 (11.0 to 21.0) | 17.0 (12.0 to 22.0) |"
