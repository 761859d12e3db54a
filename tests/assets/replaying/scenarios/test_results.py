"""Tests of assets/replaying/scenarios: by_lot, results.

Each scenario is the replay that `tracehouse replay` would make, beside the base and the log."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracehouse
from assets.pages.scenario_page import scenario_page
from assets.replaying.scenarios.results import ROW_SCHEMA, ScenarioResults
from models.judging.verdict import TRADES, VERDICT_MEANING
from tests.assets.replaying.scenarios.examples import SIX, results_of, write_grade
from tests.pipelines.command_line import succeed, told_of, use_home
from tests.shared import shared_file
from tracehouse.text.what_if_text import what_if_text

OPTIONS = {
    "base": [],
    "a quarter more": ["--procs", "+25%"],
    "a node off": ["--nodes", "-1", "--drop-wider"],
    "live times": ["--estimates", "live:mean", "--reserve-by", "requested"],
    "shortest first": ["--policy", "SJF"],
    "rounded": ["--round-walltimes", "4h"],
    "without 7": ["--without-queue", "7"],
}


def row_of(answer: ScenarioResults, name: str) -> dict[str, Any]:
    return answer.rows.row(by_predicate=pl.col("scenario") == name, named=True)


@pytest.mark.parametrize("part", [[], ["--period", "2026-01"], ["--user", "3"]], ids=str)
def test_six_scenarios_are_six_replays(busy: Path, part: list[str]) -> None:
    scenarios = {"without 7": SIX["without 7"]} if part else SIX
    answer = results_of(scenarios, **({part[0][2:]: part[1]} if part else {}))
    assert answer.rows["scenario"].to_list() == ["log", "base", *scenarios]
    for name, options in ((name, OPTIONS[name]) for name in ("base", *scenarios)):
        row, single = row_of(answer, name), told_of("mine", *options, *part)
        for of_row, of_single in (
            ("average_wait_h", "average_wait_s"),
            ("median_wait_h", "median_wait_s"),
            ("p95_wait_h", "p95_wait_s"),
        ):
            assert row[of_row] * 3600 == pytest.approx(single[of_single], rel=1e-12), name
        for same in ("utilisation", "average_bounded_slowdown", "procs", "policy", "jobs_wider_than_cluster"):
            assert row[same] == single[same], name
        assert 1 - row["started_within_24h_share"] == pytest.approx(single["waits_over_24_h_share"])
        assert row["jobs"] == single.get("scored_jobs", single["jobs"])


def test_waits_of_the_log_are_those_of_the_log(busy: Path) -> None:
    answer = results_of({"x": {"policy": "SJF"}})
    wait = answer.plan.trace.rows.select(pl.col("start_s") - pl.col("submit_s")).to_series()
    row = row_of(answer, "log")
    assert row["jobs"] == 400 and row["average_wait_h"] == pytest.approx(wait.mean() / 3600)
    assert row["median_wait_h"] == pytest.approx(wait.median() / 3600)
    assert row["started_within_1h_share"] == pytest.approx((wait <= 3600).mean())
    assert row["verdict"] is None and 0 < row["utilisation"] <= 1


def test_a_log_without_starts_has_no_row(busy: Path) -> None:
    text = (busy / "mine.swf").read_text().splitlines()
    fields = [line.split() for line in text]
    (busy / "blind.swf").write_text(
        "\n".join(
            line if line.startswith(";") else " ".join([*f[:2], "-1", *f[3:]])
            for line, f in zip(text, fields, strict=True)
        )
        + "\n"
    )
    answer = results_of({"x": {"policy": "SJF"}}, str(busy / "blind.swf"))
    assert answer.rows["scenario"].to_list() == ["base", "x"]
    assert answer.jobs["logged_wait_h"].null_count() == 400


def test_the_comparison_is_over_pairs(busy: Path) -> None:
    answer = results_of(SIX)
    row = row_of(answer, "without 7")
    assert (row["paired_jobs"], row["base_only_jobs"], row["scenario_only_jobs"]) == (360, 40, 0)
    jobs = answer.jobs.filter(scenario="without 7")
    assert jobs.height == 360 and set(jobs["queue"]) == {"1", "2"}
    assert row["paired_base_wait_h"] == pytest.approx(jobs["base_wait_h"].mean())
    assert row["change_h"] == pytest.approx(jobs["change_h"].mean())
    assert row["change_share"] == pytest.approx(jobs["wait_h"].mean() / jobs["base_wait_h"].mean() - 1)
    assert row["jobs_shorter_by_1h"] == (jobs["change_h"] < -1).sum()
    rows = answer.plan.trace.rows.with_columns(work=pl.col("procs") * pl.col("runtime_s"))
    assert row["base_only_work_share"] == pytest.approx(rows.filter(queue="7")["work"].sum() / rows["work"].sum())
    off = row_of(answer, "a node off")
    assert off["base_only_jobs"] == off["jobs_wider_than_cluster"] > 0
    said = [text for text in answer.remarks if text.startswith("a node off: ")]
    assert said[0] == "a node off: 12 processors, 4 a node"
    assert any(f"{off['jobs_wider_than_cluster']} jobs wider than 12 processors are left out" in text for text in said)
    assert any(f"without {off['base_only_jobs']} jobs of the base (" in text for text in said)
    totals = answer.groups.group_by("scenario", "grouped_by").agg(pl.col("jobs").sum())
    assert set(totals.filter(scenario="without 7")["jobs"]) == {360}


def test_verdicts_are_words_of_the_one_vocabulary(busy: Path) -> None:
    answer = results_of(
        {"twice": {"load": 2}, "same": {"backfill": "easy"}, "huge": {"procs": "+200%"}, "SAF": {"policy": "SAF"}}
    )
    words = {name: row_of(answer, name)["verdict"] for name in ("twice", "same", "huge", "SAF")}
    assert words["twice"] == "worse" and words["same"] == "no difference"
    assert set(words.values()) <= VERDICT_MEANING.keys() and row_of(answer, "huge")["change_share"] < -0.5
    assert row_of(answer, "same")["change_h"] == 0
    live = row_of(results_of({"live": {"estimates": "live", "procs": "+100%"}}), "live")
    assert "certain" not in live["verdict"]


def test_a_gain_that_nobody_pays_for_by_much_still_says_what_does_not_fall(busy: Path) -> None:
    """`who_pays` was None where bounded slowdown hardly grew, and the whole answer was lost."""
    answer = results_of({"SAF": {"policy": "SAF"}})
    row = row_of(answer, "SAF") | {"verdict": TRADES, "who_pays": None}
    unpaid = replace(answer, rows=pl.DataFrame([row], schema=ROW_SCHEMA))
    assert unpaid.remarks[0].startswith("beside the base, 102 random orders: bounded slowdown ")
    assert unpaid.remarks[1:] == ["SAF: who pays: nobody by more than the limits of a verdict"]


def test_scenarios_that_differ_are_told_apart(busy: Path) -> None:
    lost = busy / "lost.csv"
    lost.write_text("start,end,procs\n90000,95000,2\n")
    changes: dict[str, dict[str, object]] = {
        "busier": {"load": 1.2},
        "without": {"without_queue": "7"},
        "owned": {"partitions": {"1": 16}, "procs": 32},
        "rounded": {"round_walltimes": "4h"},
        "lost": {"outages": str(lost)},
        "asked": {"inspector": "unfit"},
    }
    usual = "FCFS, backfilling easy, requested times"
    assert results_of(changes).scenario_words == [
        f"busier: {usual}, load 1.2",
        f"without: {usual}, without queue 7",
        f"owned: {usual}, 32 processors, queues that own processors: 1=16",
        f"rounded: {usual}, requests rounded up to 4h",
        f"lost: {usual}, fewer processors for a while",
        f"asked: {usual}, inspector unfit",
    ]


def test_the_base_says_what_it_is_and_why(busy: Path) -> None:
    write_grade("B", "SAF", 14)
    answer = results_of({"x": {"procs": "+10%"}}, base={"backfill": "easy"})
    assert answer.base_words == (
        "SAF, backfilling easy, requested times, 14 processors: the scheduler that fits the log best, with grade B, with "
        "backfill from [base]"
    )
    assert answer.scenario_words == ["x: SAF, backfilling easy, requested times, 15 processors"]
    assert answer.scored_words == "all 400 jobs, where `tracehouse run` and `compare` judge the later half"
    summary = json.loads(json.dumps(answer.summary()))
    assert summary["grade"] == "B" and [row["scenario"] for row in summary["scenarios"]] == ["log", "base", "x"]
    assert len(summary["trust"]) == 1 and summary["groups"][0]["scenario"] == "x"
    part = results_of({"x": {"procs": 20}}, user="3")
    count = len(part.plan.scored)
    assert part.scored_words == f"user 3, {count} of 400 jobs; every replay begins with the first job of the log"


def test_tables_are_written(busy: Path) -> None:
    answer = results_of({"x": {"procs": 20}})
    assert dict(answer.rows.schema) == ROW_SCHEMA
    paths = answer.write(busy / "new" / "out")
    assert [path.name for path in paths] == ["scenarios.csv", "groups.csv", "jobs.csv"]
    assert pl.read_csv(paths[2]).height == 400
    assert pl.read_csv(paths[0])["average_wait_h"].to_list() == pytest.approx(
        answer.rows["average_wait_h"].to_list(), abs=1e-6
    )
    again = answer.write(busy / "new" / "out", "parquet")
    assert [
        pl.read_parquet(path).equals(table)
        for path, table in zip(again, (answer.rows, answer.groups, answer.jobs), strict=True)
    ]


def test_a_scenario_that_fails_takes_no_other_along(busy: Path) -> None:
    """Wrong in the file, wrong for the trace, wrong in the replay: each has its row, in the order of the file."""
    (busy / "o.csv").write_text("start,end,procs\n0,,16\n")
    (busy / "odd.py").write_text("def odd(wait):\n    raise KeyError('nothing')\n")
    wrong = {
        "misspelt": ({"proc": 20}, "unknown key 'proc'"),
        "unknown": ({"policy": "SAFE"}, "unknown policy 'SAFE'"),
        "empty": ({"procs": "-16"}, "scenario 'empty': "),
        "down": ({"outages": "o.csv"}, "can never start"),
        "odd": ({"policy": "odd.py:odd"}, "nothing"),
    }
    answer = results_of({"more": {"procs": 20}} | {name: changes for name, (changes, _) in wrong.items()})
    assert answer.rows["scenario"].to_list() == ["log", "base", "more", *wrong]
    assert row_of(answer, "more")["verdict"] in VERDICT_MEANING and row_of(answer, "more")["failed_because"] is None
    for name, (_, why) in wrong.items():
        assert why in row_of(answer, name)["failed_because"], name
        assert any(text.startswith(f"{name}: failed: ") for text in answer.remarks)
    assert json.dumps(answer.summary()) and scenario_page(answer).count("failed") >= len(wrong)
    with pytest.raises(ValueError, match=r"scenario 'down': .* can never start"):
        results_of({"down": {"outages": "o.csv"}})


def test_below_trust_no_figure_there_is_only_an_order_and_a_direction(busy: Path) -> None:
    scenarios: dict[str, dict[str, object]] = {"busier": {"load": 2}, "more": {"procs": 32}, "lost": {"policy": "x"}}
    write_grade("D")
    answer = results_of(scenarios)
    assert "none that was tried gives the log back" in answer.base_words
    said = what_if_text(answer, 100, 1)
    assert said.startswith("base: FCFS, backfilling easy")
    for text in (said, scenario_page(answer)):
        assert not any(word in text for word in ("dominates", "better", "mean h", "typical"))
        assert text.index("more") < text.index("shorter waits") < text.index("longer waits") < text.index("failed")
    assert answer.rows["verdict"].null_count() == answer.rows.height
    write_grade("C")
    assert "mean h" in what_if_text(results_of({"more": {"procs": 32}}), 100, 1)


# Six scenarios on a real log are six single replays.

SCENARIOS = {
    "10 % more processors": ({"procs": "+10%"}, ["--procs", "+10%"]),
    "4 nodes off": ({"nodes": -4}, ["--nodes", "-4", "--drop-wider"]),
    "SJF that knows run times": (
        {"policy": "SJF", "estimates": "actual"},
        ["--policy", "SJF", "--estimates", "actual"],
    ),
    "fair share": ({"policy": "fairshare:half_life_days=7"}, ["--policy", "fairshare:half_life_days=7"]),
    "rounded up to 4 h": ({"round_walltimes": "4h"}, ["--round-walltimes", "4h"]),
    "20 % more load": ({"load": "+20%"}, ["--load", "+20%"]),
}


@pytest.mark.parametrize("period", [None, "1997-07"])
def test_six_scenarios_of_kth_sp2_are_six_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, period: str | None
) -> None:
    log = shared_file("traces", "swf", "KTH-SP2-1996-2.1-cln.swf.gz")
    use_home(monkeypatch, tmp_path)
    part = {} if period is None else {"period": period}
    options = [] if period is None else ["--period", period]
    answer = tracehouse.what_if({name: changes for name, (changes, _) in SCENARIOS.items()}, log, **part)
    rows = {row["scenario"]: row for row in answer.scenarios.to_dicts()}
    for name, own_options in {"base": [], **{name: own for name, (_, own) in SCENARIOS.items()}}.items():
        single = json.loads(succeed("replay", log, "--json", *own_options, *options))
        for statistic in ("average", "median", "p95"):
            assert rows[name][f"{statistic}_wait_h"] * 3600 == pytest.approx(
                single[f"{statistic}_wait_s"], rel=1e-12
            ), name
        assert (rows[name]["utilisation"], rows[name]["procs"]) == (single["utilisation"], single["procs"]), name
        assert rows[name]["jobs"] == single.get("scored_jobs", single["jobs"]), name
