"""How pages look: the templates and styles beside this file, filled by Jinja2. What is filled in is escaped."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FOLDER = Path(__file__).parent


def fill(template: str, **values: object) -> str:
    """A template beside this file with its values. The same values give the same bytes."""
    return environment().get_template(template).render(values)


@cache
def environment() -> Environment:
    """The templates with their filters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    made.filters |= {"with_code": with_code, "unbroken": unbroken, "number": number, "px": "{:.1f}".format}
    return made


def with_code(text: str) -> Markup:
    """What is between back quotes is a command."""
    from markupsafe import Markup, escape

    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def unbroken(text: str) -> str:
    """A number stays with its unit, and what is in brackets may go below."""
    return text.replace(" ", "\u00a0").replace("\u00a0(", " (")


def number(value: float) -> str:
    """Such as "0.05", "12.5", "12,400", "3.1 million"."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.4g} million"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
