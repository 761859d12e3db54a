"""Tables of VASP runs and of RLSchert's schedulers, from rows of the warehouse."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from studies.predicting.vasp_tables import remaining_table, seen_table
from studies.publishing.warehouse_tables import warehouse_tables
from warehouse import Warehouse, replace_partition

SCHEDULERS = {
    ("SJF", "none", 1): 9.0,
    ("SJF, whole queue", "none", 1): 3.0,
    ("SJF, whole queue", "stopping", 1): 2.0,
    ("RLSchert", "learned", 4): 3.5,
    ("RLSchert", "learned", 7): 4.5,
}


def result_rows() -> pl.DataFrame:
    """Two sequences of each scheduler, in the main trials and two sweeps. The second is slower by one."""
    places = [("main", 0.7, "training"), ("main", 0.7, "test")]
    places += [("preemption", cost, "test") for cost in (0.0, 5.0)]
    places += [("predictable", share, "test") for share in (0.0, 1.0)] + [("mixed", 0.5, "test")]
    return pl.DataFrame(
        [
            {
                "experiment": experiment, "setting": setting, "part": part, "policy": policy, "kill": kill, "seed": seed,
                "sequence": sequence, "slowdown": slowdown + sequence + setting / 10, "completion": 10 * slowdown,
                "holes": 1.0, "kills": 4 * (kill != "none"),
            }
            for experiment, setting, part in places
            for (policy, kill, seed), slowdown in SCHEDULERS.items()
            for sequence in (0, 1)
        ]
    )  # fmt: skip


def comparison_rows() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "experiment": "preemption", "setting": setting, "policy": "SJF, whole queue, stopping rule",
                "rival": "SJF, whole queue", "cost": 2.0, "difference": -1.0 + setting, "difference_low": -1.5 + setting,
                "difference_high": -0.5 + setting,
            }
            for setting in (0.0, 5.0)
        ]
    )  # fmt: skip


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, tuple[str, str]]:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.write() as connection:
        replace_partition(connection, "experiments.rlschert", "mine", result_rows())
        replace_partition(connection, "experiments.rlschert_comparisons", "mine", comparison_rows())
    return warehouse_tables(warehouse)


def test_schedulers_are_means_over_seeds_and_sequences(tables: dict[str, tuple[str, str]]) -> None:
    command, table = tables["rlschert, mine"]
    assert command == "tracehouse vasp run mine --job rlschert, with the seeds [4, 7]"
    assert table.splitlines()[2:] == [
        "| SJF | 9.57 | 9.57 |  | 90.0 |",
        "| our network, learned killing | 4.57 | 4.57 | 4.0 | 40.0 |",
        "| SJF, whole queue | 3.57 | 3.57 |  | 30.0 |",
        "| SJF, whole queue, stopping rule | 2.57 | 2.57 | 4.0 | 20.0 |",
    ]


def test_what_a_kill_costs_has_intervals(tables: dict[str, tuple[str, str]]) -> None:
    lines = tables["rlschert preemption, mine"][1].splitlines()
    assert lines[0] == "| `preemption_cost` | 0 | 5 |"
    assert "| our network, learned killing | 4.50 | 5.00 |" in lines
    expected = (
        "| SJF, whole queue, stopping rule, less SJF, whole queue | -1.00 (-1.50 to -0.50) | +4.00 (+3.50 to +4.50) |"
    )
    assert lines[-1] == expected


def test_shares_of_predictable_jobs_end_with_other_applications(tables: dict[str, tuple[str, str]]) -> None:
    lines = tables["rlschert predictable, mine"][1].splitlines()
    assert lines[0] == "| predictable jobs | 0 % | 100 % | half other applications |"
    assert lines[2] == "| SJF | 9.50 | 9.60 | 9.55 |"


def test_remaining_times_come_from_the_warehouse(tmp_path: Path) -> None:
    run = {"folder": "a", "outcar": "OUTCAR", "launch": 1, "ionic": "single", "predictor": "progress"}
    times = dict.fromkeys(["used_s", "remaining_s", *(f"remaining_p{share}_s" for share in (10, 25, 50, 75, 90))], 1.0)
    trials = [
        run | times | {"seed": 2, "progress": tenth / 10, "error": error, "split": split}
        for split, error in {"seen": 0.2, "unseen": 0.4}.items()
        for tenth in range(1, 11)
    ]
    score = {
        "predictor": "progress",
        "ionic": "all",
        "runs": 1,
        "systems": 1,
        "seeds": 1,
        "mape": 40.0,
        "median_error": 40.0,
    }
    scores = [score | {"progress": tenth / 10, "coverage": 1.0, "split": "unseen"} for tenth in range(1, 11)]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with warehouse.write() as connection:
        replace_partition(connection, "predictions.remaining_time_trials", "mine", pl.DataFrame(trials))
        replace_partition(connection, "predictions.remaining_time_scores", "mine", pl.DataFrame(scores))
    tables = warehouse_tables(warehouse)
    command, table = tables["remaining times, mine"]
    assert command == "tracehouse vasp run mine, with the seeds [2]"
    assert table.splitlines()[2] == f"| all: `progress` | 1, 1 |  |{' 40 (40) |' * 6}"
    seen = tables["remaining times of systems that were seen, mine"][1]
    assert seen.splitlines()[2] == "| `progress` | 20.0 (20.0) | 40.0 (40.0) |"


def test_remaining_times_by_tenths() -> None:
    row = {"ionic": "single", "runs": 9, "systems": 3}
    scores = [
        row | {"predictor": name, "progress": tenth, "mape": mean, "median_error": 7.4}
        for name, mean in {"inputs_only": 90.4, "ends_now": 82.0, "progress": 50.2}.items()
        for tenth in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
        if name == "inputs_only" or tenth
    ]
    lines = remaining_table(pl.DataFrame(scores)).splitlines()
    assert lines[0] == "|  | runs, systems | before | 10 % | 30 % | 50 % | 70 % | 90 % | 100 % |"
    assert lines[2].startswith("| single ionic step: parameters alone | 9, 3 | 90 (7) | 90 (7) |")
    assert lines[3].startswith("| `ends_now` |  |  | 82 (7) |") and lines[4].startswith("| `progress` |  |  | 50 (7) |")
    assert len(lines) == 5


def test_seen_beside_unseen() -> None:
    rows = [
        {"predictor": "progress", "split": split, "mean": mean, "median": 9.54}
        for split, mean in {"seen": 20.0, "unseen": 31.26}.items()
    ]
    assert seen_table(pl.DataFrame(rows)).splitlines()[2:] == ["| `progress` | 20.0 (9.5) | 31.3 (9.5) |"]
