"""The one way in which commands print JSON: one value alone on standard output, valid everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import click

OTHER_NAMES = {"average_wait_s": "mean_wait_s", "trace": "source"}
"""Keys that have another name in tables and in earlier answers: an answer has both."""
NAMES_OF_HOURS = {"average_wait_h": "mean_wait_s", "median_wait_h": "median_wait_s", "p95_wait_h": "p95_wait_s"}
"""The same of waits that are hours in the tables of `what-if`."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
"""Of a command that takes `as_json`."""


def json_text(values: Any) -> str:
    """Values as JSON. What JSON has no number for (not a number, infinite) is null, and times and paths are text."""
    return json.dumps(_plain(values), allow_nan=False, default=str)


def print_json(values: Any) -> None:
    """Prints values as JSON, in one line."""
    click.echo(json_text(values))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        plain = {str(key): _plain(each) for key, each in value.items()}
        hours = {NAMES_OF_HOURS[key]: each for key, each in plain.items() if key in NAMES_OF_HOURS}
        seconds = {key: None if each is None else 3600 * each for key, each in hours.items()}
        return plain | seconds | {OTHER_NAMES[key]: each for key, each in plain.items() if key in OTHER_NAMES}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, date | Path):
        return str(value)
    if hasattr(value, "tolist"):  # of numpy
        return _plain(value.tolist())
    return value
