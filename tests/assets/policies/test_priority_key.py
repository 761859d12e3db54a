"""The stored key costs what is stored, on the windows that it was searched on."""

from __future__ import annotations

import pytest

from assets.common.trace import Trace
from assets.policies.training import PolicyTask, arena_of_task
from models.judging.judge import judge
from models.scheduling.priority_key import PriorityKey, searched_jobs
from warehouse import Warehouse


def test_the_key_costs_what_is_stored(warehouse: Warehouse, trained_trace: tuple[Trace, int]) -> None:
    trace, test_position = trained_trace
    with warehouse.read() as connection:
        row = connection.sql("FROM policies.priority_keys").pl().row(0, named=True)
    key = PriorityKey(row["log_c"], row["a"], row["b"], row["cap_s"])
    assert row["formula"] == key.formula and row["trained_jobs"] == test_position and row["keys_tried"] >= 20
    scored = searched_jobs(test_position)
    arena = arena_of_task(trace, PolicyTask(estimates="predicted"))
    ours, fcfs = (arena.replayed(policy, scored) for policy in (key.policy, "FCFS"))
    assert ours.panel().bounded_slowdown == pytest.approx(row["cost"])
    verdict = judge([ours], [fcfs]).verdict
    ratios = verdict.ratios[0]
    assert (row["verdict"], row["wait_ratio"]) == (verdict.word, pytest.approx(ratios.wait))
    assert row["bounded_slowdown_ratio"] == pytest.approx(ratios.bounded_slowdown)
