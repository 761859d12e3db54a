"""Bounds that differ by holder and change are read from the past of each month."""

from __future__ import annotations

from models.identification.levels import held_moments
from models.identification.own_bounds import MONTH_S, BoundReading, excepted_limits, own_limits, readings_for
from models.identification.plateaus import pressure_of
from models.identification.rules import RUNNING_JOBS, Bound, IdentifiedRule
from tests.models.identification.hidden import PROCS, USERS, hidden_log

OWN = {f"user-{number}": 2 + number % 3 for number in range(USERS)}
RULE = IdentifiedRule(RUNNING_JOBS, "user", bounds=tuple(Bound(name, 0, value) for name, value in OWN.items()))


def test_each_holder_has_its_own_bound() -> None:
    log = hidden_log(RULE)
    pressure = pressure_of(log, "user", held_moments(log, PROCS))
    rule = own_limits(pressure, RUNNING_JOBS, BoundReading(), (0, int(log.start.max())), PROCS)
    assert rule is not None and len(rule.bounds) >= 8
    assert all(bound.value == OWN[bound.holder] for bound in rule.bounds)


def test_a_month_knows_nothing_of_itself() -> None:
    change = 4 * MONTH_S
    bounds = tuple(bound for name in OWN for bound in (Bound(name, 0, 2), Bound(name, change, 5)))
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", bounds=bounds), count=8000, days=240)
    pressure = pressure_of(log, "user", held_moments(log, PROCS))
    span = (0, int(log.start.max()))
    past = own_limits(pressure, RUNNING_JOBS, BoundReading(1.0, 1), span, PROCS)
    assert past is not None
    values = {(bound.since_s // MONTH_S, bound.value) for bound in past.bounds if bound.value is not None}
    assert all(value == 2 for month, value in values if month < 5) and (5, 5) in values
    beside = own_limits(pressure, RUNNING_JOBS, BoundReading(1.0, 1, beside=True), span, PROCS)
    assert beside is not None and beside != past
    assert len(readings_for(240 * 86_400)) > len(readings_for(86_400)) == 2


def test_a_common_bound_has_exceptions_above_and_below() -> None:
    bounds = (Bound("user-1", 0, 5), Bound("user-2", 0, 1))
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 3, bounds=bounds))
    pressure = pressure_of(log, "user", held_moments(log, PROCS))
    (rule, *_) = excepted_limits(pressure, RUNNING_JOBS, 0, PROCS)
    assert rule.value == 3 and set(rule.bounds) == set(bounds)
    assert rule.evidence.kept == rule.evidence.holders >= 8 and rule.evidence.broken == 0
    same = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 3))
    assert not list(excepted_limits(pressure_of(same, "user", held_moments(same, PROCS)), RUNNING_JOBS, 0, PROCS))
