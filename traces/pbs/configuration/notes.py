"""Values of PBS's and Maui's configuration, checked while they are read."""

from __future__ import annotations

import re

from traces.cluster.description import Setting
from traces.cluster.notes import Entry, boolean_of, integer_of
from traces.pbs.rules import duration_s, kilobytes

_INTEGERS = ("int", "count")


def setting_of(entry: Entry, form: str) -> Setting:
    """The value of an entry in its form, see KnownKey. Durations and sizes keep their text. Raises ConfigurationError for another form."""
    text = entry.value.strip()
    if form == "bool":
        return boolean_of(entry)
    if form in _INTEGERS:
        return integer_of(entry, least=0 if form == "count" else None)
    if form == "number":
        if not re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?", text):
            raise entry.refuse("a number such as 0.5")
        return float(text)
    if form == "duration":
        seconds_of(entry)
    return text


def seconds_of(entry: Entry) -> int:
    """Seconds of a duration. Raises ConfigurationError for a text that is none."""
    try:
        return duration_s(entry.value.strip())
    except ValueError:
        raise entry.refuse("a duration such as 24:00:00 or 3600") from None


def kib_of(entry: Entry) -> int:
    """KiB of a size such as 64gb, rounded up. Raises ConfigurationError for a text that is none."""
    size = kilobytes(entry.value.strip())
    if size is None:
        raise entry.refuse("a size such as 64gb")
    return size


def entry_amount(entry: Entry, resource: str) -> int:
    """An amount of a resource: seconds, MiB of `mem`, KiB of other sizes, or a number, where a fraction is rounded down."""
    text = entry.value.strip()
    if resource in ("walltime", "cput", "pcput", "soft_walltime"):
        return seconds_of(entry)
    if resource == "mem":
        return -(-kib_of(entry) // 1024)
    if re.fullmatch(r"[0-9]{1,15}\.[0-9]*", text):
        return int(float(text))
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    if kilobytes(text) is not None:
        return kib_of(entry)
    raise entry.refuse("a number or a size")


RESOURCE_NAMES = {"ncpus": "cpu", "ngpus": "gpu", "nodect": "nodes", "nodes": "nodes", "walltime": "time", "mem": "mem"}
"""PBS's resources by the names that limits have in a description."""
