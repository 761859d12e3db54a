"""The page of the report: plain HTML that needs nothing else, and the same bytes for the same content."""

from __future__ import annotations

import matplotlib
import polars as pl

from assets.common.plots import figure
from assets.report.page import Section, page, svg


def drawing():
    canvas, (axes,) = figure()
    axes.plot([1, 2], [3, 4])
    return canvas


def test_a_page_escapes_what_it_shows_and_links_its_sections() -> None:
    rows = pl.DataFrame({"name": ["a<b"], "jobs": [1234], "wait": [1234.5], "share": [0.125], "none": [None]})
    text = page("x & y", "<log>", {"format": "swf"}, [Section("Who waits", "All <of> them.", [drawing()], rows)])
    assert "<h1>x &amp; y</h1>" in text and "&lt;log&gt;" in text and "All &lt;of&gt; them." in text
    assert '<a href="#who-waits">' in text and '<section id="who-waits">' in text
    assert '<td class="text">a&lt;b</td><td>1,234</td><td>1,234</td><td>0.12</td><td></td>' in text
    assert "http://" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert svg(drawing()) == svg(drawing())
    assert svg(drawing()).startswith("<svg")


def test_a_picture_escapes_what_it_shows() -> None:
    canvas, (axes,) = figure()
    axes.plot([1, 2], [3, 4], label="</svg><script>alert(1)</script>")
    axes.legend()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        as_text = svg(canvas)
    for text in (as_text, svg(canvas)):
        assert "<script" not in text and text.count("</svg>") == 1
