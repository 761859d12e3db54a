"""Who waited, and who wasted: every figure by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.operations.waits_and_waste import LOSSES, waits_and_waste
from tests.tiny import swf_line, warehouse_of
from warehouse import Warehouse

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
