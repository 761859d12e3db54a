"""Files of trained networks that are kept beside the pages, docs/results/NAME-policies.tar.xz."""

from __future__ import annotations

import tarfile
from pathlib import Path

from traces.catalogue.places import PROJECT


def kept_archive(name: str) -> Path:
    """Where the archive of this name is."""
    return PROJECT / "docs" / "results" / f"{name}-policies.tar.xz"


def members_of(file: Path) -> dict[str, bytes]:
    """The members of an archive by name, none where there is no archive."""
    if not file.exists():
        return {}
    with tarfile.open(file) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}  # type: ignore[union-attr]
