"""Tests of tracehouse/text: habits_text."""

from __future__ import annotations

import numpy as np
import polars as pl

from assets.usage.habits import habits_of
from tests.simulator.jobs.people import log_of_people
from tracehouse.text.habits_text import habits_text, habits_values


def test_habits_fit_the_terminal() -> None:
    submit = np.arange(40) * 1_000
    users = ["a" * 30 if k % 2 else None for k in range(40)]
    rows = pl.DataFrame({"submit_s": submit, "end_s": submit + 900, "user": users, "core_hours": [1.0] * 40})
    rows = rows.with_columns(account=None, executable=None, dependency=None, job_id=pl.lit("7"))
    rows = rows.with_columns(gave_up_s=pl.Series([None] * 36 + [60, 120, 600, 3_600], dtype=pl.Int64))
    habits = habits_of(rows.with_columns(pl.col("user").fill_null("b").alias("user")), "UTC")
    lines = habits_text("mine", habits, 1, 80).splitlines()
    assert max(map(len, lines)) <= 80 and "and 1 more (--top)" in lines
    assert any(line.startswith("left out for the width of the terminal: ") for line in lines)
    unnamed = habits_text("mine", habits_of(rows, "UTC"), 1, None).splitlines()
    said = "gave up   2 jobs (10.0 %) were cancelled while they waited: after 31 min in the median, half of them after 16 min 30 s to"
    assert any(line.startswith(said) for line in unnamed) and any(
        "gave up  median wait then" in line for line in unnamed
    )
    assert unnamed[1] == "unnamed   20 more have no user, and are left out" and unnamed[2].startswith("one user  ")
    values = habits_values("mine", habits)
    assert values["think_s"]["p50"] == 1_100.0 and values["gave_up_s"] == {"p25": 105.0, "p50": 360.0, "p75": 1_350.0}
    assert values["gave_up"] == 4


def test_habits_of_service_accounts_say_within_what_their_jobs_follow() -> None:
    submit, end, person, _ = log_of_people(1)
    columns = {"submit_s": submit, "end_s": end, "account": person.astype(str)}
    portal = pl.DataFrame(columns).with_columns(
        user=pl.lit("portal"),
        executable=pl.lit("sh"),
        dependency=None,
        job_id=pl.lit("7"),
        core_hours=1.0,
        gave_up_s=None,
    )
    habits = habits_of(portal, "UTC")
    lines = habits_text("mine", habits, 5, None).splitlines()
    assert lines[2] == "lines     jobs of 1 user within one account follow each other, since more do so than by user"
    assert lines[3].startswith("soon ") and "follow within" in next(line for line in lines if line.startswith("user "))
    assert next(line for line in lines if line.startswith("portal")).endswith("  account")
    assert habits_values("mine", habits)["lines"] == {"user": 0, "account": 1, "executable": 0}
    by_user = habits_of(portal.with_columns(account=None), "UTC")
    assert by_user.lines["user"] == 1 and "one user  " in habits_text("mine", by_user, 5, None)


def test_habits_of_one_job_are_in_the_singular() -> None:
    one = pl.DataFrame({"submit_s": [0], "end_s": [9], "user": ["a"], "core_hours": [1.0], "gave_up_s": [60]})
    one = one.with_columns(account=None, executable=None, dependency=None, job_id=pl.lit("7"))
    habits = habits_of(pl.concat([one, one.with_columns(user=pl.lit(None, pl.String))]), "UTC")
    lines = habits_text("mine", habits, 1, None).splitlines()
    assert lines[:2] == ["mine: 1 job of 1 user", "unnamed   1 more has no user, and is left out"]
    assert any(line.startswith("gave up   1 job (100.0 %) was cancelled while it waited: ") for line in lines)
    two = pl.concat([one, one.with_columns(submit_s=pl.lit(20, pl.Int64), end_s=pl.lit(30, pl.Int64))])
    assert "follow    1 job comes at most 20 min after the end of an own job and follows it" in habits_text(
        "mine", habits_of(two, "UTC"), 1, None
    )


def test_no_longest_think_time_is_null() -> None:
    day = np.arange(20) * 86_400
    rows = pl.DataFrame({"submit_s": day, "end_s": day + 60, "user": ["a"] * 20, "core_hours": [1.0] * 20})
    rows = rows.with_columns(account=None, executable=None, dependency=None, job_id=pl.lit("7"), gave_up_s=None)
    assert habits_values("mine", habits_of(rows, "UTC"))["longest_think_s"] is None
