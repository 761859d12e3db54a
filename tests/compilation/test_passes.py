"""Passes: every field of an argument is read once, and what functions compute stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numpy.typing import NDArray

import compilation
from compilation import Compiler
from compilation.passes import ReadArgumentsOnce, SmallCode


class Inner(NamedTuple):
    step: int
    share: float


class Outer(NamedTuple):
    column: NDArray[np.int64]
    begin: int
    inner: Inner


def outer() -> Outer:
    return Outer(np.arange(6), 3, Inner(2, 0.5))


compiler = Compiler(Path(compilation.__file__).parent)


@compiler.inlined
def change(given: Any, place: int) -> int:
    column = given.column
    column[place] += given.inner.step
    return column[place]


def taken_twice(given: Any, places: int) -> float:
    total = 0.0
    while places > 0:
        places -= 1
        total += change(given, places) * given.inner.share
        total += change(given, places)
    return total


def another_under_the_name(given: Any, other: Any, places: int) -> int:
    """A variable that is assigned again is no argument any more, nor is a field that is."""
    total = 0
    for place in range(places):
        begin = given.begin
        if place % 2 == 1:
            begin = place
            given = other
        total = 10 * total + begin + given.inner.step + given.column[place]
    return total


def swapped(given: Any, other: Any, places: int) -> int:
    total = 0
    for _ in range(places):
        total = 10 * total + given.begin
        given, other = other, given
    return total


def read_in_a_branch(given: Any, places: int) -> int:
    if places > 3:
        return given.inner.step
    column = given.column
    column[0] = 77
    return given.column[0] + len(given.inner)


@pytest.mark.parametrize("places", range(6))
@pytest.mark.parametrize("function", [taken_twice, another_under_the_name, swapped, read_in_a_branch])
def test_functions_compute_what_python_does(function: Any, places: int, tmp_path: Path) -> None:
    lean = Compiler(tmp_path).lean(function)
    more = [outer()._replace(begin=4, inner=Inner(5, 0.25))] if "other" in function.__annotations__ else []
    ours, theirs = outer(), outer()
    assert lean(ours, *more, places) == function(theirs, *more, places)
    assert np.array_equal(ours.column, theirs.column)


@register_pass(mutates_CFG=False, analysis_only=True)
class Look(FunctionPass):
    """Notes what is read where."""

    _name = "look"
    seen: list[str] = []

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        Look.seen = [
            statement.value.attr
            for block in state.func_ir.blocks.values()
            for statement in block.find_insts(ir.Assign)
            if isinstance(statement.value, ir.Expr) and statement.value.op == "getattr"
        ]
        return False


class Looking(SmallCode):
    def define_pipelines(self) -> list[Any]:
        (passes,) = super().define_pipelines()
        passes.add_pass_after(Look, ReadArgumentsOnce)
        passes.finalize()
        return [passes]


def test_each_field_is_read_once_also_by_steps_that_are_inlined() -> None:
    numba.njit(pipeline_class=Looking)(taken_twice)(outer(), 3)
    assert sorted(Look.seen) == ["column", "inner", "share", "step"]
