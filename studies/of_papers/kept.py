"""Writes files of trained networks that are kept beside the pages (papers/kept_files.py)."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assets.common.storage import write_whole


def write_members(file: Path, members: dict[str, bytes]) -> None:
    """Writes an archive. The same members give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    write_whole(file, packed.getvalue())


def short_floats(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weights with eight significant bits, as bfloat16 has them. They take half the place in an archive."""
    bits = np.ascontiguousarray(weights, dtype=np.float32).view(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    return ((bits + np.uint32(0x7FFF) + even) & np.uint32(0xFFFF0000)).view(np.float32)
