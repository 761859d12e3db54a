"""Who waited, and who wasted, in the report."""

from __future__ import annotations

from pathlib import Path

from assets.report.logged import read_logged
from assets.report.page import Heading, Table
from assets.report.waste import MOST_GROUPS, waste_blocks
from tests.assets.report.conftest import SOURCE, idle_log
from tests.tiny import busy_log, warehouse_of


def test_users_by_waits_and_by_waste(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(400))
    with warehouse.write() as connection:
        connection.execute("UPDATE core.jobs SET status = 'timeout' WHERE user_name = '3'")
        connection.execute("UPDATE core.jobs SET user_name = 'u' || job_index WHERE job_index < 20")
    heading, text, waited, wasted = waste_blocks(read_logged(warehouse, SOURCE))
    assert heading == Heading("Who waited, and who wasted")
    assert "went to jobs that did not complete" in str(text) and "were after the end of the job" in str(text)
    assert isinstance(waited, Table) and isinstance(wasted, Table)
    assert len(waited.rows) == MOST_GROUPS and "8 of " in waited.caption
    shares = [float(row[-1].removesuffix(" %")) for row in waited.rows]
    assert shares == sorted(shares, reverse=True)
    assert wasted.columns == ("user", "core-hours", "lost", "unused time, core-hours")
    assert wasted.rows[0][0] == "3" and wasted.rows[0][2].endswith("(100 %)")


def test_a_log_with_nothing_to_say_says_nothing(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, idle_log(30))
    with warehouse.write() as connection:
        connection.execute("UPDATE core.jobs SET user_name = NULL")
    assert waste_blocks(read_logged(warehouse, SOURCE)) == []
