"""Tests of papers/schedinspector: inspector, inspector_own_rules, study."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from papers.schedinspector.inspector import inspector, own_split
from papers.schedinspector.study import inspected_costs, jobs_of_window_tables
from tests.papers.experiment_runs import QUICK, materialize, rows
from tests.pipelines.command_line import use_home
from tests.shared import shared_file
from tests.tiny import busy_log, warehouse_of

# inspector: Inspectors beside several policies, judged on later jobs.


def test_inspectors_and_their_rivals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(900, days=60))
    asked = QUICK | {
        "policies": ["SJF"],
        "methods": ["ppo"],
        "ppo": QUICK["ppo"] | {"layout": "inspecting"},
        "seeds": [1],
        "own_bases": ["F1"],
        "own_epochs": 1,
    }
    materialize(inspector, warehouse, asked)
    verdicts = rows(warehouse, "verdicts")
    by_name = {row["policy"]: row for row in verdicts.iter_rows(named=True)}
    assert {"SJF, inspect:accept", "SJF, inspect:unfit", "ppo, SJF, inspect:accept", "SJF", "key"} <= set(by_name)
    assert by_name["SJF, inspect:accept"]["average_wait_s"] == by_name["SJF"]["average_wait_s"]
    assert by_name["SJF, inspect:unfit"]["average_wait_s"] != by_name["SJF"]["average_wait_s"]
    stored = rows(warehouse, "policies")
    assert stored["file"].n_unique() == stored.height == 3 and set(stored["rules"]) == {"standard", "rlscheduler"}
    own = rows(warehouse, "window_costs").filter(pl.col("rules") == "rlscheduler")
    assert set(own["backfill"]) == {"none", "easy"}
    assert set(own["policy"]) == {"F1", "F1, inspect:unfit", "F1, standard rules", "ppo, F1, inspect:accept"}
    assert own["first_position"].min() >= 450, "windows that test are of the later half"
    found = rows(warehouse, "comparisons").filter(
        pl.col("rules") == "rlscheduler", pl.col("policy") == "F1, inspect:unfit"
    )
    assert set(found["rival"]) == {"F1, requested", "F1, inspect:unfit, requested", "F1, standard rules, requested"}


# inspector_own_rules: SchedInspector's own protocol: which windows teach, choose and test.


def test_later_jobs_test() -> None:
    split = own_split(10_000)
    assert (split.learn.scored.stop, split.choose.scored.start, split.judge.scored.start) == (4000, 4000, 5000)
    assert (split.learn.jobs, split.choose.jobs, split.judge.jobs) == (128, 256, 256)
    assert (len(split.choose), len(split.judge), split.trained_jobs) == (20, 100, 5000)
    assert not split.judge.continuous and split.after is None


def test_short_logs_have_shorter_windows() -> None:
    split = own_split(300)
    assert (split.learn.jobs, split.choose.jobs, split.judge.jobs) == (60, 15, 75)


# study: The figures of SchedInspector's rules without learning.


@pytest.mark.parametrize(
    ("base", "backfill", "figures"),
    [
        ("SJF", "none", [276.6, 92.4, 46.9, 46.9]),
        ("SAF", "easy", [54.0, 32.5, 26.9, 34.4]),
        ("FCFS", "easy", [235.8, 2656.0, 7273.8, 271.4]),
    ],
)
def test_figures_computed_before(base: str, backfill: str, figures: list[float]) -> None:
    shared_file("traces", "swf", "lublin_256.swf.gz")
    jobs, procs = jobs_of_window_tables("Lublin-1")
    assert inspected_costs(jobs, procs, base, backfill) == pytest.approx(figures, abs=0.05)
