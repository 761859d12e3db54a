"""Where everything of a chart is drawn, in pixels. chart.html draws it as SVG at three widths, without a library or script."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from assets.pages.look.templates import number

WIDTHS = (360, 600, 1160)
"""Of a phone, of half a desk or a sheet of paper, and of a whole desk."""
LETTER = 6.7
"""Width of a letter at a size of 12 pixels."""
RIGHT, BOTTOM, ABOVE = 16, 52, 24
"""Room to the right of a panel, below the last one, and above each for its title."""
MOST_HINTS = 120
"""Places of a chart that say their values under the mouse."""
Tick = tuple[float, str]


class Point(NamedTuple):
    """A place in a drawing. is_whole: whether the log covers it whole."""

    x: float
    y: float
    is_whole: bool = True


class Box(NamedTuple):
    """A rectangle in a drawing."""

    left: float
    top: float
    width: float
    height: float


class Bar(NamedTuple):
    """A bar. is_whole: whether the log covers its place whole."""

    box: Box
    colour: str
    is_whole: bool


class Line(NamedTuple):
    """One series. area, whole, dashed: paths of what is below it, and of its parts; "" for none."""

    colour: str
    area: str
    whole: str
    dashed: str
    dots: Sequence[Point]


class Label(NamedTuple):
    """Words at a place of the horizontal axis. x: where they are anchored. mark: where the place is."""

    text: str
    anchor: str
    x: float
    mark: float


class Hint(NamedTuple):
    """What the mouse finds in a box."""

    box: Box
    lines: Sequence[str]


Segment = tuple[Point, Point]


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

    @property
    def legend(self) -> Sequence[Series]:
        """Series that need a name beside the drawing."""
        series = self.panels[0].series
        return series if len(self.panels) == 1 < len(series) else ()

    def drawings(self, height: int) -> list[Drawing]:
        """The drawing at each width. height: in pixels."""
        return [Drawing(self, width, height) for width in WIDTHS]


def round_ticks(last: float, most: int) -> list[float]:
    """At most so many numbers that people count by, from 0 on to the last before `last` or at it."""
    if last <= 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(last / most))
    step = next(power * k for k in (1, 2, 5, 10, 20) if last / (power * k) <= most)
    return [round(k * step, 10) for k in range(math.floor(last / step * (1 + 1e-9)) + 1)]


class Drawing:
    """One figure at one width. left, right: ends of the horizontal axis. high, low: of all panels."""

    def __init__(self, figure: Figure, width: int, height: int) -> None:
        self.figure, self.width, self.title = figure, width, figure.title
        each, last = (height - BOTTOM) / len(figure.panels), len(figure.panels) - 1
        self.panels = [
            _PlacedPanel(self, panel, k * each + ABOVE, (k + 1) * each - (6 if k < last else 0))
            for k, panel in enumerate(figure.panels)
        ]
        self.high, self.low = self.panels[0].high, self.panels[-1].low
        self.left = 12 + LETTER * max(len(number(mark)) for panel in self.panels for mark in panel.marks)
        self.right = width - RIGHT

    def across(self, x: float) -> float:
        """Pixels from the left."""
        figure = self.figure
        span = (figure.last - figure.first) or 1.0
        return round(self.left + (x - figure.first) / span * (self.right - self.left), 1)

    def cell(self, place: int) -> tuple[float, float]:
        """Where a place begins and ends: half way to its neighbours."""
        x = self.figure.x
        before = x[place] - x[place - 1] if place else 1.0
        after = x[place + 1] - x[place] if place + 1 < len(x) else before if place else 1.0
        begin, end = x[place] - (before if place else after) / 2, x[place] + after / 2
        return self.across(max(begin, self.figure.first)), self.across(min(end, self.figure.last))

    def unfinished(self) -> Iterator[Label]:
        """What to say of places that the log covers in part."""
        for place, words in self.figure.unfinished.items():
            begin, end = self.cell(place)
            at_left = (begin + end) / 2 < self.width / 2
            yield Label(words, "start", begin + 3, begin) if at_left else Label(words, "end", end - 3, end)

    def labels(self) -> list[Label]:
        """Labels of the horizontal axis: the fullest set in which none touches the next."""
        sets = [list(ticks) for ticks in self.figure.ticks]
        thinnest = sets[-1]
        sets += [thinnest[::k] for k in range(2, len(thinnest) + 1)]
        for ticks in sets:
            placed, edge = [], -math.inf
            for x, text in ticks:
                wide, mark = LETTER * max(map(len, text.split("\n"))), self.across(x)
                if mark + wide / 2 > self.width:
                    label, left = Label(text, "end", self.width - 2, mark), self.width - 2 - wide
                elif mark - wide / 2 < 0:
                    label, left = Label(text, "start", 2, mark), 2.0
                else:
                    label, left = Label(text, "middle", mark, mark), mark - wide / 2
                if left < edge + 10:
                    break
                edge = left + wide
                placed.append(label)
            else:
                return placed
        return []

    def hints(self) -> Iterator[Hint]:
        """What the mouse finds: the values of each place. Fingers find nothing, so the drawing for a phone has none."""
        if self.width == WIDTHS[0]:
            return
        figure, count = self.figure, len(self.figure.x)
        stride = -(-count // MOST_HINTS)
        for place in range(0, count, stride):
            begin, end = self.cell(place)[0], self.cell(min(place + stride, count) - 1)[1]
            note = f" ({figure.unfinished[place]})" if place in figure.unfinished else ""
            values = [
                f"{series.name}: {number(value)}"
                for panel in figure.panels
                for series in panel.series
                if (value := series.y[place]) is not None
            ]
            box = Box(begin, self.high, max(end - begin, 0.1), self.low - self.high)
            yield Hint(box, [figure.names[place] + note, *values])


class _PlacedPanel:
    """One panel of a drawing, between two heights. marks: numbers of its vertical axis."""

    def __init__(self, drawing: Drawing, panel: ChartPanel, high: float, low: float) -> None:
        self.drawing, self.panel, self.title = drawing, panel, panel.title
        self.high, self.low = high, low
        self.has_bars = panel.shape in ("bars", "stack")
        self.unfinished = drawing.figure.unfinished
        room = 1.18 if self.unfinished else 1.06  # the words about what is unfinished stand above the values
        self.top = panel.top or panel.largest * room or 1.0
        self.marks = round_ticks(self.top, 5 if low - high > 120 else 3)

    def down(self, y: float) -> float:
        """Pixels from above."""
        return round(self.low - min(y / self.top, 1.0) * (self.low - self.high), 1)

    def bands(self) -> Iterator[Box]:
        """Places that the log covers in part."""
        for place in self.unfinished:
            begin, end = self.drawing.cell(place)
            yield Box(begin, self.high, end - begin, self.low - self.high)

    def bars(self) -> Iterator[Bar]:
        """Bars next to each other, or one above the other in a stack."""
        is_stack = self.panel.shape == "stack"
        for place in range(len(self.drawing.figure.x)):
            begin, end = self.drawing.cell(place)
            wide = 0.76 * (end - begin) / (1 if is_stack else len(self.panel.series))
            below = 0.0
            for n, series in enumerate(self.panel.series):
                value = series.y[place]
                if not value:
                    continue
                left = begin + 0.12 * (end - begin) + (0 if is_stack else n * wide)
                top, low = self.down(below + value), self.down(below)
                yield Bar(Box(left, top, wide, low - top), series.colour, place not in self.unfinished)
                below += value if is_stack else 0.0

    def lines(self) -> Iterator[Line]:
        """Lines of the series, with gaps where a value is missing."""
        for series in self.panel.series:
            points = [
                None if y is None else Point(self.drawing.across(x), self.down(y), place not in self.unfinished)
                for place, (x, y) in enumerate(zip(self.drawing.figure.x, series.y, strict=True))
            ]
            segments = [(a, b) for a, b in pairwise(points) if a and b]
            whole = [(a, b) for a, b in segments if a.is_whole and b.is_whole]
            dashed = [(a, b) for a, b in segments if not (a.is_whole and b.is_whole)]
            has_area = self.panel.shape == "area" and whole
            area = f"{_path(whole)}V{self.down(0)}H{whole[0][0].x}Z" if has_area else ""
            dots = [point for point in points if point] if self.panel.shape == "dots" else []
            yield Line(series.colour, area, _path(whole), _path(dashed), dots)


def _path(segments: Sequence[Segment]) -> str:
    """A path along segments, which jumps where one does not begin at the end of the one before."""
    text, at = [], None
    for a, b in segments:
        if at != a:
            text.append(f"M{a.x} {a.y}")
        text.append(f"L{b.x} {b.y}")
        at = b
    return "".join(text)
