"""The solvers' own compiler."""

from __future__ import annotations

from pathlib import Path

from compilation import source_hash
from models.allocation import compiled as module


def test_a_change_of_the_simulator_compiles_the_solvers_again() -> None:
    project = Path(module.__file__).parents[2]
    folders = [project / name for name in ("compilation", "models/allocation", "simulator")]
    assert module._COMPILER.source_hash == source_hash(*folders)


def test_functions_compute_what_they_say_compiled_or_not() -> None:
    @module.compiled
    def tripled(x):
        return 3 * x

    assert tripled(14) == tripled.py_func(14) == 42
