"""The table [readers] of a catalogue: what is written for other people's tools after each run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traces.catalogue.checking import Checker


@dataclass(frozen=True)
class Readers:
    """copy: the read-only copy of the warehouse. metrics: the text file for Prometheus. None for what is not to be written."""

    copy: Path | None = None
    metrics: Path | None = None


def declared_readers(check: Checker, document: dict[str, Any], defaults: Readers) -> Readers:
    """What the table says, and the defaults where it says nothing. Paths are relative to the catalogue's folder."""
    table = check.typed(document, "readers", dict, None) or {}
    of_table = Checker(check.path, check.text, "readers")
    of_table.keys(table, {"copy", "metrics"}, None)
    paths = {
        name: (check.path.parent / Path(text).expanduser()).resolve()
        for name in ("copy", "metrics")
        if (text := of_table.typed(table, name, str, None)) is not None
    }
    return Readers(paths.get("copy", defaults.copy), paths.get("metrics", defaults.metrics))
