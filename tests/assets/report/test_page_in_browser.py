"""The report in a browser: nothing is fetched, charts are drawn, labels do not overlap, at the width of a desk and of a phone, and
on paper."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.report.render import render_report
from tests.assets.report.conftest import CREATED, SOURCE
from tests.browser import Browser
from warehouse import Warehouse

WIDTHS = (1280, 390)
OVERLAPS = """
Array.from(document.querySelectorAll(".js-plotly-plot")).flatMap(plot => {
  const labels = Array.from(plot.querySelectorAll(".xtick text")).map(e => e.getBoundingClientRect());
  return labels.flatMap((a, i) => labels.slice(i + 1).filter(b =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom).map(() => plot.id));
})
"""
UNTITLED = """
Array.from(document.querySelectorAll(".js-plotly-plot"))
  .filter(plot => !plot.querySelector(".xtitle, .x2title, .x3title") || !plot.querySelector(".ytitle")).map(plot => plot.id)
"""
EMPTY = """
Array.from(document.querySelectorAll(".js-plotly-plot"))
  .filter(plot => !plot.querySelector(".scatterlayer path, .barlayer path")).map(plot => plot.id)
"""
TOO_WIDE = """
Array.from(document.querySelectorAll("body *")).filter(e => !e.closest(".wide") && !e.closest("script, style, svg")
  && e.getBoundingClientRect().right > window.innerWidth + 1).map(e => e.tagName + " " + e.className)
"""


@pytest.fixture(scope="module")
def report(graded: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "mine.html"
    path.write_text(render_report(graded, SOURCE, CREATED))
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_whole_at_any_width(browser: Browser, report: Path, width: int) -> None:
    browser.open(report, width)
    charts = len(re.findall('data-chart="', report.read_text()))
    assert browser.value("document.querySelectorAll('.js-plotly-plot').length") == charts >= 6
    assert browser.requests() == [] and browser.faults() == []
    assert browser.value(OVERLAPS) == [], "labels of a horizontal axis overlap"
    assert browser.value(UNTITLED) == [] and browser.value(EMPTY) == []
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(TOO_WIDE) == []
    assert browser.value("document.querySelectorAll('.modebar').length") == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_it_prints_on_paper_of_a4(browser: Browser, report: Path, tmp_path: Path, width: int) -> None:
    browser.open(report, width)
    printed = tmp_path / "report.pdf"
    browser.pdf(printed)
    content = printed.read_bytes()
    assert content.startswith(b"%PDF") and len(content) > 50_000
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext for the text of the PDF: apt-get install -y poppler-utils")
    text = subprocess.run(
        ["pdftotext", "-layout", str(printed), "-"], capture_output=True, text=True, check=True
    ).stdout
    for words in (
        "Summary",
        "What really happened (the log)",
        "mean wait, hours",
        "What the names of schedulers mean",
        "Europe/Berlin",
    ):
        assert words in text
    about = subprocess.run(["pdfinfo", str(printed)], capture_output=True, text=True, check=True).stdout
    assert "(A4)" in about and 3 <= int(re.findall(r"Pages:\s+(\d+)", about)[0]) <= 15
