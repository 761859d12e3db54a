"""The page of the report: one file that needs nothing else, and the same bytes for the same content."""

from __future__ import annotations

import json
import re

import pytest

from assets.report import charts
from assets.report.page import (
    SUMMARY_ID,
    Bullets,
    Callout,
    Chart,
    Heading,
    Section,
    Table,
    TermList,
    page,
    summary_of_page,
)
from tests.assets.report.conftest import CREATED


def drawing(name: str = "waits") -> Chart:
    return Chart(name, "Waits", charts.bars(["1"], {"log": [1.0]}, "processors", "hours"))


def made(*blocks: object) -> str:
    return page("x & y", "<log>", CREATED, [Section("Who waits", blocks), Section("Details", [])], {"a": "</script>"})  # type: ignore[arg-type]


def without_library(text: str) -> str:
    """A page without the code of the plotting library, which has addresses in it that it never asks for."""
    return re.sub(r"<script>/\*\*.*?</script>", "", text, flags=re.DOTALL)


def assert_asks_no_host(text: str) -> None:
    """No address of another host stands where a browser would load something from."""
    own = without_library(text)
    assert not re.search(r"""(?:src|href|action|data|poster)\s*=\s*["']?\s*(?:https?:)?//""", own)
    assert not re.search(r"""(?:url\(|@import|fetch\(|XMLHttpRequest)\s*["']?\s*(?:https?:)?//""", own)
    assert "<link" not in own and "<iframe" not in own and "<img" not in own
    assert "default-src 'none'" in own, "the browser itself refuses to load anything"


def test_a_page_escapes_what_it_shows_and_links_its_sections() -> None:
    table = Table("Waits <of> all", ("queue", "jobs"), [["a<b", "1,234"]], marked=["a<b"], links={"a<b": 'a"b.html'})
    text = made(
        "All <of> them.", Heading("<h>"), Bullets(["<i>"]), Callout("<b>", "<c>"), TermList([("<k>", "<v>")]), table
    )
    assert "<h1>x &amp; y</h1>" in text and "&lt;log&gt;" in text and "<p>All &lt;of&gt; them.</p>" in text
    for letter in "hibckv":
        assert f"&lt;{letter}&gt;" in text
    assert '<a href="#who-waits">' in text and '<section id="who-waits">' in text
    assert (
        '<tr class=marked><td class="text"><a href="a%22b.html">a&lt;b</a></td><td class="number">1,234</td></tr>'
        in text
    )


def test_the_creation_date_is_on_the_page() -> None:
    assert "Created on 24 November 2026 at 04:05 UTC" in made()


def test_the_library_is_in_the_page_once_and_only_if_there_is_a_chart() -> None:
    text = made(drawing(), drawing("use"))
    assert text.count("plotly.js v") == 1 and len(text) > 4_000_000
    assert "plotly.js v" not in made() and "<script>" not in made()
    assert_asks_no_host(text)


def test_the_same_content_gives_the_same_bytes() -> None:
    assert made(drawing()) == made(drawing())


def test_a_chart_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match="the chart 'waits' shows nothing"):
        Chart("waits", "Waits", charts.bars([], {"log": []}, "processors", "hours"))
    with pytest.raises(ValueError, match="two charts of a page have one name"):
        made(drawing(), drawing())


@pytest.mark.parametrize("labels", [["a", "a"], ["a", " "]])
def test_rows_without_a_label_of_their_own_are_refused(labels: list[str]) -> None:
    with pytest.raises(ValueError, match="rows without a label of their own"):
        Table("t", ("queue", "jobs"), [[label, "1"] for label in labels])


def test_the_summary_can_be_read_from_the_page() -> None:
    text = made()
    assert summary_of_page(text) == {"a": "</script>"} and text.count("</script>") == 1
    assert summary_of_page("<html>") is None
    assert text.index(SUMMARY_ID) < text.index("<body>")


def test_a_name_of_a_log_ends_no_script() -> None:
    odd = "</script><script>alert(1)</script>"
    text = without_library(made(Chart("waits", odd, charts.bars(["1"], {odd: [1.0]}, odd, "hours"))))
    assert "<script>alert" not in text
    (chart,) = re.findall(r'data-chart="chart-waits">(.*?)</script>', text)
    assert json.loads(chart)["layout"]["xaxis"]["title"]["text"] == odd
