"""The content of the report, from the warehouse of a finished run."""

from __future__ import annotations

import pytest

from assets.report.render import render_report
from tests.pipelines.command_line import use_home
from tests.tiny import SOURCE, Home
from warehouse import Warehouse

SECTIONS = (
    "Leaderboard",
    "The whole period in one replay",
    "Utilisation and queue length",
    "Schedule of 200 jobs",
    "Who waits",
    "Predicted run times",
    "Training",
)


def test_the_same_warehouse_gives_the_same_page(finished: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, finished.folder)
    text = render_report(Warehouse(finished.database), SOURCE)
    assert text == (finished.folder / "warehouse" / "data" / "reports" / f"{SOURCE}.html").read_text()
    places = [text.index(f"<h2>{title}</h2>") for title in SECTIONS]
    assert places == sorted(places) and text.count("<h2>") == len(SECTIONS)
    assert "64 processors (from the catalogue)" in text
