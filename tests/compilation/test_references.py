"""Large tuples go by address: from Python, between compiled functions, and where code is read from disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compilation import Compiler

PROJECT = Path(__file__).resolve().parents[2]
COMPILER = Compiler(Path(__file__).parent)


class Inner(NamedTuple):
    """One array and a number."""

    values: NDArray[np.int64]
    weight: float


class Outer(NamedTuple):
    """Two of them, which have one type, and whole numbers alone."""

    left: Inner
    right: Inner
    counts: tuple[int, int]


@COMPILER.referring
def weighed(inner, place):
    """One weighed value."""
    return inner.values[place] * inner.weight


@COMPILER.referring_apart
def add_all(outer):
    """Weighs all values, and marks the left ones."""
    total = 0.0
    for place in range(len(outer.left.values)):
        total += weighed(outer.left, place) + weighed(outer.right, place)
        outer.left.values[place] = -1
    return total + outer.counts[1]


def test_python_hands_on_tuples_and_what_is_in_arrays_changes() -> None:
    outer = Outer(Inner(np.arange(3), 2.0), Inner(np.arange(3) + 10, 0.5), (4, 7))
    assert add_all(outer) == 6 + 16.5 + 7
    assert outer.left.values.tolist() == [-1, -1, -1]
    assert weighed(Inner(np.array([5]), 3.0), 0) == 15


def test_code_is_read_from_disk(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "functions.py").write_text(
        "from pathlib import Path\nfrom typing import NamedTuple\nfrom compilation import Compiler\n"
        "compiler = Compiler(Path(__file__).parent)\n"
        "class Pair(NamedTuple):\n    one: object\n    two: object\n"
        "@compiler.referring_apart\ndef inner(pair, place):\n    return pair.one[place] + pair.two[place]\n"
        "@compiler.referring\ndef outer(pair):\n    return inner(pair, 0) + inner(pair, 1)\n"
    )
    code = (
        "import numpy as np\nfrom room.functions import Pair, inner, outer\n"
        "print(outer(Pair(np.array([1, 2]), np.array([10, 20]))), sum(outer.core.stats.cache_hits.values()))"
    )
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{PROJECT}", "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout.split()[0] for run in runs] == ["33", "33"]
    assert not [run.stderr for run in runs if run.stderr]
