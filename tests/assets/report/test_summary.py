"""The summary: sentences with hours, and a recommendation in words of the verdict and the grade."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assets.report.comparison import Comparison, Grade, Scheduler, read_comparison
from assets.report.logged import LoggedSystem, read_logged
from assets.report.summary import Summary, as_data, summarise
from assets.report.words import share
from tests.assets.report.conftest import CREATED
from warehouse import Warehouse

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
