"""Tests of assets/pages: happened, logged.

What happened: what a log tells is shown, and what it does not tell is said.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.pages.happened import MOST_GROUPS, happened_section, size_rows, waste_blocks
from assets.pages.logged import read_logged
from assets.pages.page import (
    Block,
    Chart,
    Heading,
    Table,
)
from tests.assets.pages.conftest import SOURCE, idle_log
from tests.tiny import busy_log, swf_line, warehouse_of
from warehouse import Warehouse


def blocks_of(folder: Path, text: str) -> list[Block]:
    return list(happened_section(read_logged(warehouse_of(folder, text), "mine")).blocks)


def charts_of(blocks: list[Block]) -> list[str]:
    return [block.name for block in blocks if isinstance(block, Chart)]


def tables_of(blocks: list[Block]) -> dict[str, Table]:
    return {block.caption: block for block in blocks if isinstance(block, Table)}


def test_a_log_that_tells_much(graded: Warehouse) -> None:
    blocks = list(happened_section(read_logged(graded, "mine")).blocks)
    assert charts_of(blocks) == ["started-within", "waits-by-month", "backlog", "use-by-month", "requests"]
    tables = tables_of(blocks)
    waits = tables["Waits by size of the job"]
    assert waits.columns[1:] == (
        "jobs", "mean wait", "median wait", "95 % wait at most", "started within 1 h", "started within 24 h",
    )  # fmt: skip
    assert [row[0] for row in waits.rows] == ["all jobs", "1 processor", "2 to 4 processors", "over 4 processors"]
    assert sum(int(row[1]) for row in waits.rows[1:]) == int(waits.rows[0][1]) == 600
    assert tables["Waits by queue, the busiest first"].rows[0][0] == "1"
    assert tables["Core-hours by user, most first"].columns[0] == "user"
    assert any(isinstance(block, str) and "The backlog was largest around" in block for block in blocks)


def test_sizes_without_jobs_have_no_row(tmp_path: Path) -> None:
    logged = read_logged(
        warehouse_of(tmp_path, "; MaxProcs: 64\n" + swf_line(1, 0, 0, 10, 1) + swf_line(2, 0, 0, 10, 40)), "mine"
    )
    assert [label for label, _ in size_rows(logged)] == ["1 processor", "over 16 processors"]


def test_what_the_log_does_not_tell_is_said_and_not_drawn(tmp_path: Path) -> None:
    nobody = "".join(f"{k} {k}0 -1 100 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n" for k in range(1, 150))
    blocks = blocks_of(tmp_path, f"; MaxProcs: 4\n{nobody}")
    assert not charts_of(blocks) and not tables_of(blocks)
    for sentence in (
        "The log does not say when its jobs started, so it has no waits.",
        "The log does not say when its jobs started, so nobody knows what was in use and what waited.",
        "The log names neither accounts nor groups nor users.",
        "The log does not say how its jobs ended.",
        "The log has no requested times.",
    ):
        assert sentence in blocks


def test_where_nobody_waited_there_is_no_chart_of_waits(tmp_path: Path) -> None:
    blocks = blocks_of(tmp_path, idle_log(200))
    assert "Nobody waited longer than a minute." in blocks
    assert charts_of(blocks) == ["backlog", "requests"]


@pytest.mark.parametrize(("jobs", "said"), [(99, True), (100, False)])
def test_few_jobs_are_said_to_be_few(tmp_path: Path, jobs: int, said: bool) -> None:
    sentence = f"The log has {jobs} jobs only. Shares and percentiles of so few say little."
    assert (sentence in blocks_of(tmp_path, busy_log(jobs, days=5))) == said


def test_percentiles_need_enough_jobs(tmp_path: Path) -> None:
    lines = [swf_line(k, 1000 * k, 5000, 100, 1) for k in range(1, 20)] + [
        swf_line(k, 1000 * k, 5000, 100, 2) for k in range(20, 40)
    ]
    rows = tables_of(blocks_of(tmp_path, "; MaxProcs: 4\n" + "".join(lines)))["Waits by size of the job"].rows
    assert [row[4] for row in rows] == ["1.4 h", "too few", "1.4 h"]


def test_ends_of_jobs_add_up(tmp_path: Path) -> None:
    lines = [swf_line(k, 86_400 * 10 * k, 0, 3600, 2, status=(1, 0, 5)[k % 3]) for k in range(1, 16)]
    blocks = blocks_of(tmp_path, "; UnixStartTime: 1767225600\n; MaxProcs: 4\n" + "".join(lines))
    rows = tables_of(blocks)["How jobs ended"].rows
    assert [row[:2] for row in rows] == [["completed", "5"], ["failed", "5"], ["cancelled", "5"]]
    assert {row[2] for row in rows} == {"33 %"} and {row[3] for row in rows} == {"10"}
    assert "failures" in charts_of(blocks)


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


def test_users_whose_jobs_follow_own_ones(tmp_path: Path) -> None:
    """Jobs of user 1 come two minutes after the last one has ended. Those of user 2 come at times of their own."""
    lines = [swf_line(k, 400 * k + 1, 0, 280, 1, user=1) for k in range(1, 40)]
    lines += [swf_line(100 + k, 4000 * k, 0, 100, 1, user=2) for k in range(1, 4)]
    blocks = blocks_of(tmp_path, "; MaxProcs: 4\n" + "".join(sorted(lines, key=lambda line: int(line.split()[1]))))
    place = blocks.index(Heading("Who waits for own jobs"))
    assert str(blocks[place + 1]).startswith(
        "90 % of the jobs came at most 20 min after the end of an own job, half of these within 2 min,"
    )
    table = tables_of(blocks)["Users whose jobs follow own ones, most first"]
    assert table.rows == [["1", "39", "97 %", "2 min", "0"]]


def test_where_nobody_follows_there_is_no_table_of_followers(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, idle_log(200))
    with warehouse.write() as connection:
        connection.execute("UPDATE core.jobs SET user_name = 'u' || job_index")
    assert Heading("Who waits for own jobs") not in happened_section(read_logged(warehouse, SOURCE)).blocks
