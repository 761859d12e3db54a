"""Charts have axes with units, and labels that cannot be taken for tags."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import pytest

from assets.report.look import charts
from assets.report.look.drawing import WIDTHS, Figure
from assets.report.words import DAY_S, HOUR_S, MINUTE_S
from tests.assets.report.look.test_templates import drawn

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
