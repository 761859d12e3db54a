"""The time zone of this machine, in which the local times of a log are read where nobody gave another."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import available_timezones

LOCALTIME, TIMEZONE = Path("/etc/localtime"), Path("/etc/timezone")
"""The link to the rules of the zone, and the file with its name, where a system has them."""


def machine_time_zone() -> str:
    """The IANA name of this machine's time zone, by TZ, the link /etc/localtime, or /etc/timezone. UTC where none of them names one."""
    given = os.environ.get("TZ")
    if given is not None:  # an empty one is UTC, to every program
        return _zone_in(given.removeprefix(":")) or "UTC"
    return _zone_in(str(LOCALTIME.resolve())) or _zone_in(_text_of(TIMEZONE)) or "UTC"


def _zone_in(text: str) -> str | None:
    """The zone of this name, or of a path that ends in one: /usr/share/zoneinfo/posix/Europe/Berlin."""
    parts = text.strip().split("/")
    names = ("/".join(parts[first:]) for first in range(len(parts)))
    zones = available_timezones() - {"localtime", "posixrules", "Factory"}  # files beside the zones, which are none
    zone = next((name for name in names if name in zones), None)
    return "UTC" if zone == "Etc/UTC" else zone


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
