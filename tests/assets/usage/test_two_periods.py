"""Tests of assets/usage/two_periods: two periods of a log by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from assets.common.trace import load_clock, load_trace
from assets.pages.logged import read_logged
from assets.pages.period import period_of
from assets.replaying.running.scored_part import PartOptions, part_of
from assets.usage.two_periods import TwoPeriods, compare_periods
from assets.usage.waits_and_waste import waits_and_waste
from tests.tiny import swf_line, warehouse_of
from tracehouse.cli.commands.periods import periods_text
from warehouse import Warehouse

DAY = 86_400
HEADER = "; MaxProcs: 10\n; UnixStartTime: 1767225600\n; TimeZoneString: UTC\n"  # 1 January 2026


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """A job of user 1 and one of user 2 each day of January and February, of one hour on five processors. They wait one hour, from 11
    February on user 2 waits three hours, and the last day has a job of unknown wait."""
    lines = []
    for day in range(59):
        for user in (1, 2):
            wait = 3 * 3600 if user == 2 and day >= 41 else 3600
            lines.append(swf_line(2 * day + user, day * DAY + user, wait, 3600, 5, user=user))
    lines.append(swf_line(999, 58 * DAY + 9, -1, 3600, 10, user=3))
    lines.append(swf_line(1000, 59 * DAY, 0, 3600, 1, user=3))  # March has begun
    return warehouse_of(tmp_path, HEADER + "".join(lines))


def test_the_last_complete_month_beside_the_month_before(warehouse: Warehouse) -> None:
    result = compare_periods(warehouse, "mine")
    assert result.later.words.startswith("the last complete month, 2026-02") and result.earlier.covered_days == 31
    before, after = result.whole.to_dicts()
    assert (before["jobs"], before["known_waits"], after["jobs"], after["known_waits"]) == (62, 62, 57, 56)
    assert before["mean_wait_h"] == 1 and after["mean_wait_h"] == pytest.approx((28 + 10 + 18 * 3) / 56)
    assert before["started_in_1h"] == 1 and after["started_in_1h"] == pytest.approx(38 / 56)
    assert before["offered_load"] == pytest.approx(62 * 5 / (10 * 31 * 24))
    assert after["offered_load"] == pytest.approx((56 * 5 + 10) / (10 * 28 * 24))


def test_the_load_of_a_partial_period_is_of_what_the_log_covers(tmp_path: Path) -> None:
    """A log of an hour was said to have used 0 % of its month."""
    lines = [swf_line(1 + k, k * 600, 0, 3600, 5) for k in range(7)]
    (row,) = compare_periods(warehouse_of(tmp_path, HEADER + "".join(lines)), "mine").whole.to_dicts()
    assert row["offered_load"] == pytest.approx(7 * 5 / (10 * 3601 / 3600))


def test_ends_that_are_unknown_are_no_successes(tmp_path: Path) -> None:
    """Before, 0 % of such jobs had failed."""
    lines = [swf_line(1 + k, k * 600, 0, 3600, 5).split() for k in range(3)]
    log = "".join(" ".join([*fields[:10], "-1", *fields[11:]]) + "\n" for fields in lines)
    result = compare_periods(warehouse_of(tmp_path, HEADER + log), "mine")
    assert result.whole["failed_share"].to_list() == [None]
    assert "failed" not in periods_text("mine", result, (), 3, None)


def test_who_makes_the_difference(warehouse: Warehouse) -> None:
    groups = compare_periods(warehouse, "mine").groups
    users = groups.filter(kind="user").to_dicts()
    assert [row["jobs_before"] for row in users] == [31, 31] and {row["jobs"] for row in users} == {28}
    assert users[0]["contribution_h"] == pytest.approx((10 + 18 * 3) / 56 - 0.5) and users[0]["mean_wait_h_before"] == 1
    assert users[1]["contribution_h"] == pytest.approx(0)
    change = (28 + 10 + 18 * 3) / 56 - 1
    for kind in ("queue", "account", "user", "size"):
        assert groups.filter(kind=kind)["contribution_h"].sum() == pytest.approx(change), kind


def test_since_when(warehouse: Warehouse) -> None:
    result = compare_periods(warehouse, "mine")
    assert (result.since, result.before_h, result.after_h) == ("2026-02-11", 1.0, 2.0)


def test_other_periods(warehouse: Warehouse) -> None:
    def spans(result: TwoPeriods) -> tuple[float, float]:
        return result.earlier.covered_days, result.later.covered_days

    assert spans(compare_periods(warehouse, "mine", "last-7-days")) == (7, 7)
    assert spans(compare_periods(warehouse, "mine", "2026-01", "2026-02")) == (31, 28), "in the order of time"
    few = compare_periods(warehouse, "mine", "2026-01-03..2026-01-05")
    assert few.earlier.words == "Thu 2026-01-01 00:00 to Sat 2026-01-03 00:00 (UTC)"
    assert few.since is None, "four days are too few to say since when"


@pytest.mark.parametrize(
    ("later", "earlier", "says"),
    [
        ("2026-02", "2026-01-15..2026-02-15", "the periods overlap"),
        ("2026-02", "2025-12", "no job with a known wait was submitted in the month 2025-12"),
        ("last-year", None, "unknown period 'last-year': expected last-month"),
        ("2026-01-05..2026-01-03", None, "ends before it begins"),
        ("2026-01-05..soon", None, "period soon: expected a day such as"),
    ],
)
def test_what_cannot_be_compared(warehouse: Warehouse, later: str, earlier: str | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        compare_periods(warehouse, "mine", later, earlier)


def test_a_period_outside_the_log_is_no_partial_one(warehouse: Warehouse) -> None:
    """Before, the month before was named first, with 0.0 days that the log covers of it."""
    with pytest.raises(ValueError, match=r"submitted in the month 2027-05, .*: jobs were submitted from ") as fault:
        compare_periods(warehouse, "mine", "2027-05")
    assert "Thu 2026-01-01" in str(fault.value) and "partial" not in str(fault.value)


def test_a_period_without_an_earlier_one_is_shown_alone(warehouse: Warehouse) -> None:
    """A log of eleven days was told that no job was submitted before it, and nothing more."""
    only = compare_periods(warehouse, "mine", "2026-01")
    both = compare_periods(warehouse, "mine", "2026-02")
    assert only.earlier is None and only.groups.is_empty() and only.since is None
    assert only.whole.rows() == both.whole.rows()[:1]
    with pytest.raises(ValueError, match="no job with a known wait was submitted in the month 2025-12"):
        compare_periods(warehouse, "mine", "2026-01", "2025-12")


def test_without_waits_and_without_a_source(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, HEADER + "".join(swf_line(k, k * DAY, -1, 60, 1) for k in range(1, 60)))
    with pytest.raises(ValueError, match="no job with a known wait"):
        compare_periods(warehouse, "mine")
    with pytest.raises(ValueError, match="'other'"):
        compare_periods(warehouse, "other")


def test_a_partial_month_is_named_so_everywhere(tmp_path: Path) -> None:
    """A tool that was asked for the last two days of January gives what ended then: older jobs that still ran, and none that had ended."""
    lines = [swf_line(k + 1, (20 + k) * DAY, 60, (9 - k) * DAY, 1) for k in range(8)]
    lines += [swf_line(9 + k, 29 * DAY + k * 3600, 60, 60, 1) for k in range(48)]
    warehouse = warehouse_of(tmp_path, HEADER + "".join([*lines, swf_line(99, 32 * DAY, 60, 60, 1)]))
    partial = compare_periods(warehouse, "mine", "2026-02", "last-month")
    load = 47 * 60 / 3600 / (partial.earlier.covered_days * 24 * 10)
    assert partial.whole["offered_load"][0] == pytest.approx(load), (
        "without jobs of the days that the log does not cover"
    )
    for words in (
        partial.earlier.words,
        period_of(warehouse, "mine", PartOptions(period="last-month")).words,
        part_of(load_trace(warehouse, "mine").rows, load_clock(warehouse, "mine"), PartOptions(period="2026-01")).words,
        waits_and_waste(warehouse, "mine", "last-month").words,
    ):
        assert "a partial period: the log covers 2.0 of its 31 days" in words and "complete" not in words
    with warehouse.read() as connection:
        months = connection.execute(
            "SELECT month::VARCHAR, jobs, is_partial, covered_share FROM marts.months ORDER BY 1"
        ).fetchall()
    assert [row[:3] for row in months] == [("2026-01-01", 56, True), ("2026-02-01", 1, True)]
    extent = read_logged(warehouse, "mine").extent
    assert list(extent.unfinished_months.values()) == ["from 30 Jan", "to 2 Feb"]
    earlier = replace(extent, first_s=extent.first_s - 40 * DAY)
    assert list(earlier.unfinished_months.items())[:2] == [
        (date(2025, 12, 1), "before 30 Jan"),
        (date(2026, 1, 1), "from 30 Jan"),
    ], "a month of survivors alone is not drawn as a full one"
    assert months[0][3] == pytest.approx(2 / 31, abs=0.001)
