"""Tests of tracehouse/cli/commands: periods, who, why."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest

import tracehouse
from assets.usage.two_periods import compare_periods
from assets.usage.waits_and_waste import waits_and_waste
from tests.assets.replaying.own.homes import own_home
from tests.assets.replaying.own.test_wait_causes import JOBS, ONE_NODE
from tests.pipelines.command_line import fail, load_source, succeed
from tests.tiny import busy_log, swf_line, warehouse_of
from tracehouse.cli.commands.periods import GROUP_KINDS, periods_text
from tracehouse.cli.commands.who import GROUPINGS, saved_text, who_text

# periods: `tracehouse periods`.


@pytest.mark.parametrize("width", [80, None])
def test_what_is_printed(tmp_path: Path, width: int | None) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(400))
    result = compare_periods(warehouse, "mine", "2026-01-15..2026-01-25")
    text = periods_text("mine", result, GROUP_KINDS, 3, width)
    first, *_ = lines = text.splitlines()
    after, before = (result.whole["mean_wait_h"][k] for k in (1, 0))
    assert first.startswith(f"mine: the mean wait is {after:,.1f} h, {abs(after - before):,.1f} h")
    assert any(line.startswith("waits differ most from 2026-01-") for line in lines)
    assert any(line.startswith("work submitted, of the cluster") for line in lines)
    assert "by user: what adds most to the change of" in text and "by queue" not in text, "the log has one queue"
    assert "more (--top)" in text
    assert width is None or max(map(len, lines)) <= width


def test_a_log_that_is_shorter_than_its_period(tmp_path: Path) -> None:
    result = compare_periods(warehouse_of(tmp_path, busy_log(60, days=11)), "mine", "last-14-days")
    lines = periods_text("mine", result, GROUP_KINDS, 3, 80).splitlines()
    assert lines[0].startswith("mine: the mean wait is ") and "the last 14 days of the log" in lines[1]
    assert any(line.startswith("before  the log has no job before it") for line in lines)
    assert any(line.startswith("jobs") and line.endswith(" 60") for line in lines)


def test_groups_as_csv_and_what_is_refused(log: Path, tmp_path: Path) -> None:
    load_source(log)
    rows = pl.read_csv(io.StringIO(succeed("periods", "busy", "2026-01-15..2026-01-25", "--csv")))
    assert set(rows["kind"]) == set(GROUP_KINDS) and rows.width == 7
    assert "by user" not in succeed("periods", "busy", "2026-01-15..2026-01-25", "--by", "size")
    assert "unknown period 'yesterday'" in fail("periods", "busy", "yesterday")
    assert "did you mean 'busy'" in fail("periods", "bus")


# who: `tracehouse who`.

SACCT = """\
JobID|User|Account|Partition|Submit|Start|End|State|NCPUS|Timelimit|JobName
1|alice|physics|main|2026-01-01T00:00:00|2026-01-01T01:00:00|2026-01-01T03:00:00|COMPLETED|4|04:00:00|n
2|bob|biology|main|2026-01-01T00:00:00|2026-01-01T03:00:00|2026-01-01T04:00:00|FAILED|4|04:00:00|n
"""


@pytest.mark.parametrize("width", [80, None])
def test_what_is_printed_of_who(tmp_path: Path, width: int | None) -> None:
    result = waits_and_waste(warehouse_of(tmp_path, busy_log(400)), "mine")
    lines = who_text("mine", result, (), 3, width).splitlines()
    assert lines[0].startswith("mine: 400 jobs used ")
    assert [line.split()[0] for line in lines[1:4]] == ["waits", "lost", "unused"]
    titles = [line for line in lines if " by user, " in line]
    assert titles == ["waits by user, most waiting first", "requested and not used by user, most first"], (
        "nothing was lost"
    )
    first = result.groups("user", "waited_h").row(0, named=True)
    assert lines[lines.index(titles[0]) + 2].split()[:3] == [
        first["value"], f"{first['known_waits']:,}", f"{first['mean_wait_h']:,.1f}",
    ]  # fmt: skip
    assert "the log has no accounts" in lines and not any("queue" in line for line in lines)
    assert width is None or max(map(len, lines)) <= width


def test_all_groups_as_csv_and_from_python(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "two.psv").write_text(SACCT)
    succeed("ingest", tmp_path / "two.psv", "--name", "two", "--time-zone", "UTC")
    rows = pl.read_csv(io.StringIO(succeed("who", "two", "--csv")))
    assert set(rows["kind"]) == {"all", *GROUPINGS}
    assert rows.filter(kind="all")["lost_core_hours"].to_list() == [4.0]
    by_user = tracehouse.who("two", by="user")
    assert by_user["lost_core_hours"].to_list() == [0.0, 4.0] and by_user["mean_wait_h"].to_list() == [1.0, 3.0]
    printed = succeed("who", "two", "--by", "account", "--by", "user")
    assert "core-hours lost by account" in printed and "lost    33.3 % of the core-hours: failed 33.3 %" in printed
    for name in ("alice", "bob", "physics", "biology"):
        assert name not in printed + rows.write_csv(), "names are pseudonyms"
    with pytest.raises(ValueError, match="by 'colour': expected one of user, account, queue"):
        tracehouse.who("two", by="colour")
    assert "unknown period 'yesterday'" in fail("who", "two", "--period", "yesterday")


def test_who_left_the_queue_is_counted_apart(catalogue: Path, tmp_path: Path) -> None:
    left = "3|bob|biology|main|2026-01-01T00:00:00|None|2026-01-01T08:00:00|CANCELLED by 7|4|04:00:00|n\n"
    (tmp_path / "two.psv").write_text(SACCT + left)
    succeed("ingest", tmp_path / "two.psv", "--name", "two", "--time-zone", "UTC")
    printed = succeed("who", "two").splitlines()
    assert printed[1] == "waits   2.0 h on average, 2.0 h in the median, 2.9 h at the 95th percentile"
    assert printed[2] == "left    1 job left the queue before a start, after 8.0 h on average"
    assert tracehouse.who("two", by="user").select("known_waits", "left_jobs").rows() == [(1, 0), (1, 1)]
    said = succeed("why", "two").splitlines()
    assert said[0] == "two: 2 jobs waited 4 h in all, 2.0 h on average"
    assert " ".join(said[1:3]).startswith(
        "1 job left the queue before a start, after 8.0 h on average: the hours by cause below are the 12 h of both"
    )


# habits


def test_habits_in_words_and_as_json(log: Path) -> None:
    load_source(log)
    lines = succeed("who", "busy", "--habits", "--top", "2").splitlines()
    assert lines[0].startswith("busy: ") and lines[0].endswith(" jobs of 8 users")
    assert [line.split()[0] for line in lines[1:6]] == ["follow", "soon", "think", "sessions", "night"]
    assert "and 6 more (--top)" in lines and "submissions by hour (Europe/Berlin)" in lines
    assert any(line.startswith("21:00 to 24:00 ") for line in lines) and lines[-1].startswith("Sunday ")
    values = json.loads(succeed("who", "busy", "--habits", "--json"))
    assert (
        values["jobs"]
        == sum(row["jobs"] for row in values["by_hour"])
        == sum(row["jobs"] for row in values["by"]["user"])
    )
    assert values["share_within_60_s"] <= values["share_within_1200_s"] <= 1
    assert values["following"] and values["longest_think_s"] >= 60
    assert values["think_s"]["p50"] <= values["think_s"]["p90"] <= values["longest_think_s"]


def test_habits_of_nobody_and_of_one(catalogue: Path, tmp_path: Path) -> None:
    for name, user in (("nobody", -1), ("one", 4)):
        (tmp_path / f"{name}.swf").write_text(
            "".join(swf_line(k, 600 * k, 0, 100, 1, 200, user=user) for k in range(5))
        )
        load_source(tmp_path / f"{name}.swf")
    assert succeed("who", "nobody", "--habits") == (
        "nobody: the log names no users, so it does not say which jobs follow others\n"
    )
    assert json.loads(succeed("who", "nobody", "--habits", "--json"))["by"] == {"user": []}
    printed = succeed("who", "one", "--habits")
    assert "one: 5 jobs of 1 user\none user  a log that names one user may have the jobs of several in it" in printed
    assert (
        "no hours and days: the log has no dates" in printed
        and "4 jobs come at most 20 min after the end of an own job" in printed
    )


def test_habits_are_of_the_whole_log_and_by_user(log: Path) -> None:
    load_source(log)
    assert "--habits is of the whole log" in fail("who", "busy", "--habits", "--period", "2026-01")
    assert "is of the whole log" in fail("who", "busy", "--habits", "--nodes")
    assert "--habits is by user" in fail("who", "busy", "--habits", "--by", "account")


# why: `tracehouse why`.


def test_what_why_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    lines = succeed("why", "mine").splitlines()
    assert lines[0] == "mine: 3 jobs waited 0 h in all, 95 s on average" and "cluster two" in lines[1]
    assert any(line.startswith("memory is missing") and line.endswith("2") for line in lines)
    assert "by user, most waiting first" in lines
    job = succeed("why", "mine", "3").splitlines()
    assert job[0].startswith("job 3 of user user-") and "submitted Mon 2024-01-01 00:00 (UTC), started " in job[0]
    assert any(line.startswith("longest behind job 2 of user ") for line in job)
    table = pl.read_csv(io.StringIO(succeed("why", "mine", "--csv", "--queue", "main")))
    assert table["wait_s"].to_list() == [0, 95, 190] == tracehouse.why("mine")["wait_s"].to_list()


def test_what_there_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    assert "no job '9'" in fail("why", "mine", "9")
    assert "most are of user-" in fail("why", "mine", "--user", "bob")
    assert "no such job of 'mine' was submitted" in fail("why", "mine", "--period", "2023-01")


def test_right_requests_shorten_lengthen_or_do_neither() -> None:
    assert saved_text(0.03, 0.05) == "right requests shorten the mean wait by 0.03 to 0.05 h"
    assert saved_text(-0.05, -0.03) == "right requests lengthen the mean wait by 0.03 to 0.05 h"
    assert saved_text(-0.06, 0.18).startswith("right requests change the mean wait by -0.18 to +0.06 h: the copies")
