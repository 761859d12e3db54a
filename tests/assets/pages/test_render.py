"""Tests of assets/pages: render, waiting."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.pages.comparison import Comparison, Grade, Scheduler, read_comparison
from assets.pages.logged import read_logged
from assets.pages.page import Chart, Table
from assets.pages.render import (
    answer,
    first_answer,
    found_words,
    happened_lines,
    rule_lines,
    rule_words,
    schedulers_data,
)
from assets.pages.summary import summarise, waits_sentences
from assets.pages.waiting import causes_of_log, requests_section, waiting_section
from assets.replaying.own.wait_causes import CAUSE_COLUMNS, WaitCauses
from tests.assets.marts.test_job_wait_causes import materialized
from tests.assets.replaying.own.homes import own_home
from tests.assets.replaying.own.test_wait_causes import JOBS, ONE_NODE
from tests.tiny import busy_log, warehouse_of
from traces.catalogue.clusters import found_path
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import ClusterDescription, Gate, Node, SchedulerSettings
from traces.cluster.notes import DescribedCluster
from traces.cluster.toml_writing import cluster_toml
from traces.synthetic.sites import BIRCH, LARCH
from warehouse import Warehouse

# render: Pages as they are written.


def test_a_log_is_answered_before_anything_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    lines = dict(first_answer(open_warehouse(), "mine"))
    assert list(lines) == ["Log", "Waits", "Why", "Rules"]
    assert lines["Why"].startswith("memory is missing ") and " waited most, 100 %" in lines["Why"]
    assert lines["Rules"].endswith("tracehouse cluster identify mine")


def test_found_rules_are_said_and_those_of_a_bundled_log_beside_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    found = ClusterDescription(
        "larch", (Node("all", 8),), limits=(Limit("cluster", "", "running", "user", "jobs", 16),)
    )
    found_path("larch").parent.mkdir(parents=True)
    found_path("larch").write_text(cluster_toml(DescribedCluster(found, ())), encoding="utf-8")
    ((label, text),) = rule_lines("larch")
    assert label == "Rules" and text.count("at most 16 running jobs of a user") == 2
    assert "The generator's hidden rule" in text
    found_path("larch").write_text(cluster_toml(DescribedCluster(ClusterDescription("x", (Node("all", 8),)), ())))
    assert rule_lines("larch")[0][1].startswith("none was found")


def test_an_order_is_no_rule_beside_a_scheduler_that_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a source under its own Slurm the report said "found in the log, and in no file: the order LCFS"."""
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    found = ClusterDescription("mine", (Node("all", 8),), scheduler=SchedulerSettings(order={"policy": "LCFS"}))
    found_path("mine").parent.mkdir(parents=True)
    found_path("mine").write_text(cluster_toml(DescribedCluster(found, ())), encoding="utf-8")
    assert rule_lines("mine") == [("Rules", "none was found in the log that no file names.")]


def test_adopted_rules_are_said_as_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noon = 12 * 3600 + 4 * 86_400
    found = f"""
[scheduler.order]
policy = "SJF"
backfill = "any"
cycle_s = 60
[[reservations]]
name = "boundary"
begin_s = {noon}
end_s = {noon + 1}
repeats = "weekday"
origin = "found"
"""
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE.replace("[scheduler]", "[scheduler]\n") + found)
    assert rule_lines("mine") == [
        (
            "Rules",
            "found in the log, and adopted: no job runs past 12:00 (weekday); the order SJF; backfilling any; jobs start every 60 s only.",
        )
    ]


def test_bounds_of_one_rule_are_one_in_words() -> None:
    """A limit by user and month was a line of 413 limits."""
    limits = [
        Limit("cluster", "", "outstanding", "user", "cpu", 3600 * k, str(k), begin_s=k, end_s=k + 1, origin=FOUND)
        for k in range(1, 5)
    ]
    words = found_words(ClusterDescription("mine", (Node("n1", 4),), limits=tuple(limits)))
    bounds = "with 4 bounds from 3,600 to 14,400, by user and time"
    assert words == f"a limit on outstanding cpu seconds of each user, {bounds}"


