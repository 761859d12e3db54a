"""Functions apart are compiled once, whoever calls them, and are there when code that calls them is read from disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]

ROOM = {
    "__init__.py": "",
    "compiled.py": "from pathlib import Path\nfrom compilation import Compiler\nlean = Compiler(Path(__file__).parent).lean\n",
    "loop.py": """
from compilation.apart import apart
from room.compiled import lean

@apart
@lean
def loop(numbers):
    total = 0
    for number in numbers:
        if number < 0:
            raise ValueError("a negative number")
        total += number
    return total
""",
    "callers.py": """
from room.compiled import lean
from room.loop import loop

@lean
def twice(numbers):
    return 2 * loop(numbers)

@lean
def of_both(numbers):
    return twice(numbers) + loop(numbers[1:])
""",
}
CODE = """
import numpy as np
from room.callers import of_both
from room.loop import loop
numbers = np.array([1, 2, 3])
result = of_both(numbers)
try:
    said = of_both(np.array([1, -2]))
except ValueError as error:
    said = error
(compiled,) = of_both.overloads.values()
names = [bool(one.is_declaration) for one in compiled.library._get_module_for_linking().functions if "loop" in one.name]
hits = sum(of_both.stats.cache_hits.values()), sum(loop.stats.cache_hits.values())
print(result, loop(numbers), said, names, *hits, sep=", ")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a room whose loop is called by name, also by a function whose code is put into another one."""
    shutil.copytree(PROJECT / "compilation", tmp_path / "compilation", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "room").mkdir()
    for name, text in ROOM.items():
        (tmp_path / "room" / name).write_text(text)
    return tmp_path


def printed(folder: Path) -> str:
    """What a process of its own prints: results, an error, whether the caller has the loop's name only, and what it took from the cache."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(folder / "cache")
    command = [sys.executable, "-c", CODE]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_callers_have_no_copy_and_find_the_function_when_they_are_read_from_disk(project: Path) -> None:
    same = "17, 6, a negative number, [True]"
    assert printed(project) == f"{same}, 0, 0\n"
    assert printed(project) == f"{same}, 1, 1\n"
    for file in project.glob("cache/tracehouse/room-*/room.loop.loop-*"):
        file.unlink()
    assert printed(project) == f"{same}, 1, 0\n", "it is compiled again"
