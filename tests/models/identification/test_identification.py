"""Tests of models/identification: closed_hours, logged_jobs, orders, plateaus, rules. The jobs of a log with what happened to them.

What holders had at a moment, counted again from scratch.

A limit that held is the likeliest of its kind, with evidence that can be counted.

Bounds that differ by holder and change are read from the past of each month.

What was closed is seen; days without such hours show none.

A rule is a value.

Sentences that an operator can confirm or deny.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.identification.closed_hours import boundaries_seen, closures_seen, gates_seen, stopped_by, timezones_of
from models.identification.logged_jobs import HolderLevels, Holders, held_moments, need_of
from models.identification.orders import queue_policy
from models.identification.plateaus import (
    MONTH_S,
    BoundReading,
    common_limits,
    evidence_of,
    excepted_limits,
    own_limits,
    pressure_of,
    readings_for,
)
from models.identification.rules import (
    BACKFILL,
    BOUNDARY,
    CYCLE,
    HOURS,
    LIMIT_KINDS,
    ORDER,
    OUTSTANDING_CPU,
    RUNNING_CPU,
    RUNNING_JOBS,
    SIZE,
    Bound,
    Edge,
    Evidence,
    IdentifiedRule,
    days_words,
    sentence_of,
)
from tests.models.identification.hidden import PROCS, USERS, hidden_log
from traces.cluster.description import Gate


def test_the_first_jobs_keep_their_names_and_columns_have_one_length() -> None:
    log = hidden_log(count=400)
    first = log.first(50)
    assert len(first.jobs) == len(first.wait) == len(first.holders["user"].number) == 50
    assert first.holders["user"].names == log.holders["user"].names
    with pytest.raises(ValueError, match="user has 1 values"):
        replace(log, holders={"user": Holders(np.zeros(1, dtype=np.int64), ("ann",))})


# --- levels


LOG = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 3), count=400)


def test_levels_are_sums_over_running_jobs() -> None:
    user, jobs, start = LOG.holders["user"].number, LOG.jobs, LOG.start
    levels = HolderLevels(LOG, user)
    for job in range(0, 400, 37):
        now, own = int(start[job]), user == user[job]
        runs = own & (start <= now) & (start + jobs.runtime > now)
        at = levels.at(user[[job]], start[[job]])
        assert at[RUNNING_JOBS][0] == runs.sum() and at[RUNNING_CPU][0] == jobs.procs[runs].sum()
        assert at[OUTSTANDING_CPU][0] == (jobs.procs * (start + jobs.limit - now))[runs].sum()
        assert levels.waiting(user[[job]], start[[job]])[0] == (own & (jobs.submit <= now) & (start > now)).sum()
    assert need_of(LOG, np.array([5]))[OUTSTANDING_CPU][0] == jobs.procs[5] * jobs.limit[5]


def test_held_moments_have_room() -> None:
    moments = held_moments(LOG, PROCS)
    assert len(moments.job) > 100
    jobs, start = LOG.jobs, LOG.start
    for job, second in list(zip(moments.job, moments.second, strict=True))[::40]:
        used = jobs.procs[(start <= second) & (start + jobs.runtime > second)].sum()
        assert jobs.submit[job] <= second < start[job] and PROCS - used >= jobs.procs[job]


# --- orders


def test_a_queue_goes_before_another() -> None:
    log = hidden_log(IdentifiedRule(ORDER, "all", word="queues:long,short"), count=400)
    score = queue_policy(log, ["long", "short"]).fixed(log.jobs, PROCS)  # type: ignore[misc]
    long = log.holders["queue"].number == 1
    assert score[long].max() < score[~long].min() and np.all(np.diff(score[long]) >= 0)


# --- plateaus


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


# --- own bounds


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


# --- closed hours


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


# --- rules


def test_rules_of_equal_parts_are_one() -> None:
    one, same = (IdentifiedRule(RUNNING_JOBS, "user", bounds=(Bound("ann", 0, 5),)) for _ in range(2))
    assert len({one, same}) == 1 and one.kind in LIMIT_KINDS and one.origin == "found"


# --- sentences


SEEN = Evidence(34, 31, 1480, 46)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            IdentifiedRule(RUNNING_JOBS, "user", 10, evidence=SEEN),
            "Each user has at most 10 running jobs: seen for 31 of 34 that could have had more.",
        ),
        (
            IdentifiedRule(RUNNING_CPU, "all", 64, queue="gpu", evidence=SEEN),
            "All jobs together has at most 64 running processors in queue gpu: seen for 31 of 34 that could have had more.",
        ),
        (
            IdentifiedRule(
                OUTSTANDING_CPU, "user", bounds=(Bound("a", 0, 3600), Bound("a", 9, 7200), Bound("b", 0, None))
            ),
            "Each user has a limit of its own on outstanding processor-hours, which changes from month to month: seen for 2, "
            "with 2 in the middle.",
        ),
        (
            IdentifiedRule(HOURS, "all", gate=Gate((0, 1, 2, 3, 4), 420, 1080, over_time_s=14_400), evidence=SEEN),
            "No job over 4 h starts from 07:00 to 18:00 on Monday to Friday (UTC): 46 did, where 1,480 were to be expected.",
        ),
        (
            IdentifiedRule(BOUNDARY, "all", edges=(Edge((5, 6), 480, "UTC"),), evidence=SEEN),
            "No job runs past 08:00 on Saturday and Sunday (UTC): 46 did, where 1,480 were to be expected.",
        ),
        (
            IdentifiedRule(RUNNING_JOBS, "user", 10, bounds=(Bound("ann", 0, 20), Bound("bob", 0, 5)), evidence=SEEN),
            "Each user has at most 10 running jobs (ann 20, bob 5): seen for 31 of 34 that could have had more.",
        ),
        (
            IdentifiedRule(CYCLE, "all", 121, evidence=Evidence(starts=2564, kept=1290)),
            "Jobs start every 121 s only: 1,290 of 2,564 pauses between starts last as long.",
        ),
        (IdentifiedRule(ORDER, "all", word="SJF"), "Jobs start in the order of SJF."),
        (IdentifiedRule(BACKFILL, "all", word="none"), "No job goes past one that does not fit."),
        (
            IdentifiedRule(SIZE, "all", bounds=(Bound("", 0, 48), Bound("", 9, 64))),
            "The cluster has 48, then 64 processors.",
        ),
    ],
)
def test_what_is_said(rule: IdentifiedRule, sentence: str) -> None:
    assert sentence_of(rule) == sentence


def test_days() -> None:
    assert [days_words(days) for days in (tuple(range(7)), (2,), (0, 2))] == [
        "all days",
        "Wednesday",
        "Monday and Wednesday",
    ]
