"""Rows of RLSchert's experiment."""

from __future__ import annotations

import polars as pl
import pytest

from papers.rlschert.ladder import TrainedScheduler
from papers.rlschert.tables import RLSchertTables, make_tables
from papers.rlschert.trials import Trials
from tests.papers.rlschert.tiny_plan import PLAN


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
