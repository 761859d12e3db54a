"""Tests of assets/operations: two_periods, waits_and_waste."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.trace import load_clock, load_trace
from assets.operations.two_periods import TwoPeriods, compare_periods
from assets.operations.waits_and_waste import LOSSES, waits_and_waste
from assets.replay.scored_part import PartOptions, part_of
from assets.report.period import period_of
from tests.tiny import swf_line, warehouse_of
from warehouse import Warehouse

# two_periods: Two periods of a log by hand.

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
    assert result.later.words.startswith("the last complete month, 2026-02") and result.earlier.days == 31
    before, after = result.whole.to_dicts()
    assert (before["jobs"], before["known_waits"], after["jobs"], after["known_waits"]) == (62, 62, 57, 56)
    assert before["mean_wait_h"] == 1 and after["mean_wait_h"] == pytest.approx((28 + 10 + 18 * 3) / 56)
    assert before["started_in_1h"] == 1 and after["started_in_1h"] == pytest.approx(38 / 56)
    assert before["offered_load"] == pytest.approx(62 * 5 / (10 * 31 * 24))
    assert after["offered_load"] == pytest.approx((56 * 5 + 10) / (10 * 28 * 24))


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
        return result.earlier.days, result.later.days

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
    for words in (
        compare_periods(warehouse, "mine", "2026-02", "last-month").earlier.words,
        period_of(warehouse, "mine", PartOptions(period="last-month")).words,
        part_of(load_trace(warehouse, "mine").rows, load_clock(warehouse, "mine"), PartOptions(period="2026-01")).words,
    ):
        assert "a partial period: the log covers 2.0 of its 31 days" in words and "complete" not in words
    with warehouse.read() as connection:
        months = connection.execute(
            "SELECT month::VARCHAR, jobs, is_partial, covered_share FROM marts.months ORDER BY 1"
        ).fetchall()
    assert [row[:3] for row in months] == [("2026-01-01", 56, True), ("2026-02-01", 1, True)]
    assert months[0][3] == pytest.approx(2 / 31, abs=0.001)


# waits_and_waste: Who waited, and who wasted: every figure by hand.

MIDNIGHT = 1_767_225_600  # 1 January 2026
ENDS = ("completed", "failed", "cancelled", "timeout", "out_of_memory", "node_failure", "preempted", "requeued", "deadline",
        "unknown")  # fmt: skip
"""The canonical end states of core.jobs."""


@pytest.fixture
def one_of_each_end(tmp_path: Path) -> Warehouse:
    """Ten jobs of 4 processors and an hour, which asked for two, one for each end. Two users in turn; user 2 has account phys. They waited
    0, 1, 2 ... hours. The first has used 3 of its 4 core-hours, and 1 of the 4 GiB that it asked for."""
    lines = [swf_line(k, 60 * k, 3600 * k, 3600, 4, 7200, user=1 + k % 2) for k in range(len(ENDS))]
    warehouse = warehouse_of(
        tmp_path, f"; UnixStartTime: {MIDNIGHT}\n; TimeZoneString: UTC\n; MaxProcs: 8\n" + "".join(lines)
    )
    with warehouse.write() as connection:
        for k, status in enumerate(ENDS):
            connection.execute("UPDATE core.jobs SET status = ? WHERE job_index = ?", [status, k])
        connection.execute("UPDATE core.jobs SET queue = NULL")
        connection.execute("UPDATE core.jobs SET account = 'phys' WHERE user_name = '2'")
        connection.execute(
            "UPDATE core.jobs SET used_cpu_s = 3 * 3600, requested_memory_kb = 4194304, used_memory_kb = 1048576 WHERE job_index = 0"
        )
        connection.execute("UPDATE core.jobs SET requeued_s = 1800 WHERE job_index = 9")
    return warehouse


def test_every_end_but_completed_and_unknown_is_a_loss(one_of_each_end: Warehouse) -> None:
    whole = waits_and_waste(one_of_each_end, "mine").whole
    assert (whole["jobs"], whole["core_hours"], whole["lost_core_hours"]) == (10, 40, 8 * 4 + 2)
    assert [whole[name] for name in LOSSES] == [4, 4, 4, 4, 16, 2], "the other ends are four, and one was requeued"
    assert sum(whole[name] for name in LOSSES) == whole["lost_core_hours"]
    view = "SELECT sum(lost_core_hours), sum(jobs), count(*) FROM marts.waste"
    with one_of_each_end.read() as connection:
        assert connection.sql(view).fetchall() == [(34, 10, 2)], "a row for each user and account"


def test_what_was_requested_and_not_used(one_of_each_end: Warehouse) -> None:
    found = waits_and_waste(one_of_each_end, "mine")
    whole = found.whole
    assert (whole["requested_core_hours"], whole["unused_core_hours"]) == (80, 40)
    assert (whole["measured_core_hours"], whole["idle_core_hours"]) == (4, 1)
    assert (whole["requested_memory_gib_hours"], whole["unused_memory_gib_hours"]) == (4, 3)
    assert list(found.unused()) == ["unused_core_hours", "idle_core_hours", "unused_memory_gib_hours"]
    (other,) = found.groups("user").filter(value="2").to_dicts()
    assert other["idle_core_hours"] is None, "unknown is not zero"


def test_groups_add_up_and_come_in_order(one_of_each_end: Warehouse) -> None:
    found = waits_and_waste(one_of_each_end, "mine")
    assert found.groups("user", "waited_h").select("value", "waited_h").rows() == [("2", 25), ("1", 20)]
    assert found.groups("user", "lost_core_hours").select("value", "lost_core_hours").rows() == [("2", 18), ("1", 16)]
    assert found.groups("account")["value"].to_list() == ["phys", "unknown"]
    for kind in ("user", "account", "queue"):
        for name in ("jobs", "waited_h", "lost_core_hours", "unused_core_hours", "idle_core_hours"):
            assert found.groups(kind)[name].sum() == found.whole[name]
    assert found.are_named("account") and not found.are_named("queue")


def test_a_log_that_does_not_say_how_jobs_ended_has_no_losses(one_of_each_end: Warehouse) -> None:
    with one_of_each_end.write() as connection:
        connection.execute("UPDATE core.jobs SET status = 'unknown', requeued_s = 0")
    found = waits_and_waste(one_of_each_end, "mine")
    assert found.whole["lost_core_hours"] is None and found.losses() == {}


def test_jobs_of_a_period(one_of_each_end: Warehouse) -> None:
    found = waits_and_waste(one_of_each_end, "mine", "2026-01-01T00:02..2026-01-01T00:04")
    assert (found.whole["jobs"], found.whole["waited_h"]) == (2, 5) and "2026-01-01" in found.words
    assert waits_and_waste(one_of_each_end, "mine", "2026-01").whole["jobs"] == 10
    for period in ("2025-12", "2026-02", "2026-01-01T00:02:30..2026-01-01T00:02:40"):
        with pytest.raises(ValueError, match="no job of 'mine' was submitted in "):
            waits_and_waste(one_of_each_end, "mine", period)
    with pytest.raises(ValueError, match="'nobody' has no jobs: load it with"):
        waits_and_waste(one_of_each_end, "nobody")
