"""The asset marts/report: one file that needs no network, as a finished run has left it."""

from __future__ import annotations

from assets.report.index import INDEX_COLUMNS
from assets.report.page import HEAD_BYTES, summary_of_page
from tests.tiny import SOURCE, Home


def test_the_report_of_a_finished_run(finished: Home) -> None:
    folder = finished.folder / "warehouse" / "data" / "reports"
    page = (folder / f"{SOURCE}.html").read_text()
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")
    summary = summary_of_page(page[:HEAD_BYTES])
    assert summary is not None and summary["source"] == SOURCE
    assert len(page.encode()) < 8_000_000
    index = (folder / "_index.html").read_text()
    assert f'<a href="{SOURCE}.html">{SOURCE}</a>' in index and all(f">{name}</th>" in index for name in INDEX_COLUMNS)
