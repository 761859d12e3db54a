"""Templates and styles: what is filled in is text, nothing is loaded, and every width of a drawing is shown somewhere."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from assets.report.look.drawing import WIDTHS, Figure
from assets.report.look.templates import FOLDER, environment, fill, number, unbroken, with_code


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
