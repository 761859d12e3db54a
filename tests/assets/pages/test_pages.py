"""Tests of assets/pages: details, logged, nodes, summary, words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.pages import words
from assets.pages.comparison import Comparison, Grade, Scheduler, read_comparison
from assets.pages.details import details_section, read_details
from assets.pages.happened import happened_section
from assets.pages.logged import LoggedSystem, read_logged
from assets.pages.nodes import nodes_section
from assets.pages.page import Block, Bullets, Chart, Table, TermList
from assets.pages.summary import Summary, _use, as_data, summarise
from assets.pages.words import share
from assets.replay.evaluation import EXPERT_RIVALS, Contestant, period_rules
from assets.replaying.own.alternatives import Alternatives
from simulator.policies.registry import RIVAL_HEURISTICS
from tests.assets.pages.conftest import CREATED, SOURCE
from tests.assets.replaying.own.homes import own_home
from tests.pipelines.command_line import succeed
from tests.tiny import busy_log, swf_line, warehouse_of
from warehouse import Warehouse

# details: The details: where numbers come from, and every scheduler with who pays.


def blocks_of(warehouse: Warehouse, **extra: pl.DataFrame) -> list[Block]:
    rows = read_details(warehouse, SOURCE) | extra
    section = details_section(read_logged(warehouse, SOURCE), read_comparison(warehouse, SOURCE), rows)
    return list(section.blocks)


def tables_of(blocks: list[Block]) -> list[Table]:
    return [block for block in blocks if isinstance(block, Table)]


def test_the_facts_of_the_log(graded: Warehouse) -> None:
    (facts,) = (block for block in blocks_of(graded) if isinstance(block, TermList))
    assert dict(facts.pairs) == {
        "format": "swf",
        "cluster": "16 processors (from the header)",
        "time zone": "Europe/Berlin",
        "lines": "603 in 1 file: 600 accepted, 0 other records, 3 ignored, 0 rejected",
        "rules that hold jobs back": (
            "none declared, others unknown, since nobody looked for them in the log (tracehouse cluster identify mine)"
        ),
        "compared": "schedulers on the last 240 jobs that can be replayed",
    }


def test_every_scheduler_has_a_row_with_who_pays(graded: Warehouse) -> None:
    compared = read_comparison(graded, SOURCE)
    (table,) = tables_of(blocks_of(graded))
    assert len(table.rows) == 2 + len(compared.tried)
    assert [row[4:] for row in table.rows[:2]] == [["", ""], ["", ""]]
    assert all(row[5] for row in table.rows[2:])


def test_predictors_and_findings_are_shown_where_there_are_some(graded: Warehouse) -> None:
    predictors = pl.DataFrame(
        {
            "predictor": ["last_two", "stack"],
            "jobs": [1234, 1234],
            "median_absolute_error_s": [600.0, 30.0],
            "mean_absolute_error_s": [7200.0, 3600.0],
            "underestimated_share": [0.5, 0.25],
        }
    )
    findings = pl.DataFrame(
        {"finding": ["flurries"], "found": [2], "unit": ["user-weeks"], "share": [None], "example": ["user 7"]}
    )
    tables = tables_of(blocks_of(graded, predictors=predictors, findings=findings))
    assert [list(row) for row in tables[-1].rows] == [
        ["last_two", "10 min", "2.0 h", "50 %"],
        ["stack", "under 1 min", "1.0 h", "25 %"],
    ]
    assert [list(row) for row in tables[0].rows] == [["flurries", "2 user-weeks", "", "user 7"]]


def test_a_log_too_short_for_a_model_says_what_is_enough(tmp_path: Path) -> None:
    """Before, nothing was said of run times."""
    warehouse = warehouse_of(tmp_path, "; MaxProcs: 4\n" + "".join(swf_line(k, 60 * k, 0, 60, 1) for k in range(60)))
    words = read_details(warehouse, "mine")["no_model"]["because"].to_list()
    assert words == ["60 jobs with a known run time are too few to learn from, at least 300 are needed"]
    compared = read_comparison(warehouse, "mine")
    section = details_section(read_logged(warehouse, "mine"), compared, read_details(warehouse, "mine"))
    assert f"There is no run-time model: {words[0]}." in section.blocks


def test_grades_of_parts_go_from_narrow_to_wide_and_then_by_month(graded: Warehouse) -> None:
    parts = pl.DataFrame(
        {
            "part": ["size", "size", "month"],
            "value": ["large", "serial", "2026-02"],
            "jobs": [5, 9, 14],
            "grade": ["A", None, "B"],
            "logged_wait_s": [60.0, 60.0, 60.0],
            "replayed_wait_s": [120.0, 120.0, 120.0],
            "alike": [0.5, 0.5, 0.5],
        }
    )
    table = tables_of(blocks_of(graded, parts=parts))[-1]
    assert [(row[0], row[-1]) for row in table.rows] == [
        ("1 processor", "none"),
        ("over 4 processors", "A"),
        ("2026-02", "B"),
    ]


def test_names_and_verdicts_are_explained(graded: Warehouse) -> None:
    names, verdicts = (block for block in blocks_of(graded) if isinstance(block, Bullets))
    assert any(item.startswith("EASY: ") for item in names.items)
    assert any(item.startswith("trades: ") for item in verdicts.items)


# logged: What is read from a log: waits of those that started, the backlog, who used what.


def logged_of(folder: Path, text: str) -> LoggedSystem:
    return read_logged(warehouse_of(folder, text), "mine")


def test_waits_are_those_of_jobs_that_started(tmp_path: Path) -> None:
    lines = [swf_line(1, 0, 30, 100, 1), swf_line(2, 10, 7200, 100, 4), swf_line(3, 20, 90_000, 100, 4)]
    lines.append(swf_line(4, 30, 50, 0, 4, status=5))  # cancelled while it waited
    logged = logged_of(tmp_path, "; MaxProcs: 4\n" + "".join(lines))
    waits = logged.all_waits
    assert waits is not None and logged.extent.jobs == 4
    assert (waits["jobs"], waits["mean_s"], waits["longest_s"]) == (3, pytest.approx((30 + 7200 + 90_000) / 3), 90_000)
    assert (waits["within_1_h"], waits["within_24_h"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert {row["value"]: row["jobs"] for row in logged.waits.filter(part="size").to_dicts()} == {
        "serial": 1,
        "large": 2,
    }
    assert logged.curve["jobs"].sum() == 3 and logged.curve.filter(size_class="serial")["step"].to_list() == [0]


def test_the_backlog_is_the_mean_of_every_step(tmp_path: Path) -> None:
    """Two jobs of two hours on all of four processors, submitted together: the second waits two hours; a third comes a day later."""
    text = "".join(swf_line(k, at, wait, 7200, 4) for k, at, wait in ((1, 0, 0), (2, 0, 7200), (3, 86_400, 0)))
    logged = logged_of(tmp_path, f"; UnixStartTime: 1767225600\n; MaxProcs: 4\n{text}")
    backlog = logged.backlog
    assert backlog.height == 25 and backlog["at_s"][0] == 1767225600
    assert backlog["used"].to_list() == [4.0] * 4 + [0.0] * 20 + [4.0]
    assert backlog["waiting"].to_list() == [1.0, 1.0] + [0.0] * 23
    assert backlog["work"].to_list() == [8.0, 8.0] + [0.0] * 23
    assert logged.utilisation == pytest.approx(20 / 25 / 4)


def test_the_use_of_a_short_log_is_not_that_of_an_hour(tmp_path: Path) -> None:
    """Before, a log of two minutes on a full cluster had 4 % in use."""
    text = "".join(swf_line(k, 6 * k, 0, 6, 4) for k in range(20))
    logged = logged_of(tmp_path, f"; UnixStartTime: 1767225600\n; MaxProcs: 4\n{text}")
    assert logged.utilisation == pytest.approx(1, abs=0.06)
    assert "in use until the last submission" in _use(logged)[0]


def test_a_log_that_tells_no_ends_has_no_share_that_failed(tmp_path: Path) -> None:
    """Before, 0 % of such jobs had failed."""
    lines = [swf_line(k, 60 * k, 0, 6, 4).split() for k in range(20)]
    for status, columns in (("1", 5), ("-1", 4)):
        (tmp_path / status).mkdir()
        text = "".join(" ".join([*line[:10], status, *line[11:]]) + "\n" for line in lines)
        logged = logged_of(tmp_path / status, f"; UnixStartTime: 1767225600\n; MaxProcs: 4\n{text}")
        tables = tables_of(list(happened_section(logged).blocks))
        (use,) = (table for table in tables if table.caption.startswith("Core-hours by"))
        assert len(use.columns) == columns


def test_what_an_accounting_tool_left_out_is_not_told_as_idle(tmp_path: Path) -> None:
    """sacct was asked for two days. It knows of a job that has run for ten, and of no other that ended before these days."""
    lines = [swf_line(1, 0, 0, 10 * 86_400 + 60, 1, 20 * 86_400)]
    lines += [swf_line(k, 10 * 86_400 + 3600 * k, 0, 3600, 3, 7200) for k in range(2, 50)]
    logged = logged_of(tmp_path, "; UnixStartTime: 1767225600\n; MaxProcs: 4\n" + "".join(lines))
    assert logged.extent.complete_from_s == 1767225600 + 10 * 86_400 + 60
    assert logged.utilisation == pytest.approx(0.75, abs=0.03)
    text = next(block for block in happened_section(logged).blocks if isinstance(block, str) and "in use" in block)
    assert "This is from 11 January 2026 on: jobs that ended earlier are not in the log" in text
    assert "were in use since 11 Jan 2026, when the log begins to have all jobs" in " ".join(_use(logged))


def test_a_log_whose_jobs_hardly_end(tmp_path: Path) -> None:
    lines = [swf_line(k, 3600 * k, 0, 2 * 86_400 + 5000, 1, 259_200) for k in range(1, 50)]
    logged = logged_of(tmp_path, "; UnixStartTime: 1767225600\n; MaxProcs: 64\n" + "".join(lines))
    assert logged.complete_backlog.height and logged.utilisation is not None
    assert happened_section(logged).blocks


def test_the_backlog_of_a_log_is_what_its_jobs_add_up_to(tmp_path: Path) -> None:
    logged = logged_of(tmp_path, busy_log(300, days=20))
    steps = logged.backlog
    assert 100 < steps.height <= 501
    length = steps["at_s"][1] - steps["at_s"][0]
    with Warehouse(tmp_path / "w.duckdb").read() as connection:
        submit, start = (
            connection.execute(f"SELECT epoch({x}_time) AS x FROM core.jobs").fetchnumpy()["x"]
            for x in ("submit", "start")
        )
    end = steps["at_s"][-1] + length
    assert steps["waiting"].sum() * length == pytest.approx(
        np.maximum(np.minimum(start, end) - submit, 0).sum(), rel=1e-6
    )


def test_who_used_the_cluster_is_the_best_that_the_log_tells(tmp_path: Path) -> None:
    """An SWF log has groups. Where all are in one, users are shown."""
    logged = logged_of(tmp_path, busy_log(200, days=10))
    assert logged.payer == "user" and logged.use.height == 8
    assert logged.use["core_hours"].to_list() == sorted(logged.use["core_hours"], reverse=True)
    assert logged.use["core_hours"].sum() == pytest.approx(logged.core_hours)
    assert logged.months["core_hours"].sum() == pytest.approx(logged.core_hours)


def test_a_log_that_tells_little(tmp_path: Path) -> None:
    nobody = "".join(f"{k} {k}0 -1 100 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n" for k in range(1, 20))
    logged = logged_of(tmp_path, f"; MaxProcs: 4\n{nobody}")
    assert logged.all_waits is None and logged.backlog.is_empty() and logged.utilisation is None
    assert logged.payer is None and logged.asked is None and logged.requests.is_empty()
    assert logged.statuses["status"].unique().to_list() == ["unknown"]
    assert not logged.extent.clock.has_dates and logged.extent.submitted == "over 3 min, without dates"


def test_requests_beside_what_was_used(tmp_path: Path) -> None:
    text = "".join(swf_line(k, k, 0, 100 * k, 1, 1000) for k in (1, 2, 9, 12))
    logged = logged_of(tmp_path, f"; MaxProcs: 4\n{text}")
    assert logged.requests.rows() == [(2, 1), (4, 1), (18, 1), (20, 1)]
    assert logged.asked == pytest.approx({"median": 0.55, "little": 0.5, "unused": 1 - 2200 / 4000})


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="source 'other' has no job in the warehouse"):
        read_logged(warehouse_of(tmp_path, busy_log(20)), "other")


# nodes: The section on nodes.


def test_the_section_says_what_is_stranded_and_who_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 100, 900), (0, 100, 200, 900)], monkeypatch)
    section = nodes_section(open_warehouse(), "mine")
    assert section is not None
    [table] = [block for block in section.blocks if isinstance(block, Table) and "on average" in block.caption]
    assert ["cores stranded: memory is missing", "1.5", "19 %"] in [list(row) for row in table.rows]
    assert any(isinstance(block, Chart) for block in section.blocks)
    printed = succeed("who", "mine", "--nodes")
    assert "stranded: memory is missing" in printed and "held by account, most first" in printed


def test_a_log_without_nodes_has_no_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 100, 900)], monkeypatch)
    with open_warehouse().write() as connection:
        connection.execute("DELETE FROM core.job_nodes")
    assert nodes_section(open_warehouse(), "mine") is None


# summary: The summary: sentences with hours, and a recommendation in words of the verdict and the grade.

HOUR = 3600.0
BASELINE = Scheduler(
    "Best fit", "fitted", 200, 6 * HOUR, HOUR, 9 * HOUR, 0.4, 0.9, 1e5, 9.0, {"serial": HOUR, "large": 4 * HOUR}
)
EASY = Scheduler(
    "EASY with predicted times", "tried", 200, 4.1 * HOUR, HOUR, 8 * HOUR, 0.5, 0.9, 1e5, 5.0,
    {"serial": 600.0, "large": 5.2 * HOUR}, "dominates, certain", "", 1,
)  # fmt: skip


@pytest.fixture
def logged(graded: Warehouse) -> LoggedSystem:
    return read_logged(graded, "mine")


def of(logged: LoggedSystem, letter: str | None, verdict: str = "dominates, certain", payers: str = "") -> Summary:
    grade = Grade(letter, None if letter else "reasons", 2 * HOUR, HOUR)
    tried = (replace(EASY, verdict=verdict, payers=payers),)
    return summarise(logged, Comparison(grade, None, 200, None, BASELINE, tried, 256, 256))


def test_a_recommendation_has_hours_who_pays_the_verdict_and_the_grade(logged: LoggedSystem) -> None:
    summary = of(logged, "B")
    assert summary.headline == "Adopt EASY with predicted times."
    assert summary.advice == (
        "EASY with predicted times: mean wait 4.1 h instead of 6.0 h under the scheduler that fits the log best; "
        "jobs over 4 processors wait 1.2 h longer (5.2 h instead of 4.0 h). Verdict: dominates, certain. Grade B."
    )


@pytest.mark.parametrize(
    ("letter", "verdict", "headline", "says"),
    [
        ("A", "dominates", "Try EASY with predicted times.", "this may be chance"),
        ("C", "dominates, certain", "Try EASY with predicted times.", "The figures are rough"),
        ("B", "trades", "A trade: EASY with predicted times.", "who should wait is for you to decide"),
        ("B", "harms", "Keep what runs.", "without doing harm"),
        ("B", "worse", "Keep what runs.", "without doing harm"),
        (
            "D",
            "dominates, certain",
            "No recommendation: the replays cannot be trusted.",
            "came out first, with shorter waits",
        ),
        ("D", "worse", "No recommendation.", "without doing harm"),
        (None, "dominates", "No recommendation: there is no grade.", "No grade: reasons."),
    ],
)
def test_the_advice_follows_verdict_and_grade(
    logged: LoggedSystem, letter: str | None, verdict: str, headline: str, says: str
) -> None:
    summary = of(logged, letter, verdict)
    assert summary.headline == headline and says in summary.advice


def test_a_trade_says_what_grows(logged: LoggedSystem) -> None:
    assert "what grows: wait of wide jobs 5.2 h instead of 4.0 h" in of(
        logged, "B", "trades", "wait of wide jobs 5.2 h instead of 4.0 h"
    ).advice  # fmt: skip


def test_few_jobs_and_no_waits_are_no_ground_for_advice(logged: LoggedSystem) -> None:
    few = Comparison(Grade("A", None, 1.0, 1.0), None, 60, None, replace(BASELINE, jobs=60), (EASY,), 256, 256)
    assert summarise(logged, few).advice.startswith("Only 60 jobs can be compared")
    idle = replace(few, baseline=replace(BASELINE, longest_s=5.0), tried=(replace(EASY, longest_s=5.0),))
    assert summarise(logged, idle).advice.startswith("Nobody waits longer than a minute")
    assert {summarise(logged, each).headline for each in (few, idle)} == {"No recommendation."}


def test_the_sentences_tell_what_happened(logged: LoggedSystem) -> None:
    text = " ".join(of(logged, "B").happened)
    waits = logged.all_waits
    assert waits is not None
    assert "The log has 600 jobs, submitted 1 Jan 2026 to 11 Apr 2026," in text and "on 16 processors" in text
    assert f"and {share(waits['within_24_h'])} within 24 h" in text
    assert "of the processors were in use" in text and "The largest user, " in text
    assert "of the time that it requested" in text
    assert " s " not in text and "second" not in text, "hours and days, not seconds"


def test_where_the_own_scheduler_replays_it_is_the_baseline(logged: LoggedSystem) -> None:
    compared = Comparison(Grade("B", None, 2 * HOUR, HOUR), None, 200, None, BASELINE, (EASY,), 256, 256)
    own = Alternatives("slurm", 100, 7200.0, 7200.0, (), "", 0, 0.1)
    assert summarise(logged, compared, own).happened[0] == "Baseline: Slurm as it is configured."
    assert summarise(logged, compared).happened[0].startswith(f"Baseline: {BASELINE.name}: ")


def test_a_log_of_no_real_cluster_has_no_grade_and_the_reason(logged: LoggedSystem) -> None:
    grade = Grade(None, "the log is generated: no real cluster has seen these jobs", has_real_waits=False)
    summary = summarise(logged, Comparison(grade, "No scheduler was evaluated."))
    assert summary.headline == "No recommendation yet." and summary.advice == "No scheduler was evaluated."
    assert summary.trust.startswith("Grade: none, because the log is generated: no real cluster has seen these jobs.")


def test_the_summary_for_programs_has_the_same_sentences(graded: Warehouse, logged: LoggedSystem) -> None:
    compared = read_comparison(graded, "mine")
    summary = summarise(logged, compared)
    data = as_data(logged, compared, summary, CREATED)
    assert data["sentences"] == summary.lines() and data["grade"] == "B" and data["jobs"] == 600
    assert data["created"] == "2026-11-24T04:05:00+00:00"
    assert data["schedulers"]["columns"][0] == "scheduler"
    assert len(data["schedulers"]["rows"]) == 2 + len(compared.tried)


# words: Durations in hours and days, and names that operators know.


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 min"), (1, "under 1 min"), (60, "1 min"), (3569, "59 min"), (3599, "1.0 h"), (14_760, "4.1 h"),
        (259_199, "72.0 h"), (259_200, "3.0 days"), (86_400 * 1234, "1,234.0 days"),
    ],
)  # fmt: skip
def test_durations_are_in_minutes_hours_or_days(seconds: float, text: str) -> None:
    assert words.duration_text(seconds) == text


def test_two_durations_have_one_unit_where_that_can_be_read() -> None:
    assert words.instead(4.1 * 3600, 6 * 3600) == "4.1 h instead of 6.0 h"
    assert words.instead(2 * 86_400, 5 * 86_400) == "2.0 days instead of 5.0 days"
    assert words.instead(8.5 * 3600, 32.8 * 86_400) == "8.5 h instead of 32.8 days"
    assert words.instead(60, 7200) == "1 min instead of 2.0 h"


def test_changes_have_a_sign() -> None:
    assert words.change_text(4 * 3600, 6 * 3600) == "-2.0 h (-33 %)"
    assert words.change_text(6 * 3600, 4 * 3600) == "+2.0 h (+50 %)"
    assert words.change_text(29, 0) == "none" and words.change_text(40, 0) == "+1 min"
    assert words.change_text(100 * 3600, 3600) == "+4.1 days (100 times)"


@pytest.mark.parametrize(
    ("part", "text"),
    [(0, "0 %"), (0.0004, "under 0.1 %"), (0.042, "4.2 %"), (0.37, "37 %"), (0.99996, "99.9 %"), (1, "100 %")],
)
def test_shares_are_percent(part: float, text: str) -> None:
    assert words.share(part) == text


def test_sizes_have_no_gap_and_no_overlap() -> None:
    assert list(words.size_names(256).values()) == [
        "1 processor", "2 to 16 processors", "17 to 64 processors", "over 64 processors",
    ]  # fmt: skip
    assert words.size_names(338)["medium"] == "22 to 84 processors"
    assert words.size_names(4)["large"] == "over 1 processors"
    assert words.jobs_of("over 64 processors") == "jobs over 64 processors"
    assert words.jobs_of("1 processor") == "jobs of 1 processor"


def test_every_policy_that_is_evaluated_has_a_name_that_is_explained() -> None:
    contestants = [Contestant(name, name) for name in (*RIVAL_HEURISTICS, "key", "learned")]
    rules = [rule for rule, _ in period_rules(contestants)]
    names = [words.rule_name(rule.name, rule.estimates) for rule in rules]
    assert len({*names}) == len(names) == 19 + len(EXPERT_RIVALS)
    assert "EASY with predicted times" in names and "Bounded key with live estimates" in names
    explained = {name.split(" with ")[0].partition(", after")[0] for name in names}
    more = {"After 6 h, 12 h the oldest", "Random order", "Orders"}
    assert explained | more == words.NAMES_EXPLAINED.keys()


def test_what_may_have_written_a_log_has_a_name() -> None:
    assert words.configuration_name("SAF", "conservative") == "smallest area first, conservative backfilling"
    assert words.configuration_name("multifactor:size=3", "none") == "multifactor priority (size=3), no backfilling"


def test_lists_and_counts_read_as_sentences() -> None:
    assert words.sentence_list(["a"]) == "a" and words.sentence_list(["a", "b", "c"]) == "a, b and c"
    assert words.count(1, "job") == "1 job" and words.count(1200, "job") == "1,200 jobs"
    assert words.amount(1234) == "1,234" and words.amount(3_140_000) == "3.1 million"
