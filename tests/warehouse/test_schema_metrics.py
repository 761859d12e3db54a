"""The two tables that hold metrics of schedules define them equally, as the simulator gives them."""

from __future__ import annotations

import pytest

import sql
from simulator.metrics.metrics import METRICS
from warehouse.schema import column_comments, table_columns

TABLES = ("replay.runs", "replay.period_scores")


def metric_lines(table: str) -> list[str]:
    """The lines of the definition that define a metric: name, type, whether it may be NULL, and comment."""
    return [line for line in sql.load(table).splitlines() if line.strip().split(" ")[0] in METRICS]


@pytest.mark.parametrize("table", TABLES)
def test_metrics_are_those_of_the_simulator_in_its_order(table: str) -> None:
    columns = table_columns(sql.load(table))
    names = [name for name, _ in columns]
    first = names.index(METRICS[0])
    assert names[first : first + len(METRICS)] == list(METRICS)
    assert {kind for name, kind in columns if name in METRICS} == {"DOUBLE"}


@pytest.mark.parametrize("table", TABLES[1:])
def test_metrics_are_defined_equally(table: str) -> None:
    assert len(metric_lines(table)) == len(METRICS)
    assert metric_lines(table) == metric_lines(TABLES[0])
    comments, others = column_comments(sql.load(table)), column_comments(sql.load(TABLES[0]))
    assert all(comments[name] == others[name] for name in METRICS)
