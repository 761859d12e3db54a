"""The collector: a shell script for a login node, which needs nothing of tracehouse there."""

from __future__ import annotations

from importlib.resources import files

COLLECTOR_FILE = "collect.sh"


def collector_script() -> str:
    """The text of the script. Its first lines say how it is used."""
    return files("traces.collector").joinpath(COLLECTOR_FILE).read_text(encoding="utf-8")
