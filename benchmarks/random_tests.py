"""Runs the random studies of the test suite at full size: many more deliveries, kills, damaged files and workloads than at each
change. Prints what pytest prints, and how long each study took."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.shared import FULL

TESTS = Path(__file__).resolve().parents[1] / "tests"


def studies() -> list[Path]:
    """The files whose studies have two sizes."""
    return [
        file
        for file in sorted(TESTS.rglob("test_*.py"))
        if re.search(r"^from tests\.shared import .*\bsize\b", file.read_text(), re.M)
    ]


def main() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "auto",
        "--dist",
        "loadfile",
        "--durations=20",
        *map(str, studies()),
    ]
    sys.exit(subprocess.run(command, cwd=TESTS.parent, env=os.environ | {FULL: "1"}, check=False).returncode)


if __name__ == "__main__":
    main()
