"""Texts of catalogues, and the message of the fault in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import CatalogueError

BUNDLED = ("birch", "larch")

GOOD = """\
[sources.good]
format = "swf"
path = "logs/good.swf"
procs = 4
time_zone = "UTC"
"""  # lines 1 to 5

GENERATED = '[sources.bad]\nformat = "swf"\nprocs = 16\n'


def fault(path: Path, text: str | bytes) -> str:
    """The message of the fault in a catalogue of this text."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CatalogueError) as error:
        load_catalogue()
    return str(error.value)
