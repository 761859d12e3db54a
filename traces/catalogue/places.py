"""Where tracehouse keeps its files: home folder, second catalogue, inbox, key of pseudonyms."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def home() -> Path:
    """Root of everything written (warehouse/data, inbox, sources.local.toml): TRACEHOUSE_HOME or the project itself."""
    return Path(os.environ.get("TRACEHOUSE_HOME") or PROJECT).resolve()


def local_catalogue_path() -> Path:
    """The second catalogue: TRACEHOUSE_SOURCES, or sources.local.toml in `home()`."""
    given = os.environ.get("TRACEHOUSE_SOURCES")
    return Path(given).resolve() if given else home() / "sources.local.toml"


def pseudonym_key_path() -> Path:
    """The key of all pseudonyms. Keep a copy of it, away from the warehouse."""
    return home() / "pseudonym.key"


def inbox() -> Path:
    """The folder whose files are sources without an entry in a catalogue."""
    return home() / "inbox"


def clusters_folder() -> Path:
    """The folder with a file NAME.toml for each cluster that was imported."""
    return home() / "clusters"
