"""The asset marts/report: one file that needs no network, as a finished run has left it."""

from __future__ import annotations

from tests.tiny import SOURCE, Home


def test_the_report_of_a_finished_run(finished: Home) -> None:
    page = (finished.folder / "warehouse" / "data" / "reports" / f"{SOURCE}.html").read_text()
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")
    assert "<script" not in page and 'src="' not in page
