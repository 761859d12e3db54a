"""A source as questions about waits see it: names, job numbers and moments."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from models.waits.clock import LogClock
from models.waits.history import history_of
from models.waits.source import WaitSource
from tests.models.waits.states import rows_of


@pytest.fixture(scope="module")
def source() -> WaitSource:
    rows = rows_of().with_columns(
        job_id=pl.col("job_index").cast(pl.Utf8), user_name="user" + pl.col("user_number").cast(pl.Utf8)
    )
    return WaitSource("mine", rows, history_of(rows, 16), LogClock(datetime(2026, 1, 1), "Europe/Berlin"))


def test_moments_in_every_form(source: WaitSource) -> None:
    """The log's second 0 is 01:00 in Berlin."""
    assert (
        source.moment("86400") == 86_400 == source.moment("2026-01-02 01:00") == source.moment("2026-01-02T00:00+00:00")
    )
    without = replace(source, clock=replace(source.clock, has_dates=False))
    assert without.moment("86400") == 86_400
    with pytest.raises(ValueError, match="does not say which day it began: give a second of its own clock"):
        without.moment("2026-01-02")


@pytest.mark.parametrize(
    ("text", "message"),
    [("noon", "expected local time of the cluster"), ("2019-01-01", "is outside the log of 'mine'")],
)
def test_moments_that_are_none(source: WaitSource, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        source.moment(text)


def test_of_a_log_that_grows_the_last_submission_is_now(source: WaitSource) -> None:
    last = int(source.history.submit[-1])
    end = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=last)
    for now in (end, end + timedelta(hours=40)):
        assert source.usual_moment(now, 1) == (last, "the last submission in the warehouse")
    for now in (end + timedelta(days=3), end - timedelta(hours=1)):
        assert source.usual_moment(now, 1)[1] == "a busy moment, drawn with seed 1"


def test_of_another_log_a_busy_moment_is_drawn(source: WaitSource) -> None:
    without = replace(source, clock=replace(source.clock, has_dates=False))
    submit, leaves = source.history.submit, source.history.leaves
    now = datetime.now(UTC)
    moments = [without.usual_moment(now, seed)[0] for seed in range(30)]
    assert moments == [without.usual_moment(now, seed)[0] for seed in range(30)] and len(set(moments)) > 5
    for moment in moments:
        assert ((submit < moment) & (leaves > moment)).any() and moment >= submit[len(submit) // 2]


def test_where_nobody_waits_there_is_no_busy_moment(source: WaitSource) -> None:
    rows = rows_of().with_columns(start_s=pl.col("submit_s"))
    idle = replace(source, history=history_of(rows, 16))
    assert idle.usual_moment(datetime.now(UTC), 1)[1] == "the last submission: nobody waits in this log"


def test_a_job_is_asked_about_at_its_submission(source: WaitSource) -> None:
    moment, why = source.moment_of_job("3")
    assert why == "its submission" and moment == source.history.submit[list(source.history.job_index).index(3)]
    assert source.moment_of_job("no such job")[0] == source.history.submit[-1]


def test_a_message_has_dates_or_seconds(source: WaitSource) -> None:
    """Before, a date and "(seconds 0 to ...)" stood in one line."""
    first, last = source.span
    for text, clock in (("2019-01-01", source.clock), (str(last + 1), replace(source.clock, has_dates=False))):
        with pytest.raises(ValueError, match="is outside the log") as caught:
            replace(source, clock=clock).moment(text)
        assert ("second" in str(caught.value)) == (not clock.has_dates)
    with pytest.raises(ValueError, match=f"which has seconds {first} to {last} of the log's own clock$"):
        source.moment(str(last + 1))


def test_users_and_jobs(source: WaitSource) -> None:
    assert source.user_number("user3") == 3
    with pytest.raises(ValueError, match="source 'mine' has no job of user 'nobody' that ran"):
        source.user_number("nobody")
    history = source.history
    waits = history.leaves - history.submit
    number = int(waits.argmax())
    job_id = str(history.job_index[number])
    amid = int(history.submit[number] + waits[number] // 2)
    assert source.job_number(job_id, amid) == number
    with pytest.raises(ValueError, match=f"no job '{job_id}' had been submitted by"):
        source.job_number(job_id, int(history.submit[number]) - 1)
    with pytest.raises(ValueError, match=r"does not wait at .*, because it started at .*. Give an earlier --at"):
        source.job_number(job_id, int(history.leaves[number]))
