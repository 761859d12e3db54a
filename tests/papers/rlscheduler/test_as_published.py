"""Tests of papers/rlscheduler/as_published.py: the kept policies of RLScheduler's own training, and the tables of them."""

from __future__ import annotations

import pytest

from papers.kept_files import members_of
from papers.rlscheduler.as_published import (
    KEPT_TRAININGS,
    PUBLISHED_TRAININGS,
    SHOWN_EPOCHS,
    beside_paper,
    costs_beside,
    epoch_rows,
    judged_cost,
    kept_weights,
    mean_cost,
)
from papers.rlscheduler.study import PAPER_LOGS, PAPER_TRANSFER
from studies.publishing.results import stored
from tests.shared import shared_file


def test_curves_are_means_over_seeds() -> None:
    rows = epoch_rows("a-1,1,9,2\na-2,1,9,4\na-1,2,9,-6\nb-1,1,9,1\n")
    assert rows == {"a": ["3", "6", *["-"] * (len(SHOWN_EPOCHS) - 2)], "b": ["1", *["-"] * (len(SHOWN_EPOCHS) - 1)]}


def test_beside_a_curve_are_the_best_rule_and_random_orders_on_its_windows() -> None:
    shared_file("traces", "swf", "lublin_256.swf.gz")
    (training,) = [each for each in PUBLISHED_TRAININGS if (each.log, each.goal) == ("Lublin-1", "wait")]
    (line,) = [each for each in stored()["as_published, training curves"].lines if each.startswith("| lublin-1-wait-")]
    assert line.endswith(f"| {' | '.join(costs_beside(training))} |") and "(F1)" in line


def test_the_short_table_is_of_the_long_one() -> None:
    tables = stored()
    long, short = (
        [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[f"as_published, {name}"].lines[2:]]
        for name in ("bounded slowdown (V)", "beside the paper")
    )
    assert list(beside_paper(long)) == short
    assert short[1] == ["Lublin-1", "easy", "58.64", "54.00 (SAF)", "228.49", "68.75 to 78.85", "69.01 to 83.46"]


def test_a_row_of_transfer_on_its_own_log_is_that_of_the_other_table() -> None:
    tables = stored()
    here, there = (
        [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[f"as_published, {name}"].lines[2:]]
        for name in ("transfer (VII)", "beside the paper")
    )
    own = [[row[0], row[1], row[4], *row[5:]] for row in here if row[0] == row[2]]
    assert len(here) == 32 and sorted(own) == sorted([row[0], row[1], row[5], *row[3:5]] for row in there)


@pytest.mark.parametrize(("log", "other"), [("Lublin-1", "SDSC-SP2"), ("SDSC-SP2", "Lublin-1")])
def test_a_policy_of_another_log_costs_what_the_table_says(log: str, other: str) -> None:
    shared_file("traces", "swf", "lublin_256.swf.gz")
    members = members_of(KEPT_TRAININGS)
    trainings = [each for each in PUBLISHED_TRAININGS if (each.log, each.goal) == (other, "bsld")]
    costs = sorted(mean_cost(log, "bsld", "none", kept_weights(members, each, "last")) for each in trainings)
    line = f"| {log} | none | {other} | {PAPER_TRANSFER[log, 'none'][PAPER_LOGS.index(other)]} | {costs[0]:.2f} to {costs[-1]:.2f} |"
    lines = stored()["as_published, transfer (VII)"].lines
    assert len(costs) == 4 and any(each.startswith(line) for each in lines)


@pytest.mark.parametrize("log", ["Lublin-1", "SDSC-SP2"])
def test_a_kept_policy_costs_what_the_page_says(log: str) -> None:
    shared_file("traces", "swf", "lublin_256.swf.gz")
    members = members_of(KEPT_TRAININGS)
    trainings = [each for each in PUBLISHED_TRAININGS if (each.log, each.goal, each.filtered) == (log, "bsld", True)]
    costs = [f"{judged_cost(members, each, 'best', 'none'):.2f}" for each in trainings]
    (line,) = [
        line
        for line in stored()["as_published, bounded slowdown (V)"].lines
        if line.startswith(f"| {log} | ours, with the filter, best")
    ]
    assert line.split("|")[3].strip() == ", ".join(costs)
