"""Tests of models/identification: closed_hours, boundaries. What was closed is seen; days without such hours show none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.identification.boundaries import boundaries_seen, closures_seen
from models.identification.closed_hours import gates_seen, stopped_by, timezones_of
from models.identification.levels import held_moments
from models.identification.rules import BOUNDARY, HOURS, Edge, IdentifiedRule
from tests.models.identification.hidden import PROCS, hidden_log
from traces.cluster.reservations import Gate

WORKING = (0, 1, 2, 3, 4)
GATE = Gate(WORKING, 8 * 60, 18 * 60, over_time_s=2 * 3600, timezone="Europe/Berlin")
EDGES = tuple(Edge(WORKING, minute, "Europe/Berlin") for minute in (480, 1020))


def test_a_gate_is_seen_with_its_request_and_about_its_hours() -> None:
    log = hidden_log(IdentifiedRule(HOURS, "all", gate=GATE))
    gates = [rule.gate for rule in gates_seen(log, held_moments(log, PROCS))]
    near = [gate for gate in gates if gate is not None and gate.days == WORKING and gate.over_time_s is not None]
    assert any(
        3600 <= (gate.over_time_s or 0) < 4 * 3600
        and abs(gate.begin_minute - 480) <= 90
        and abs(gate.end_minute - 1080) <= 90
        for gate in near
    )


def test_boundaries_are_seen_together() -> None:
    log = hidden_log(IdentifiedRule(BOUNDARY, "all", edges=EDGES), count=4000)
    minutes = [sorted(edge.minute for edge in rule.edges) for rule in boundaries_seen(log)]
    assert [480, 1020] in minutes


def test_a_closed_morning_of_the_week_is_seen_and_no_day_without_one() -> None:
    closed = Edge((1,), 8 * 60, "Europe/Berlin", minutes=6 * 60)
    log = hidden_log(IdentifiedRule(BOUNDARY, "all", edges=(closed,)), count=4000)
    edges = [edge for rule in closures_seen(log) for edge in rule.edges]
    near = [edge for edge in edges if edge.days == closed.days and edge.timezone == closed.timezone]
    assert any(edge.minute <= closed.minute < 840 <= edge.minute + edge.minutes for edge in near)
    assert not closures_seen(hidden_log(count=4000))


def test_a_log_without_dates_or_of_a_week_shows_no_hours() -> None:
    log = hidden_log(count=400, days=60)
    assert timezones_of(replace(log, zero_s=None)) == ()
    short = hidden_log(count=400, days=7)
    assert gates_seen(short, held_moments(short, PROCS)) == boundaries_seen(short) == closures_seen(short) == []


def test_whom_a_gate_stops() -> None:
    log = hidden_log(count=400)
    stops = stopped_by(log, {"over_time_s": 7200, "over_cpus": 2, "partition": "long"})
    assert np.array_equal(stops, (log.jobs.limit > 7200) & (log.jobs.procs > 2))
