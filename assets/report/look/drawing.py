"""Charts as SVG in the page: no library, no script. Each is drawn at three widths, and the page shows the one that fits its place."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

WIDTHS = (360, 600, 1160)
"""Of a phone, of half a desk or a sheet of paper, and of a whole desk."""
INK, GRID, BAND, QUIET = "#22303c", "#e2e8f0", "#f1f5f9", "#4a5568"
LETTER, LINE = 6.7, 14
"""Width of a letter and height of a line, at a size of 12 pixels."""
RIGHT, BOTTOM, ABOVE = 16, 52, 24
"""Room to the right of a panel, below the last one, and above each for its title."""
MOST_HINTS = 120
"""Places of a chart that say their values under the mouse."""
Tick = tuple[float, str]
Segment = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Series:
    """A line, or bars of one colour. y: a value for each place of the chart, None leaves a gap."""

    name: str
    y: Sequence[float | None]
    colour: str


@dataclass(frozen=True)
class ChartPanel:
    """Series over one vertical axis. title: of that axis, with its unit. top: where it ends, None for above the largest value."""

    title: str
    series: Sequence[Series]
    shape: Literal["line", "dots", "area", "bars", "stack"]
    top: float | None = None

    @cached_property
    def largest(self) -> float:
        """The largest value, or sum of a stack."""
        columns = zip(*(series.y for series in self.series), strict=True)
        join: Callable[[list[float]], float] = sum if self.shape == "stack" else max
        return max((join([value for value in column if value is not None] or [0.0]) for column in columns), default=0.0)


@dataclass(frozen=True)
class Figure:
    """Panels one below the other over the same places.

    x: where each place is, ascending. names: what each is called under the mouse. first, last: ends of the horizontal axis.
    ticks: sets of labels for that axis, the fullest first; lines of a label end with a newline. unfinished: what to say of places that
    the log covers in part only, by their number: these are drawn lighter or dashed.
    """

    panels: Sequence[ChartPanel]
    title: str
    x: Sequence[float]
    names: Sequence[str]
    first: float
    last: float
    ticks: Sequence[Sequence[Tick]]
    unfinished: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is no value to show."""
        return not any(value is not None for panel in self.panels for series in panel.series for value in series.y)

    def html(self, name: str, caption: str, height: int) -> str:
        """The legend and the drawings, as HTML. name: unique on the page. caption: for people who cannot see it. height: in pixels."""
        label = html.escape(caption, quote=True)
        drawn = (
            f'<svg class="w{width}" id="{name}-{width}" role="img" aria-label="{label}" viewBox="0 0 {width} {height}">'
            f"{''.join(_Drawing(self, width, height).parts())}</svg>"
            for width in WIDTHS
        )
        return f'{self._legend()}<div class="chart">{"".join(drawn)}</div>'

    def _legend(self) -> str:
        named = [series for panel in self.panels for series in panel.series] if len(self.panels) == 1 else []
        if len(named) < 2:
            return ""
        items = (f'<span><i style="background:{each.colour}"></i>{html.escape(each.name)}</span>' for each in named)
        return f'<div class="legend">{"".join(items)}</div>'


def round_ticks(last: float, most: int) -> list[float]:
    """At most so many numbers that people count by, from 0 on to the last before `last` or at it."""
    if last <= 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(last / most))
    step = next(power * k for k in (1, 2, 5, 10, 20) if last / (power * k) <= most)
    return [round(k * step, 10) for k in range(math.floor(last / step * (1 + 1e-9)) + 1)]


