"""Compiled functions of this room are compiled again when the simulator's change, too."""

from __future__ import annotations

from models import compiled as module


def test_functions_compute_what_they_say_compiled_or_not() -> None:
    @module.compiled
    def doubled(x):
        return 2 * x

    assert doubled(21) == doubled.py_func(21) == 42
