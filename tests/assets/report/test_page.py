"""The page of the report: one file that needs nothing else, and the same bytes for the same content."""

from __future__ import annotations

import re

import pytest

from assets.report.look import charts
from assets.report.look.drawing import WIDTHS
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


def assert_asks_no_host(text: str) -> None:
    """No address of another host stands where a browser would load something from, and no script runs."""
    assert not re.search(r"""(?:src|href|action|data|poster)\s*=\s*["']?\s*(?:https?:)?//""", text)
    assert not re.search(r"""(?:url\(|@import|fetch\(|XMLHttpRequest)\s*["']?\s*(?:https?:)?//""", text)
    assert "<link" not in text and "<iframe" not in text and "<img" not in text
    assert "<script>" not in text and "default-src 'none'" in text, "the browser itself refuses to load anything"


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
        '<tr class=marked><td class="text"><a href="a%22b.html">a&lt;b</a></td><td class="number" data-label="jobs">1,234</td></tr>'
        in text
    )


def test_the_creation_date_is_on_the_page() -> None:
    assert "Created on 24 November 2026 at 04:05 UTC" in made()


def test_charts_are_drawn_in_the_page_which_stays_small() -> None:
    text = made(drawing(), drawing("use"))
    assert text.count("<svg") == 2 * len(WIDTHS) and len(text) < 40_000
    assert_asks_no_host(text)


def test_on_a_wide_page_two_small_blocks_stand_beside_each_other() -> None:
    small, large = (
        Table(name, ("who", *"abcdefg"[:columns]), [["x", *"1234567"[:columns]]])
        for name, columns in (("s", 4), ("l", 7))
    )
    assert made(small, drawing()).count('<div class="pair">') == 1
    for pair in ((large, drawing()), (small, "text"), (small, Chart("w", "W", drawing().figure, whole=True))):
        assert '<div class="pair">' not in made(*pair)


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


def test_a_name_of_a_log_ends_no_element() -> None:
    odd = '</title></svg><script>alert(1)</script>"'
    text = made(
        Chart("waits", odd, charts.bars([odd], {odd: [1.0], "b": [1.0]}, odd, odd)),
        Table("t", (odd, odd), [[odd, odd]]),
    )
    assert "<script>" not in text and odd not in text
