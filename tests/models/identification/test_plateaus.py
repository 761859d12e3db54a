"""A limit that held is the likeliest of its kind, with evidence that can be counted."""

from __future__ import annotations

import pytest

from models.identification.levels import held_moments
from models.identification.plateaus import common_limits, evidence_of, pressure_of
from models.identification.rules import OUTSTANDING_CPU, RUNNING_CPU, RUNNING_JOBS, IdentifiedRule
from tests.models.identification.hidden import PROCS, hidden_log


@pytest.mark.parametrize(("kind", "bound"), [(RUNNING_JOBS, 3), (RUNNING_CPU, 9), (OUTSTANDING_CPU, 24 * 3600)])
def test_the_bound_that_held_comes_first(kind: str, bound: int) -> None:
    log = hidden_log(IdentifiedRule(kind, "user", bound))
    pressure = pressure_of(log, "user", held_moments(log, PROCS))
    values = [rule.value for rule in common_limits(pressure, kind)]
    assert any(0.9 * bound <= value <= bound for value in values)
    evidence = evidence_of(pressure, kind, bound)
    assert evidence.holders >= 8 and evidence.explained > 0.8
    if kind == RUNNING_JOBS:
        assert values[0] == bound and evidence.kept == evidence.holders and evidence.broken == 0


def test_without_waiting_beside_room_there_is_no_limit() -> None:
    log = hidden_log(count=400, days=200)
    assert list(common_limits(pressure_of(log, "user", held_moments(log, PROCS)), RUNNING_JOBS)) == []
