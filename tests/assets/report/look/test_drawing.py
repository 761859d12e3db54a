"""Drawings: values are where they belong, and labels are numbers that people count by."""

from __future__ import annotations

import re

import pytest

from assets.report.look.drawing import MOST_HINTS, WIDTHS, ChartPanel, Figure, Series, round_ticks
from tests.assets.report.look.test_templates import drawn


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
