"""Charts of the report as figures: axes with units, few ticks, nothing to click away. None reads data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from assets.pages.look.drawing import ChartPanel, Figure, Series, Tick, round_ticks
from assets.pages.look.templates import number
from assets.pages.words import DAY_S, HOUR_S, MINUTE_S

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
TICK_STEPS_S = (HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S, 2 * DAY_S, 7 * DAY_S, 14 * DAY_S)
MONTHS = (1, 3, 6, 12, 24, 60, 120)
"""Steps between labels of a time axis that are shorter than a month, and in months."""
MOST_TICKS = 14
Values = Mapping[str, Sequence[float | None]]
"""Values of each line or bar by its name; None leaves a gap."""


def started_within(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Figure:
    """Share of jobs that had started after so long. curves: by name, seconds and shares of 1."""
    seconds = max((x for x, _ in curves.values()), key=len)
    rest = {name: [*shares, *[shares[-1]] * (len(seconds) - len(shares))] for name, (_, shares) in curves.items()}
    percent = {name: [round(100 * part, 2) for part in shares] for name, shares in rest.items()}
    x = [math.log10(second) for second in seconds]
    ticks = [(math.log10(at), text) for at, text in WAIT_TICKS_S.items() if at <= seconds[-1] or at == MINUTE_S]
    names = [f"within {_wait(second)}, % of jobs" for second in seconds]
    panel = ChartPanel("jobs started, %", _series(percent), "line", top=101)
    return Figure([panel], "wait of at most", x, names, x[0], max(x[-1], x[0] + 0.1), [ticks, ticks[::2]])


def _wait(seconds: float) -> str:
    unit, name = next((pair for pair in ((DAY_S, "days"), (HOUR_S, "h")) if seconds >= pair[0]), (MINUTE_S, "min"))
    return f"{seconds / unit:.3g} {name}"


def by_month(
    months: Sequence[date], values: Values, title: str, unfinished: Mapping[date, str], stacked: bool = False
) -> Figure:
    """Lines, or stacked bars, one place a month. months: first days, ascending. title: of the vertical axis, with its unit. unfinished:
    what to say of months that the log covers in part only."""
    x = [12 * month.year + month.month - 1 for month in months]
    names = [f"{month:%B %Y}" for month in months]
    places = range(x[0], x[-1] + 1)
    ticks = [
        [(place, f"{date(place // 12, place % 12 + 1, 1):%b}\n{place // 12}") for place in places if place % step == 0]
        for step in MONTHS
    ]
    part = {place: unfinished[month] for place, month in enumerate(months) if month in unfinished}
    panel = ChartPanel(title, _series(values), "stack" if stacked else "dots")
    return Figure(
        [panel], "month of submission", x, names, x[0] - 0.5, x[-1] + 0.5, [each for each in ticks if each], part
    )


def panels_over_time(at: Sequence[datetime] | Sequence[float], values: Values) -> Figure:
    """One panel below the other with the same time axis. at: local times, or days since the first submission. values: by the title of
    the panel's vertical axis."""
    panels = [
        ChartPanel(title, [Series(title, y, LINE_COLOURS[k])], "area") for k, (title, y) in enumerate(values.items())
    ]
    if isinstance(at[0], datetime):
        moments = [moment.replace(tzinfo=UTC) for moment in at if isinstance(moment, datetime)]
        x = [moment.timestamp() for moment in moments]
        names = [f"{moment:%-d %b %Y, %H:%M}" for moment in moments]
        return Figure(panels, "date", x, names, x[0], x[-1], list(_date_ticks(moments[0], moments[-1])))
    days = [float(day) for day in at if not isinstance(day, datetime)]
    sets: list[list[Tick]] = [[(day, number(day)) for day in round_ticks(days[-1], most)] for most in (10, 5, 3)]
    names = [f"day {day:,.1f}" for day in days]
    return Figure(panels, "days since the first submission", days, names, days[0], days[-1], sets)


def _date_ticks(first: datetime, last: datetime) -> Iterator[list[Tick]]:
    """Sets of labels between two moments, the fullest first: hours, days, months, years."""
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    span_s = (last - first).total_seconds()
    for step in TICK_STEPS_S:
        if span_s / step > MOST_TICKS:
            continue
        # weeks begin on a Monday
        begin = midnight - timedelta(days=midnight.weekday() if step >= 7 * DAY_S else 0)
        moments = [begin + timedelta(seconds=k * step) for k in range(int((last - begin).total_seconds() // step) + 1)]
        form = "%H:%M\n%-d %b" if step < DAY_S else "%-d %b\n%Y"
        yield [(moment.timestamp(), f"{moment:{form}}") for moment in moments if moment >= first]
    places = range(12 * first.year + first.month, 12 * last.year + last.month)  # months that begin in between
    for months in MONTHS:
        begins = [datetime(place // 12, place % 12 + 1, 1, tzinfo=UTC) for place in places if place % months == 0]
        if 1 < len(begins) <= MOST_TICKS:
            yield [(begin.timestamp(), f"{begin:%b\n%Y}") for begin in begins]
    yield [(first.timestamp(), f"{first:%-d %b\n%Y}"), (last.timestamp(), f"{last:%-d %b\n%Y}")]


def bars(labels: Sequence[str], values: Values, x_title: str, y_title: str) -> Figure:
    """Bars of each series beside each other."""
    x = list(range(len(labels)))
    panel = ChartPanel(y_title, _series(values), "bars")
    return Figure([panel], x_title, x, labels, -0.5, len(labels) - 0.5, [list(zip(x, labels, strict=True))])


def shares_used(percent: Sequence[float]) -> Figure:
    """How much of their requested time jobs used. percent: of jobs, in twentieths of the request, and of those that used all or more."""
    names = [*(f"{5 * k} to {5 * k + 5} %" for k in range(len(percent) - 1)), "100 % and more"]
    panel = ChartPanel("jobs, %", [Series("jobs, %", percent, LINE_COLOURS[0])], "bars")
    edges = [(5 * k - 0.5, str(25 * k)) for k in range(4)]
    end = len(percent) - 1
    sets = [[*edges, (end, "100 or more")], [edges[0], edges[2], (end, "100 or more")]]
    return Figure([panel], "time used, % of the time requested", range(end + 1), names, -0.5, end + 0.5, sets)


def by_epoch(values: Values, y_title: str) -> Figure:
    """Lines over the epochs of a training, from 0 on."""
    epochs = max(map(len, values.values()))
    ticks: list[list[Tick]] = [[(at, number(at)) for at in round_ticks(epochs - 1, most)] for most in (8, 4)]
    names = [f"epoch {epoch}" for epoch in range(epochs)]
    return Figure([ChartPanel(y_title, _series(values), "line")], "epoch", range(epochs), names, 0, epochs - 1, ticks)


def _series(values: Values) -> list[Series]:
    return [
        Series(name, y, OTHER if name.startswith("all other") else LINE_COLOURS[k % len(LINE_COLOURS)])
        for k, (name, y) in enumerate(values.items())
    ]
