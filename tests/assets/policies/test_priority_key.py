"""The stored key costs what is stored, on the windows that it was searched on."""

from __future__ import annotations

import numpy as np
import pytest

from assets.common.trace import Trace
from assets.policies.lessons import lessons_of
from assets.policies.training import PolicyTask, arena_of_task
from models.scheduling.options import KeySearchOptions
from models.scheduling.priority_key import PriorityKey
from warehouse import Warehouse


def test_the_key_costs_what_is_stored(warehouse: Warehouse, trained_trace: tuple[Trace, int]) -> None:
    trace, test_position = trained_trace
    with warehouse.read() as connection:
        row = connection.sql("FROM policies.priority_keys").pl().row(0, named=True)
    key = PriorityKey(row["log_c"], row["a"], row["b"])
    assert row["formula"] == key.formula and row["trained_jobs"] == test_position and row["keys_tried"] >= 20
    lessons = lessons_of(warehouse, trace, test_position, "bsld", 1)
    windows = lessons.windows.some(np.random.default_rng(1), KeySearchOptions().windows)
    arena = arena_of_task(trace, PolicyTask(estimates="predicted"))
    assert arena.costs(key.policy, windows).mean() == pytest.approx(row["cost"])
