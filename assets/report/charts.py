"""Charts of the report as plotly figures: axes with units, few ticks, nothing to click away. None reads data."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assets.report.words import DAY_S, HOUR_S, MINUTE_S

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

INK, GRID = "#22303c", "#e2e8f0"
LINE_COLOURS = ("#2b6cb0", "#dd6b20", "#2f855a", "#805ad5", "#c53030", "#319795", "#b7791f")
OTHER = "#a0aec0"
WAIT_TICKS_S = {
    MINUTE_S: "1 min",
    10 * MINUTE_S: "10 min",
    HOUR_S: "1 h",
    6 * HOUR_S: "6 h",
    DAY_S: "1 day",
    7 * DAY_S: "1 week",
    30 * DAY_S: "30 days",
}
Series = Mapping[str, Sequence[float | None]]
"""Values of each line or bar by its name; None leaves a gap."""


def plain(name: str) -> str:
    """A name from a log as a label: plotly would take `<` for the beginning of a tag."""
    return html.escape(str(name), quote=False)


def started_within(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Figure:
    """Share of jobs that had started after so long. curves: by name, seconds and shares of 1."""
    figure = _figure()
    for k, (name, (seconds, shares)) in enumerate(curves.items()):
        percent = [round(100 * part, 2) for part in shares]
        _line(figure, plain(name), list(seconds), percent, LINE_COLOURS[k], hover="%{y:.0f} %")
    longest = max(seconds[-1] for seconds, _ in curves.values())
    ticks = {at: text for at, text in WAIT_TICKS_S.items() if at <= longest or at == MINUTE_S}
    # few labels, so that they do not overlap on a phone
    figure.update_xaxes(
        title="wait of at most", type="log", tickvals=list(ticks), ticktext=list(ticks.values()), tickangle=0
    )
    figure.update_yaxes(title="jobs started, %", range=[0, 101])
    return figure


def over_time(at: Sequence[Any], series: Series, title: str, dates: bool) -> Figure:
    """Lines over time. at: local dates, or days since the first submission. title: of the vertical axis, with its unit."""
    figure = _figure()
    for k, (name, values) in enumerate(series.items()):
        _line(figure, plain(name), list(at), list(values), LINE_COLOURS[k], marked=True)
    figure.update_yaxes(title=title, rangemode="tozero")
    figure.update_layout(showlegend=len(series) > 1)
    _time_axis(figure, dates)
    return figure


def panels_over_time(at: Sequence[Any], series: Series, dates: bool) -> Figure:
    """One panel below the other with the same time axis. series: by the title of the panel's vertical axis."""
    from plotly.subplots import make_subplots

    figure = _styled(make_subplots(rows=len(series), cols=1, shared_xaxes=True, vertical_spacing=0.07))
    for k, (title, values) in enumerate(series.items()):
        _line(figure, title, list(at), list(values), LINE_COLOURS[k], row=k + 1, filled=True)
        figure.update_yaxes(title=title, rangemode="tozero", row=k + 1, col=1)
    figure.update_layout(showlegend=False, dragmode="zoom")
    figure.update_xaxes(fixedrange=False)
    _time_axis(figure, dates, row=len(series))
    return figure


def bars(labels: Sequence[str], series: Series, x_title: str, y_title: str, stacked: bool = False) -> Figure:
    """Bars of each series beside each other, or on top of each other."""
    from plotly.graph_objects import Bar

    figure = _figure()
    for k, (name, values) in enumerate(series.items()):
        colour = OTHER if name.startswith("all other") else LINE_COLOURS[k % len(LINE_COLOURS)]
        figure.add_trace(
            Bar(
                name=plain(name),
                x=list(map(plain, labels)),
                y=list(values),
                marker={"color": colour},
                hovertemplate="%{y:,.4~g}",
            )
        )
    figure.update_layout(barmode="stack" if stacked else "group", bargap=0.25, showlegend=len(series) > 1)
    figure.update_xaxes(title=x_title, type="category", tickangle=0)
    figure.update_yaxes(title=y_title, rangemode="tozero")
    return figure


def shares_used(percent: Sequence[float]) -> Figure:
    """How much of their requested time jobs used. percent: of jobs, in twentieths of the request, and of those that used all or more."""
    labels = [*(f"{5 * k} to {5 * k + 5}" for k in range(len(percent) - 1)), "100 and more"]
    figure = bars(labels, {"jobs": percent}, "time used, % of the time requested", "jobs, %")
    figure.update_xaxes(tickvals=labels[::5], ticktext=["0", "25", "50", "75", "100 and more"])
    return figure


def monthly(months: Sequence[str], series: Series, y_title: str) -> Figure:
    """Stacked bars, one a month. months: first days, as 2026-01-01."""
    figure = bars(months, series, "", y_title, stacked=True)
    _time_axis(figure, dates=True)
    figure.update_xaxes(type="date", title="month of submission")
    return figure


def _figure() -> Figure:
    from plotly.graph_objects import Figure

    return _styled(Figure())


def _styled(figure: Figure) -> Figure:
    figure.update_layout(
        template="none",
        font={"family": "system-ui, sans-serif", "size": 12, "color": INK},
        margin={"l": 56, "r": 12, "t": 8, "b": 48},
        paper_bgcolor="#fff",
        plot_bgcolor="#fff",
        hovermode="x unified",
        dragmode=False,
        legend={"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom", "traceorder": "normal"},
    )
    figure.update_xaxes(**_AXIS, showgrid=False)
    figure.update_yaxes(**_AXIS, gridcolor=GRID)
    return figure


_AXIS: dict[str, Any] = {
    "fixedrange": True, "zeroline": False, "linecolor": INK, "ticks": "outside", "ticklen": 4, "automargin": True,
}  # fmt: skip


def _line(
    figure: Figure, name: str, x: list[Any], y: list[Any], colour: str, row: int | None = None, **style: Any
) -> None:
    from plotly.graph_objects import Scatter

    trace = Scatter(
        name=name,
        x=x,
        y=y,
        mode="lines+markers" if style.get("marked") else "lines",
        line={"color": colour, "width": 1.8},
        marker={"size": 5},
        fill="tozeroy" if style.get("filled") else None,
        hovertemplate=style.get("hover", "%{y:,.3~g}"),
    )
    figure.add_trace(trace, **({"row": row, "col": 1} if row else {}))


def _time_axis(figure: Figure, dates: bool, row: int | None = None) -> None:
    """Ticks are upright and few, so that dates do not overlap on a phone. row: the panel that the title stands below."""
    if dates:
        figure.update_xaxes(
            type="date",
            tickformatstops=[
                {"dtickrange": [None, DAY_S * 1000 - 1], "value": "%H:%M<br>%-d %b"},
                {"dtickrange": [DAY_S * 1000, "M1"], "value": "%-d %b<br>%Y"},
                {"dtickrange": ["M1", None], "value": "%b<br>%Y"},
            ],
            hoverformat="%-d %b %Y",
        )
    figure.update_xaxes(nticks=5, tickangle=0)
    title = "date" if dates else "days since the first submission"
    figure.update_xaxes(title=title, **({"row": row, "col": 1} if row else {}))
