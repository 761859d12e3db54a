"""Lengths of time and shares, as options take them. A time is seconds, or such as 4h, 30min, 2d, 4:00:00. A share is 10% or 0.1."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from simulator.jobs.words import parse_duration, parse_share


class DurationType(click.ParamType):
    """A length of time in seconds. at_least: the shortest that is taken, s. is_whole: whether parts of a second are refused."""

    name = "duration"

    def __init__(self, at_least: int = 1, is_whole: bool = True) -> None:
        self.at_least, self.is_whole = at_least, is_whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds, an int of whole ones. Ends the command where the text is not a length of time, or a shorter one."""
        if not self.is_whole:
            with suppress(ValueError):
                return float(value)
        try:
            seconds = value if isinstance(value, int) else parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds < self.at_least:
            self.fail(f"length of time {value!r}: expected at least {self.at_least} s", param, ctx)
        return seconds


class ShareType(click.ParamType):
    """A share between two limits, as 10% or 0.1. is_open: whether the limit below (above) is excluded."""

    name = "share"

    def __init__(self, least: float = 0.0, most: float = 1.0, is_open: tuple[bool, bool] = (False, False)) -> None:
        self.least, self.most, self.is_open = least, most, is_open

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share. Ends the command where the text is not one, or one beyond the limits."""
        try:
            share = value if isinstance(value, float) else parse_share(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        below = share <= self.least if self.is_open[0] else share < self.least
        above = share >= self.most if self.is_open[1] else share > self.most
        if below or above:
            lower, upper = (
                ("more than" if self.is_open[0] else "at least"),
                ("less than" if self.is_open[1] else "at most"),
            )
            self.fail(f"share {value!r}: expected {lower} {self.least:.4g} and {upper} {self.most:.4g}", param, ctx)
        return share
