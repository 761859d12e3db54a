"""Real logs and golden results, which lie beside the repository and never inside it. How large the random studies are: small in the suite,
large in `python -m benchmarks.random_tests`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_file(*parts: str) -> Path:
    """The path of a shared file or folder; skips the test where it is missing.

    The folder is TRACEHOUSE_SHARED, or `shared` beside the repository.
    """
    beside_repository = Path(__file__).resolve().parents[2] / "shared"
    path = Path(os.environ.get("TRACEHOUSE_SHARED") or beside_repository).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"real data not found: {'/'.join(parts)} (set TRACEHOUSE_SHARED to the folder that holds it)")
    return path.resolve()  # as the command line prints it, also where the folder is a link


FULL = "TRACEHOUSE_FULL_STUDIES"
"""Set in the environment of a run that takes its time."""


def size(usual: int, full: int) -> int:
    """How many examples, kills or deliveries a random study has."""
    return full if os.environ.get(FULL) else usual
