"""Tests of assets/pages/look: charts, drawing, templates."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import pytest
from jinja2 import UndefinedError

from assets.pages.look import charts
from assets.pages.look.drawing import MOST_HINTS, WIDTHS, ChartPanel, Figure, Series, round_ticks
from assets.pages.look.templates import FOLDER, environment, fill, number, unbroken, with_code
from assets.pages.words import DAY_S, HOUR_S, MINUTE_S

# charts: Charts have axes with units, and labels that cannot be taken for tags.

HOURS = {"mean": [1.0, 2.0], "median": [0.5, None]}
MONTHS = [date(2026, 1, 1), date(2026, 2, 1)]
MOMENTS = [datetime(2026, 1, 1) + timedelta(hours=6 * k) for k in range(400)]


def all_kinds() -> list[Figure]:
    return [
        charts.by_month(MONTHS, HOURS, "wait, hours", {}),
        charts.by_month(MONTHS, {"a": [1.0, 2.0]}, "core-hours a month", {}, stacked=True),
        charts.panels_over_time([0.0, 1.0], {"in use, %": [1.0, 2.0], "jobs waiting": [3.0, 4.0]}),
        charts.panels_over_time(MOMENTS, {"in use, %": [50.0] * len(MOMENTS)}),
        charts.bars(["1", "2 to 4"], {"a": [1.0, 2.0]}, "processors", "mean wait, hours"),
        charts.shares_used([1.0] * 21),
        charts.started_within({"1 processor": ([MINUTE_S, HOUR_S], [0.5, 1.0])}),
    ]


@pytest.mark.parametrize("number", range(len(all_kinds())))
def test_every_chart_has_titles_and_values_at_every_width(number: int) -> None:
    figure = all_kinds()[number]
    text = drawn(figure)
    assert text.count("<svg") == len(WIDTHS) and text.count(">" + figure.title + "</text>") == len(WIDTHS)
    for panel in figure.panels:
        assert text.count('class="ytitle" x="2"') == len(WIDTHS) * len(figure.panels) and panel.title in text
    for svg in text.split("<svg")[1:]:
        assert 'class="data"' in svg and 'class="xtick"' in svg and "nan" not in svg and "inf" not in svg


def test_days_of_a_log_without_dates_are_counted() -> None:
    assert all_kinds()[2].title == "days since the first submission"


def test_a_month_that_is_not_over_is_dashed_or_lighter_and_says_so() -> None:
    part = {date(2026, 2, 1): "to 12 Feb"}
    line = drawn(charts.by_month(MONTHS, {"mean": [1.0, 2.0]}, "h", part))
    assert line.count("to 12 Feb</text>") == len(WIDTHS) and line.count("stroke-dasharray") == len(WIDTHS)
    assert "February 2026 (to 12 Feb)\nmean: 2" in line, "under the mouse, too"
    stacked = drawn(charts.by_month(MONTHS, {"a": [1.0, 2.0]}, "h", part, stacked=True))
    assert stacked.count("fill-opacity") == len(WIDTHS)
    assert "dasharray" not in drawn(charts.by_month(MONTHS, {"mean": [1.0, 2.0]}, "h", {}))


def test_a_month_without_jobs_leaves_its_place_empty() -> None:
    figure = charts.by_month([date(2026, 1, 1), date(2026, 3, 1)], {"a": [1.0, 2.0]}, "h", {}, stacked=True)
    assert list(figure.x) == [2026 * 12, 2026 * 12 + 2] and len(figure.ticks[0]) == 3


def test_a_name_of_a_log_is_no_tag() -> None:
    odd = '<a href="https://example.org">x</a> & y'
    for figure in (
        charts.bars([odd], {odd: [1.0], "b": [1.0]}, "x", "y"),
        charts.by_month(MONTHS, {odd: [1.0, 2.0], "b": [1.0, 2.0]}, "y", {}),
    ):
        assert "<a" not in drawn(figure) and "&lt;a href=" in drawn(figure)


def test_waits_have_ticks_that_people_say() -> None:
    figure = charts.started_within({"1 processor": ([MINUTE_S, DAY_S], [0.5, 1.0]), "2": ([MINUTE_S], [0.7])})
    assert [text for _, text in figure.ticks[0]] == ["1 min", "10 min", "1 h", "6 h", "1 day"]
    assert [list(series.y) for series in figure.panels[0].series] == [[50.0, 100.0], [70.0, 70.0]]


@pytest.mark.parametrize("days", [0.01, 0.5, 3, 12, 40, 200, 900, 9000])
def test_dates_fit_whatever_the_length_of_the_log(days: float) -> None:
    at = [datetime(2026, 1, 30, 7) + timedelta(days=days * k / 50) for k in range(51)]
    text = drawn(charts.panels_over_time(at, {"in use, %": [1.0] * 51}))
    for svg in text.split("<svg")[1:]:
        assert 1 <= len(re.findall('class="xtick"', svg)) <= 14


# drawing: Drawings: values are where they belong, and labels are numbers that people count by.


def figure(values: list[float | None], shape: str, **options: object) -> Figure:
    panel = ChartPanel("hours", [Series("a", values, "#000")], shape)  # type: ignore[arg-type]
    places = list(range(len(values)))
    ticks = [[(float(place), str(place)) for place in places]]
    return Figure([panel], "place", places, list(map(str, places)), -0.5, len(values) - 0.5, ticks, **options)  # type: ignore[arg-type]


def test_heights_of_bars_are_in_proportion() -> None:
    wide = drawn(figure([1.0, 2.0, 4.0], "bars")).split("<svg")[-1]
    heights = [float(text) for text in re.findall(r'class="data" [^>]*height="([\d.]+)"', wide)]
    assert heights == pytest.approx([heights[2] / 4, heights[2] / 2, heights[2]], abs=0.2)


def test_a_gap_is_no_line() -> None:
    paths = re.findall(r'class="data" d="([^"]+)"', drawn(figure([1.0, 2.0, None, 1.0, 2.0], "line")))
    assert len(paths) == len(WIDTHS) and all(path.count("M") == 2 == path.count("L") for path in paths)


def test_a_long_series_has_few_hints_and_a_phone_none() -> None:
    phone, *others = drawn(figure([1.0] * 1000, "area")).split("<svg")[1:]
    assert "<title>" not in phone
    assert all(0 < each.count("<title>") <= MOST_HINTS for each in others)


def test_labels_that_would_touch_are_left_out() -> None:
    phone, _, desk = drawn(figure([1.0] * 60, "bars")).split("<svg")[1:]
    assert 3 < phone.count("xtick") < desk.count("xtick") <= 60


def test_no_value_is_empty_and_one_is_drawn() -> None:
    assert figure([None], "dots").is_empty and not figure([0.0], "dots").is_empty
    assert "<circle" in drawn(figure([0.0], "dots"))


@pytest.mark.parametrize(
    ("last", "ticks"), [(0.0, [0]), (7, [0, 2, 4, 6]), (0.3, [0, 0.1, 0.2, 0.3]), (3e6, [0, 1e6, 2e6, 3e6])]
)
def test_ticks_are_numbers_that_people_count_by(last: float, ticks: list[float]) -> None:
    assert round_ticks(last, 4) == ticks


# templates: Templates and styles: what is filled in is text, nothing is loaded, and every width of a drawing is
# shown somewhere.


def drawn(figure: Figure, height: int = 300) -> str:
    """The legend and the drawings of a figure as HTML."""
    return str(environment().get_template("chart.html").module.figure(figure, "c", "What it shows", height))  # type: ignore[attr-defined]


def test_styles_load_nothing_and_show_every_width_of_a_drawing() -> None:
    for file in FOLDER.glob("*.css"):
        style = file.read_text()
        assert "url(" not in style and "@import" not in style and style.count("{") == style.count("}")
    shown = (FOLDER / "report.css").read_text()
    for width in WIDTHS:
        assert f".w{width} {{ display: block; }}" in shown


def test_what_is_filled_in_is_escaped_and_nothing_may_be_missing() -> None:
    assert with_code("see `a <b>` & c") == "see <code>a &lt;b&gt;</code> &amp; c"
    with pytest.raises(UndefinedError):
        fill("page.html", title="a")


def test_a_number_stays_with_its_unit() -> None:
    assert unbroken("4.1 h (-3 %)") == "4.1\u00a0h (-3\u00a0%)"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.05, "0.05"), (12.5, "12.5"), (12400, "12,400"), (3.1e6, "3.1 million")]
)
def test_numbers_as_people_write_them(value: float, text: str) -> None:
    assert number(value) == text
