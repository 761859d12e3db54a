"""The content of the report, from the warehouse of a finished run."""

from __future__ import annotations

import re

import pytest

from assets.report.render import render_report
from tests.pipelines.command_line import use_home
from tests.tiny import SOURCE, Home
from warehouse import Warehouse

SECTIONS = (
    "Leaderboard",
    "Utilisation and queue length",
    "Schedule of 200 jobs",
    "Who waits",
    "Predicted run times",
    "Training",
)


def test_each_predictor_has_one_row_with_its_scores_on_all_jobs(finished: Home) -> None:
    text = (finished.folder / "warehouse" / "data" / "reports" / f"{SOURCE}.html").read_text()
    section = re.search(r'<section id="predicted-run-times">.*?</section>', text, re.DOTALL)
    assert section is not None
    shown = re.findall(r'<tr><td class="text">(\w+)</td><td>([\d,.]+)</td>', section.group())
    with Warehouse(finished.database).read() as connection:
        scores = connection.sql(
            "SELECT predictor, median_absolute_error_s, jobs FROM predictions.runtime_scores "
            "WHERE user_class = 'all users' ORDER BY mean_absolute_error_s, predictor"
        ).fetchall()
    assert [name for name, _ in shown] == [name for name, _, _ in scores]
    assert [float(error.replace(",", "")) for _, error in shown] == pytest.approx([row[1] for row in scores], rel=0.01)
    assert f"on all {scores[0][2]:,} jobs" in section.group()


def test_the_same_warehouse_gives_the_same_page(finished: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, finished.folder)
    text = render_report(Warehouse(finished.database), SOURCE)
    assert text == (finished.folder / "warehouse" / "data" / "reports" / f"{SOURCE}.html").read_text()
    places = [text.index(f"<h2>{title}</h2>") for title in SECTIONS]
    assert places == sorted(places) and text.count("<h2>") == len(SECTIONS)
    assert "64 processors (from the catalogue)" in text