def number(value: float) -> str:
    """Such as "0.05", "12.5", "12,400", "3.1 million"."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.4g} million"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


class _Drawing:
    """One figure at one width."""

    def __init__(self, figure: Figure, width: int, height: int) -> None:
        self.figure, self.width = figure, width
        each = (height - BOTTOM) / len(figure.panels)
        self.spans = [(k * each + ABOVE, (k + 1) * each - (6 if k + 1 < len(figure.panels) else 0))
                      for k in range(len(figure.panels))]  # fmt: skip
        room = 1.18 if figure.unfinished else 1.06  # the words about what is unfinished stand above the values
        self.tops = [panel.top or panel.largest * room or 1.0 for panel in figure.panels]
        self.marks = [
            round_ticks(top, 5 if low - high > 120 else 3)
            for top, (high, low) in zip(self.tops, self.spans, strict=True)
        ]
        self.left = 12 + LETTER * max(len(number(mark)) for marks in self.marks for mark in marks)

    def across(self, x: float) -> float:
        """Pixels from the left."""
        figure = self.figure
        span = (figure.last - figure.first) or 1.0
        return round(self.left + (x - figure.first) / span * (self.width - RIGHT - self.left), 1)

    def down(self, k: int, y: float) -> float:
        """Pixels from above, in panel k."""
        high, low = self.spans[k]
        return round(low - min(y / self.tops[k], 1.0) * (low - high), 1)

    def parts(self) -> Iterator[str]:
        """Elements of the drawing, from the back to the front."""
        for k, panel in enumerate(self.figure.panels):
            yield from self._frame(k, panel.title)
            yield from self._bars(k, panel) if panel.shape in ("bars", "stack") else self._lines(k, panel)
        yield from self._time()
        yield from self._hints()

    def _frame(self, k: int, title: str) -> Iterator[str]:
        high, low = self.spans[k]
        right = self.width - RIGHT
        for place in self.figure.unfinished:
            left, end = (self.across(x) for x in self._cell(place))
            yield f'<rect x="{left}" y="{high}" width="{end - left:.1f}" height="{low - high:.1f}" fill="{BAND}"/>'
        yield f'<text class="ytitle" x="2" y="{high - 11:.1f}">{html.escape(title)}</text>'
        for mark in self.marks[k]:
            y = self.down(k, mark)
            yield f'<path d="M{self.left:.1f} {y}H{right}" stroke="{INK if mark == 0 else GRID}"/>'
            yield f'<text x="{self.left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{number(mark)}</text>'

    def _cell(self, place: int) -> tuple[float, float]:
        """Where a place begins and ends: half way to its neighbours."""
        x = self.figure.x
        before = x[place] - x[place - 1] if place else 1.0
        after = x[place + 1] - x[place] if place + 1 < len(x) else before if place else 1.0
        begin = x[place] - (before if place else after) / 2
        return max(begin, self.figure.first), min(x[place] + after / 2, self.figure.last)

    def _lines(self, k: int, panel: ChartPanel) -> Iterator[str]:
        for series in panel.series:
            points = [
                None if y is None else (self.across(x), self.down(k, y))
                for x, y in zip(self.figure.x, series.y, strict=True)
            ]
            whole: list[Segment] = []
            dashed: list[Segment] = []
            for place, (a, b) in enumerate(pairwise(points)):
                if a and b:
                    (dashed if {place, place + 1} & self.figure.unfinished.keys() else whole).append((a, b))
            if panel.shape == "area" and whole:
                low = self.down(k, 0)
                yield f'<path d="{_path(whole)}V{low}H{whole[0][0][0]}Z" fill="{series.colour}" fill-opacity=".25"/>'
            for segments, style in ((whole, ""), (dashed, ' stroke-dasharray="4 4"')):
                if segments:
                    yield f'<path class="data" d="{_path(segments)}" fill="none" stroke="{series.colour}" stroke-width="1.8"{style}/>'
            if panel.shape == "dots":
                for place, point in enumerate(points):
                    if point:
                        fill = "#fff" if place in self.figure.unfinished else series.colour
                        yield f'<circle class="data" cx="{point[0]}" cy="{point[1]}" r="3" fill="{fill}" stroke="{series.colour}"/>'

    def _bars(self, k: int, panel: ChartPanel) -> Iterator[str]:
        beside = 1 if panel.shape == "stack" else len(panel.series)
        for place in range(len(self.figure.x)):
            begin, end = (self.across(x) for x in self._cell(place))
            wide = 0.76 * (end - begin) / beside
            style = ' fill-opacity=".4" stroke-dasharray="3 3"' if place in self.figure.unfinished else ""
            below = 0.0
            for n, series in enumerate(panel.series):
                value = series.y[place]
                if not value:
                    continue
                left = begin + 0.12 * (end - begin) + (0 if beside == 1 else n * wide)
                top, low = self.down(k, below + value), self.down(k, below)
                yield (
                    f'<rect class="data" x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{low - top:.1f}" fill="{series.colour}" '
                    f'stroke="{series.colour if style else "#fff"}" stroke-width=".7"{style}/>'
                )
                below += value if beside == 1 and panel.shape == "stack" else 0.0

    def _time(self) -> Iterator[str]:
        """Labels of the horizontal axis, its title, and what is unfinished."""
        low = self.spans[-1][1]
        for x, label, anchor in self._labels():
            yield f'<path d="M{self.across(x)} {low:.1f}v4" stroke="{INK}"/>'
            lines = "".join(
                f'<tspan x="{self._edge(self.across(x), anchor):.1f}" dy="{LINE if n else 0}">{html.escape(line)}</tspan>'
                for n, line in enumerate(label.split("\n"))
            )
            yield f'<text class="xtick" y="{low + 17:.1f}" text-anchor="{anchor}">{lines}</text>'
        middle, title = (self.left + self.width - RIGHT) / 2, html.escape(self.figure.title)
        yield f'<text class="xtitle" x="{middle:.1f}" y="{low + BOTTOM - 4:.1f}" text-anchor="middle">{title}</text>'
        for place, words in self.figure.unfinished.items():
            begin, end = (self.across(x) for x in self._cell(place))
            at_left = (begin + end) / 2 < self.width / 2
            x, anchor = (begin + 3, "start") if at_left else (end - 3, "end")
            yield f'<text class="unfinished" x="{x:.1f}" y="{self.spans[0][0] + 10:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'

    def _edge(self, x: float, anchor: str) -> float:
        return {"end": self.width - 2.0, "start": 2.0}.get(anchor, x)

    def _labels(self) -> list[tuple[float, str, str]]:
        """Place, text and anchor of the labels: the fullest set in which none touches the next."""
        sets = [list(ticks) for ticks in self.figure.ticks]
        thinnest = sets[-1]
        sets += [thinnest[::k] for k in range(2, len(thinnest) + 1)]
        for ticks in sets:
            placed, edge = [], -math.inf
            for x, label in ticks:
                wide = LETTER * max(map(len, label.split("\n")))
                at = self.across(x)
                anchor = "end" if at + wide / 2 > self.width else "start" if at - wide / 2 < 0 else "middle"
                left = {"end": self.width - 2 - wide, "start": 2.0}.get(anchor, at - wide / 2)
                if left < edge + 10:
                    break
                edge = left + wide
                placed.append((x, label, anchor))
            else:
                return placed
        return []

    def _hints(self) -> Iterator[str]:
        """What the mouse finds: the values of each place. Fingers find nothing, so the drawing for a phone has none."""
        if self.width == WIDTHS[0]:
            return
        figure, count = self.figure, len(self.figure.x)
        stride = -(-count // MOST_HINTS)
        high, low = self.spans[0][0], self.spans[-1][1]
        for place in range(0, count, stride):
            begin = self.across(self._cell(place)[0])
            end = self.across(self._cell(min(place + stride, count) - 1)[1])
            values = [
                f"{series.name}: {number(value)}"
                for panel in figure.panels
                for series in panel.series
                if (value := series.y[place]) is not None
            ]
            note = f" ({figure.unfinished[place]})" if place in figure.unfinished else ""
            words = html.escape("\n".join([figure.names[place] + note, *values]), quote=False)
            yield (
                f'<rect class="hint" x="{begin}" y="{high:.1f}" width="{max(end - begin, 0.1):.1f}" height="{low - high:.1f}">'
                f"<title>{words}</title></rect>"
            )


def _path(segments: Sequence[Segment]) -> str:
    """A path along segments, which jumps where one does not begin at the end of the one before."""
    text, at = [], None
    for (x, y), b in segments:
        if at != (x, y):
            text.append(f"M{x} {y}")
        text.append(f"L{b[0]} {b[1]}")
        at = b
    return "".join(text)
