"""Which jobs are scored."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

from assets.replay.scored_part import PartOptions, part_of
from models.waits.clock import LogClock

BERLIN = LogClock(datetime(2025, 12, 31, 23), "Europe/Berlin")  # second 0 is midnight there
UNDATED = LogClock(datetime(1970, 1, 1), "Europe/Berlin", has_dates=False)
DAY = 86_400
JOBS = pl.DataFrame(
    {
        "submit_s": [
            0,
            30 * DAY,
            31 * DAY - 1,
            31 * DAY,
            58 * DAY,
            59 * DAY,
            70 * DAY,
        ],  # three in January, two in February
        "queue": ["short", "long", "short", "short", "long", None, "short"],
        "user_name": ["ann", "bob", "ann", "bob", "ann", "ann", "bob"],
        "account": [None] * 7,
    },
    schema_overrides={"account": pl.Utf8},
)


def chosen(clock: LogClock = BERLIN, jobs: pl.DataFrame = JOBS, **options: str) -> tuple[list[int], str]:
    part = part_of(jobs, clock, PartOptions(**options))
    return [k for k, is_scored in enumerate(part.mask) if is_scored], part.words


def test_periods_are_of_the_clusters_calendar() -> None:
    assert chosen(period="2026-01")[0] == [0, 1, 2]
    scored, words = chosen(period="last-month")
    assert scored == [3, 4]
    assert words == "the last complete month, 2026-02, Sun 2026-02-01 00:00 to Sun 2026-03-01 00:00 (Europe/Berlin)"
    scored, words = chosen(jobs=JOBS.head(3), period="Last-Month")
    assert scored == [0, 1, 2] and words.startswith("the only month that there is, 2026-01")
    assert chosen(period="last-12-days")[0] == [5, 6] and chosen(UNDATED, period="last-1-day")[0] == [6]


def test_moments_are_local_days_times_or_seconds() -> None:
    assert chosen(begin="2026-02-01")[0] == [3, 4, 5, 6] and chosen(end="2026-02-01")[0] == [0, 1, 2]
    assert chosen(begin="2026-01-31T00:00", end="2026-01-31 23:59:59")[0] == [1]
    assert chosen(UNDATED, begin=str(31 * DAY), end=str(59 * DAY)) == (
        [3, 4],
        "submitted seconds 2678400 to 5097600 of the log's own clock",
    )


def test_queue_user_and_account_narrow_what_is_scored() -> None:
    assert chosen(queue="short", user="bob") == ([3, 6], "queue short, user bob")
    assert chosen(period="2026-01", user="ann")[0] == [0, 2]
    assert PartOptions().is_all and PartOptions(queue="a", account="b").labels == ["queue", "account"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"period": "yesterday"}, "unknown period 'yesterday': expected last-month, a month such as 2026-03"),
        ({"period": "2026-13"}, "unknown period"),
        ({"period": "2026-01", "begin": "2026-01-02"}, "leave --from and --to out, or --period"),
        ({"period": "2027-01"}, "no job was submitted in this time (the month 2027-01"),
        ({"begin": "March"}, "--from March: expected a day such as 2026-03-01"),
        ({"begin": "2026-02-01", "end": "2026-01-01"}, "is not after --from 2026-02-01"),
        ({"queue": "huge"}, "no job queue huge: the commonest are short, long"),
        ({"account": "p1"}, "the log knows no account of its jobs"),
    ],
)
def test_what_chooses_nothing_is_refused_with_what_there_is(options: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("(", r"\(")):
        chosen(**options)


def test_a_log_without_dates_has_no_months() -> None:
    for options in ({"period": "last-month"}, {"begin": "2026-01-01"}):
        with pytest.raises(ValueError, match="does not say which day it is"):
            chosen(UNDATED, **options)
