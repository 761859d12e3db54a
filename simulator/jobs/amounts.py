"""Amounts as users write them. Lengths of time: `4h`, `30min`, `1h30min`, `4:00:00`, `2-12:00:00` or seconds. Shares: `10%` or `0.1`."""

from __future__ import annotations

import re

UNITS_S = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
MOST_SECONDS = 10**9

_PART = r"(\d+(?:\.\d+)?)\s*(min|[smhd])"
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d+):(\d+)|(\d+):(\d+)")


def parse_duration(text: str, what: str = "length of time") -> int:
    """Whole seconds of a length of time. what: what it is the length of, for the message.

    Units are s, min (or m), h and d, and parts may follow one another. A number alone is seconds. H:M:S, D-H:M:S and M:S are wall
    times as PBS and Slurm write them. Raises ValueError with examples for any other text, and for more than MOST_SECONDS.
    """
    total = _seconds(text.strip().lower())
    if total is None or total > MOST_SECONDS:
        raise ValueError(f"{what} {text!r}: expected a length of time such as 4h, 30min, 2d or 4:00:00, or seconds")
    return round(total)


def parse_share(text: str, what: str = "share") -> float:
    """A share as a number: 0.1 for `10%`, `10 %` and `0.1`. what: the share of what, for the message. Raises ValueError for other texts."""
    written = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", text.strip())
    if written is None:
        raise ValueError(f"{what} {text!r}: expected a share such as 10% or 0.1")
    return float(written[1]) / (100 if written[2] else 1)


def _seconds(text: str) -> float | None:
    if re.fullmatch(r"\d{1,12}", text):
        return int(text)
    if re.fullmatch(rf"(?:{_PART}\s*)+", text):
        return sum(float(number) * UNITS_S[unit] for number, unit in re.findall(_PART, text))
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return None
    days, hours, minutes, seconds, short_minutes, short_seconds = (int(part or 0) for part in clock.groups())
    return 86_400 * days + 3600 * hours + 60 * (minutes + short_minutes) + seconds + short_seconds
