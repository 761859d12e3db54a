"""The report in a browser: nothing is fetched, charts are drawn, labels do not overlap, at the width of a desk and of a phone, and
on paper."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.pages.render import render_report
from tests.assets.pages.conftest import CREATED, SOURCE
from tests.browser import Browser
from warehouse import Warehouse

WIDTHS = (1280, 390)
SHOWN = "Array.from(document.querySelectorAll('.chart svg')).filter(e => getComputedStyle(e).display !== 'none')"
OVERLAPS = (
    SHOWN
    + """.flatMap(plot => {
  const labels = Array.from(plot.querySelectorAll(".xtick, .unfinished")).map(e => e.getBoundingClientRect());
  return labels.flatMap((a, i) => labels.slice(i + 1).filter(b =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom).map(() => plot.id));
})"""
)
OUTSIDE = (
    SHOWN
    + """.flatMap(plot => Array.from(plot.querySelectorAll("text, .data")).filter(e => {
  const own = e.getBoundingClientRect(), whole = plot.getBoundingClientRect();
  return own.left < whole.left - 1 || own.right > whole.right + 1 || own.top < whole.top - 1 || own.bottom > whole.bottom + 1;
}).map(e => plot.id + " " + e.textContent))"""
)
SMALL = SHOWN + ".filter(plot => plot.querySelector('.xtick').getBoundingClientRect().height < 10).map(plot => plot.id)"
TOO_WIDE = """
Array.from(document.querySelectorAll("body *")).filter(e => !e.closest("script, style, svg")
  && e.getBoundingClientRect().right > window.innerWidth + 1).map(e => e.tagName + " " + e.className)
"""
VERDICTS = """
Array.from(document.querySelectorAll("td[data-label=verdict]")).filter(e => e.textContent).map(e => e.getBoundingClientRect())
  .map(box => [box.left, box.right, box.width])
"""
LARGEST_PAGE = 1_500_000


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
    charts = len(re.findall('<div class="chart">', report.read_text()))
    assert browser.value(f"{SHOWN}.length") == charts >= 6, "one drawing of each chart"
    assert browser.requests() == [] and browser.faults() == []
    assert browser.value(OVERLAPS) == [], "labels of a horizontal axis overlap"
    assert browser.value(OUTSIDE) == [] and browser.value(SMALL) == []
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(TOO_WIDE) == [], "nothing needs scrolling sideways"
    assert report.stat().st_size < LARGEST_PAGE


@pytest.mark.parametrize("width", WIDTHS)
def test_verdicts_are_in_sight_and_a_desk_is_used(browser: Browser, report: Path, width: int) -> None:
    browser.open(report, width)
    verdicts = browser.value(VERDICTS)
    assert verdicts and all(left >= 0 and right <= width and size > 60 for left, right, size in verdicts)
    used = browser.value("document.querySelector('.wide').getBoundingClientRect().width")
    assert used >= 0.9 * width
    pairs = browser.value("Array.from(document.querySelectorAll('.pair')).map(e => getComputedStyle(e).display)")
    assert set(pairs) == {"grid" if width == 1280 else "block"}


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
