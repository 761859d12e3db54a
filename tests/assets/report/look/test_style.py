"""The styles: nothing is loaded, and every width of a drawing is shown somewhere."""

from __future__ import annotations

from assets.report.look.drawing import WIDTHS
from assets.report.look.style import STYLE


def test_styles_load_nothing_and_show_every_width_of_a_drawing() -> None:
    assert "url(" not in STYLE and "@import" not in STYLE and STYLE.count("{") == STYLE.count("}")
    for width in WIDTHS:
        assert f".w{width} {{ display: block; }}" in STYLE
