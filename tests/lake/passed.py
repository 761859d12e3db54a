"""Whether the tests over a lake have passed on what they depend on: `python -m tests.lake.passed` exits with 0 then.

They take a quarter of an hour with their stress. So what every change must pass repeats them only where one of FOLDERS has changed since
they passed. `make test-lake` records that in RECORD, which is committed with the change.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS = ("warehouse", "sql", "tests/lake")
RECORD = PROJECT / "tests/lake/passed.txt"


def fingerprint(project: Path = PROJECT) -> str:
    """A hash over names and contents of all Python and SQL files in FOLDERS."""
    digest = hashlib.sha256()
    for folder in FOLDERS:
        for file in sorted((project / folder).rglob("*")):
            if file.suffix in (".py", ".sql") and not file.is_relative_to(project / "warehouse/data"):
                digest.update(f"{file.relative_to(project)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def record() -> None:
    """Keeps that all tests over a lake, and the stress, have passed on these files."""
    RECORD.write_text(fingerprint() + "\n")


def have_passed() -> bool:
    """Whether they passed on just these files."""
    return RECORD.exists() and RECORD.read_text().strip() == fingerprint()


if __name__ == "__main__":
    sys.exit(not have_passed())