def test_the_advised_order_is_among_the_orders_shown() -> None:
    """It is not among those with the least waits where these harm somebody."""
    fit = Scheduler("Best fit", "fitted", 200, 2e4, 60.0, 4e4, 0.4, 0.9, 1e5, 9.0, {})
    advised = replace(fit, name="EASY", kind="tried", mean_s=1.5e4, verdict="dominates, certain", rank=1)
    shorter = [replace(advised, name=f"order {k}", mean_s=1e4 + k, verdict="harms", rank=k + 2) for k in range(6)]
    compared = Comparison(Grade("B", None, 7200.0, 3600.0), None, 200, None, fit, (advised, *shorter), 256, 256)
    shown = schedulers_data(compared)
    assert shown is not None and shown["rows"][-1][-1] == "EASY"


def test_rules_in_words() -> None:
    assert LARCH.limit is not None and BIRCH.gate is not None
    assert rule_words([LARCH.limit]) == "at most 16 running jobs of a user (qos normal)"
    gate = Gate((0, 1, 2, 3, 4), 480, 1020, partition="long", timezone="America/Denver")
    assert rule_words([gate]) == (
        "no job of queue long starts from 08:00 to 17:00 on Monday to Friday (America/Denver)"
    )


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (
            ["at most 2 running jobs of a user", "at most 2 running jobs of a user"],
            "a limit 75 %, at most 2 running jobs of a user;",
        ),
        (
            ["at most 9 running cpu in all", "at most 2 running jobs of a user"],
            "a limit 75 %, above all at most 2 running jobs of a user;",
        ),
    ],
)
def test_the_line_on_why_names_the_limit_that_kept_jobs_longest(
    graded: Warehouse, limits: list[str], words: str
) -> None:
    jobs = pl.DataFrame({"user": ["a", "a"], "limit": limits, "wait_s": [3000, 5000]}).with_columns(
        *(pl.lit(0).alias(name) for name in CAUSE_COLUMNS)
    )
    kept = jobs.with_columns(limit_s=pl.Series([2000, 4000]), unknown_s=pl.Series([1000, 1000]))
    logged = read_logged(graded, "mine")
    said = dict(happened_lines(logged, [], WaitCauses(kept, "rules")))["Why"]
    assert said.startswith(words) and "25 %, of 2 hours of waiting. User a waited most, 100 % of it." in said


def test_a_source_without_a_cluster_has_the_orders_of_the_leaderboard(graded: Warehouse) -> None:
    logged, compared = read_logged(graded, "mine"), read_comparison(graded, "mine")
    data = answer(logged, compared, summarise(logged, compared), causes_of_log(graded, "mine"), None)
    assert [label for label, _ in data["happened"]] == ["Log", "Waits", "Rules"]
    assert data["happened"] == happened_lines(logged, waits_sentences(logged), None)
    (_, grade), (_, change) = data["changes"]
    assert (
        grade.startswith("B: ")
        and "off by 30 % at most" in grade
        and change.startswith(("Adopt", "Try", "A trade", "Keep"))
    )
    assert data["best"]["rows"][0][2] == "baseline" and len(data["best"]["rows"]) <= 7


# waiting: The sections of the report that say why jobs waited, and what too long requests cost.


def test_hours_by_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    before = waiting_section(causes_of_log(open_warehouse(), "mine"))  # the asset has not looked at it yet
    materialized(open_warehouse())
    section = waiting_section(causes_of_log(open_warehouse(), "mine"))
    assert section is not None and section.blocks == (before and before.blocks)
    assert any(isinstance(block, Chart) for block in section.blocks)
    [table] = [block for block in section.blocks if isinstance(block, Table)]
    assert [row[0] for row in table.rows] == ["memory is missing", "behind jobs submitted earlier"]


def test_a_source_without_a_described_cluster_has_none(tmp_path: Path) -> None:
    assert causes_of_log(warehouse_of(tmp_path, busy_log(50)), "mine") is None and waiting_section(None) is None
    assert waiting_section("no nodes") is not None


def test_what_too_long_requests_cost_is_said_where_there_are_requests(tmp_path: Path) -> None:
    section = requests_section(warehouse_of(tmp_path, busy_log(120)), "mine")
    assert section is not None and "20 % better" in str(section.blocks[0])
    assert requests_section(warehouse_of(tmp_path / "b", busy_log(120)), "other") is None
