"""The page of what-if results: whole, self-contained, with names that cannot break it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from assets.report.scenario_page import scenario_page
from tests.assets.replay.scenarios.examples import SIX, busy_home, results_of

VOID = {"meta", "br"}


class Tags(HTMLParser):
    """Checks that every tag that opens closes, and keeps the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return busy_home(monkeypatch, tmp_path)


def test_a_page_has_every_scenario_and_loads_nothing(busy: Path) -> None:
    results = results_of(SIX)
    text = scenario_page(results)
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    for name in SIX:
        assert tags.text.count(name) >= 3  # waits, changes, fates
    assert "no fitted scheduler has a grade" in tags.text
    assert "40 jobs of the base" in tags.text
    assert not re.search(r"(?:src|href)=|https?://|@import", text)
    assert scenario_page(results) == text


def test_names_are_escaped(busy: Path) -> None:
    text = scenario_page(results_of({"<b>& more": {"procs": 20}}))
    assert "<b>" not in text and "&lt;b&gt;&amp; more" in text
