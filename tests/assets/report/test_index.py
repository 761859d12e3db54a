"""The index page lists every report with its summary, also one of an older release."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.common.storage import report_path
from assets.report import index
from assets.report.page import page
from tests.assets.report.conftest import CREATED
from tests.assets.report.test_page import assert_asks_no_host
from tests.pipelines.command_line import use_home
from traces.catalogue.sources import NAME

SUMMARY = {
    "created": "2026-11-23T10:00:00+00:00", "submitted": "2026-01-01 to 2026-02-01", "jobs": 1200, "mean_wait": "4.1 h",
    "within_1_h": "70 %", "grade": "B", "headline": "Adopt EASY with predicted times.",
}  # fmt: skip


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(monkeypatch, tmp_path)
    folder = report_path("a").parent
    folder.mkdir(parents=True)
    report_path("a b").write_text(page("a b", "", CREATED, [], SUMMARY))
    report_path("old").write_text("<html>of an older release</html>")
    return folder


def test_every_report_has_a_row_and_a_link(reports: Path) -> None:
    written = index.write_index(CREATED)
    text = written.read_text()
    assert written == reports / "_index.html" and "Created on 24 November 2026 at 04:05 UTC" in text
    assert '<a href="a%20b.html">a b</a>' in text and '<a href="old.html">old</a>' in text
    for cell in (
        "2026-01-01 to 2026-02-01",
        "1,200",
        "4.1\u00a0h",
        "70\u00a0%",
        "B",
        "Adopt EASY with predicted times.",
        "23\u00a0Nov\u00a02026",
    ):
        assert f">{cell}</td>" in text
    assert "<code>tracehouse report old</code> writes it again" in text
    assert "_index" not in text and index.write_index(CREATED).read_text() == text, "it does not list itself"
    assert_asks_no_host(text)


def test_without_reports_it_says_so() -> None:
    assert "There is no report yet." in index.render_index({}, CREATED)


def test_no_source_can_have_its_name(reports: Path) -> None:
    assert not NAME.fullmatch(index.index_path().stem)


def test_summaries_are_read_from_reports(reports: Path) -> None:
    assert index.read_summary("a b") == SUMMARY
    assert index.read_summary("old") is None and index.read_summary("nosuch") is None
