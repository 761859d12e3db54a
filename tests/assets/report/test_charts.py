"""Charts have axes with units, and labels that cannot be taken for tags."""

from __future__ import annotations

from assets.report import charts
from assets.report.words import DAY_S, HOUR_S, MINUTE_S

HOURS = {"mean": [1.0, 2.0], "median": [0.5, None]}


def titles(figure) -> list[str]:
    return [axis.title.text for axis in (*figure.select_xaxes(), *figure.select_yaxes())]


def test_every_axis_has_a_title() -> None:
    dates = ["2026-01-01", "2026-02-01"]
    drawn = [
        charts.over_time(dates, HOURS, "wait, hours", dates=True),
        charts.over_time([0.0, 1.0], HOURS, "wait, hours", dates=False),
        charts.bars(["1", "2 to 4"], {"a": [1.0, 2.0]}, "processors", "mean wait, hours"),
        charts.monthly(dates, {"a": [1.0, 2.0]}, "core-hours a month"),
        charts.shares_used([1.0] * 21),
        charts.started_within({"1 processor": ([MINUTE_S, HOUR_S], [0.5, 1.0])}),
    ]
    for figure in drawn:
        assert all(titles(figure)), titles(figure)
    assert drawn[1].layout.xaxis.title.text == "days since the first submission"


def test_panels_share_a_time_axis_whose_title_is_below_the_last() -> None:
    figure = charts.panels_over_time([0.0, 1.0], {"in use, %": [1.0, 2.0], "jobs waiting": [3.0, 4.0]}, dates=False)
    assert titles(figure) == [None, "days since the first submission", "in use, %", "jobs waiting"]
    assert figure.layout.dragmode == "zoom"


def test_dates_are_few_and_upright() -> None:
    for figure in (
        charts.over_time(["2026-01-01"], {"a": [1.0]}, "h", dates=True),
        charts.monthly(["2026-01-01"], {"a": [1.0]}, "h"),
    ):
        axis = figure.layout.xaxis
        assert axis.type == "date" and axis.tickangle == 0 and axis.nticks <= 5
        assert "<br>" in axis.tickformatstops[0].value


def test_a_name_of_a_log_is_no_tag() -> None:
    odd = '<a href="https://example.org">x</a> & y'
    for figure in (
        charts.bars(["1"], {odd: [1.0]}, "x", "y"),
        charts.over_time(["2026-01-01"], {odd: [1.0]}, "y", dates=True),
    ):
        assert figure.data[0].name == '&lt;a href="https://example.org"&gt;x&lt;/a&gt; &amp; y'


def test_waits_have_ticks_that_people_say() -> None:
    figure = charts.started_within({"1 processor": ([MINUTE_S, DAY_S], [0.5, 1.0])})
    assert list(figure.layout.xaxis.ticktext) == ["1 min", "10 min", "1 h", "6 h", "1 day"]
    assert list(figure.data[0].y) == [50.0, 100.0]
