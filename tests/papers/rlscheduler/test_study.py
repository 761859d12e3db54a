"""The figures that are copied from RLScheduler's paper, against its text, and those of rules against that code's own results."""

from __future__ import annotations

import csv
from statistics import mean

import pytest

import tracehouse
from papers.rlscheduler.study import GOALS, PAPER_LOGS, PAPER_RL, PAPER_TRANSFER, mean_of, paper_cells
from tests.shared import shared_file


@pytest.mark.parametrize(("goal", "backfill"), PAPER_RL)
def test_copied_figures_are_in_the_paper(goal: str, backfill: str) -> None:
    text = " ".join(shared_file("papers", "rlscheduler-2020.txt").read_text().split())
    cells = [cell for cell in PAPER_RL[goal, backfill] if cell]
    if goal.startswith("utilisation"):  # this table is in the text line by line, the others are column by column
        table = text.split("TABLE VI:")[1].split("TABLE VII:")[0].split("Scheduling with Backfilling")
        rows = table[backfill == "easy"]
        for log, cell in zip(PAPER_LOGS, cells, strict=True):
            words = rows.split(f"{log} 0.")[1].split()
            assert words[5] == cell, (log, words[:6])
    else:
        assert " ".join(cells) in text


@pytest.mark.parametrize("backfill", PAPER_TRANSFER)
def test_table_seven_differs_from_table_five(backfill: str) -> None:
    text = " ".join(shared_file("papers", "rlscheduler-2020.txt").read_text().split())
    own = PAPER_RL["bounded slowdown (V)", backfill][PAPER_LOGS.index("HPC2N")]
    transfer = text.split("TABLE VII:")[1].split("TABLE VIII:")[0]
    assert PAPER_TRANSFER[backfill] in transfer and own not in transfer


def test_a_log_without_a_figure_has_a_hyphen() -> None:
    assert paper_cells("bounded slowdown (V)", ("HPC2N", "KTH-SP2")) == ["117.01", "86.14", "-", "-"]


@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_figures_are_those_of_the_code(backfill: str) -> None:
    with shared_file("golden", "rlscheduler", "windows.csv").open() as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["trace"] == "lublin-1"
            and row["heuristic"] == "SJF"
            and row["backfill"] == str(int(backfill == "easy"))
        ]
    assert len(rows) == 10
    trace = tracehouse.load_log(shared_file("traces", "swf", "lublin_256.swf.gz"), procs=256).trace()
    assert {"bsld", "wait", "utilisation_as_coded"} <= {metric for metric, _ in GOALS.values()}
    columns = {
        "utilisation_as_coded": "util_as_coded",
        "utilisation": "util_makespan",
        "bsld": "avg_bsld",
        "wait": "avg_wait",
    }
    for metric, column in columns.items():
        expected = mean(float(row[column]) for row in rows)
        assert mean_of(trace, "SJF", backfill, metric) == pytest.approx(expected, rel=1e-9)
