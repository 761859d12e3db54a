"""What the catalogue wants written for other people's tools, written."""

from __future__ import annotations

from pathlib import Path

from assets.common.storage import open_warehouse
from assets.common.writing.outputs import write_output
from assets.sharing.metrics_text import metrics_text
from assets.sharing.readers_copy import write_readers_copy
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.readers import Readers
from warehouse import confined


def refresh_readers(readers: Readers | None = None) -> list[Path]:
    """Writes the read-only copy and the text file for Prometheus, and returns what was written. readers: what is wanted, None for what
    the catalogue says. Raises as `write_readers_copy` and `write_output` do."""
    wanted = load_catalogue().readers if readers is None else readers
    written = []
    with confined():
        if wanted.copy is not None:
            write_readers_copy(open_warehouse(), wanted.copy)
            written.append(wanted.copy)
        if wanted.metrics is not None:
            write_output(wanted.metrics, metrics_text(open_warehouse(), []).encode())
            written.append(wanted.metrics)
    return written
