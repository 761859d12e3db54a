"""Two steps of compilation that keep the event loops small while they are compiled.

The loops take tuples of arrays, hundreds of words each, and are put together from named steps that take the same tuples. To numba
each step has variables of its own, to which whole tuples are copied, and every reading of a field reads the whole tuple. The
optimizer finds out that all of it is the same, which took half the time. So every field of an argument is read once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions, replace_vars
from numba.core.typed_passes import NativeLowering
from numba.core.untyped_passes import InlineInlinables

from compilation.apart import LowerApart
from compilation.references import Reference

_scope: Any = ir.Scope
_with_fields: Any = (types.BaseNamedTuple, Reference)


@contextmanager
def _scopes_are_shared() -> Iterator[None]:
    """Copies of code have the same scope. numba holds its lock for compilation meanwhile."""
    _scope.__deepcopy__ = lambda scope, memo: scope
    try:
        yield
    finally:
        del _scope.__deepcopy__


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineSteps(InlineInlinables):
    """As numba's own, which copies a step twice before it inlines it, and with each block of it the scope with all its variables.
    The second copy is thrown away, and the step is read again for each place where it is called. So scopes need no copy."""

    _name = "inline_steps"

    def run_pass(self, state: Any) -> bool:
        """Changes the function's code in place; True, as it may have changed."""
        with _scopes_are_shared():
            return super().run_pass(state)


@register_pass(mutates_CFG=False, analysis_only=False)
class ReadArgumentsOnce(FunctionPass):
    """Gives an argument one variable, and each field of a named tuple among the arguments another, read where the function begins.

    A tuple and its fields never change, so a field that is read early is the same later. Variables that are assigned more than
    once stay as they are.
    """

    _name = "read_arguments_once"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Changes the function's code in place; True, as it may have changed."""
        blocks = state.func_ir.blocks
        assigned = Counter(assign.target.name for block in blocks.values() for assign in block.find_insts(ir.Assign))
        reader = _Reader(blocks, assigned, state.args)
        while reader.replace_some():
            pass
        state.func_ir._definitions = build_definitions(blocks)
        return True


class _Reader:
    """blocks: of one function. assigned: how often each variable is. kinds: types of the function's arguments."""

    def __init__(self, blocks: dict[int, Any], assigned: Counter[str], kinds: tuple[Any, ...]) -> None:
        self.blocks, self.assigned = blocks, assigned
        self.entry = blocks[min(blocks)]
        self.kind: dict[str, Any] = {}  # of arguments and fields, by variable
        self.fields: dict[tuple[str, str], Any] = {}  # the variable of a field, by that of its tuple and its name
        self.begin = 0  # where the body of the entry goes on behind arguments and fields
        for k, statement in enumerate(self.entry.body):
            if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Arg):
                if assigned[statement.target.name] == 1:
                    self.kind[statement.target.name] = kinds[statement.value.index]
                self.begin = k + 1

    def replace_some(self) -> bool:
        """Takes the variables of arguments and fields for those that are their copies. False when there are none left."""
        same: dict[str, Any] = {}
        for block in self.blocks.values():
            own = self.begin if block is self.entry else 0
            for statement in block.body[own:]:
                if isinstance(statement, ir.Assign) and self.assigned[statement.target.name] == 1:
                    original = self._original(statement)
                    if original is not None:
                        same[statement.target.name] = original
        for block in self.blocks.values():
            block.body = [
                statement
                for statement in block.body
                if not (isinstance(statement, ir.Assign) and statement.target.name in same)
            ]
        replace_vars(self.blocks, same)
        return len(same) > 0

    def _original(self, statement: Any) -> Any:
        """The variable of which the assigned one is a copy; None if it is no argument, and no field of one."""
        value = statement.value
        if isinstance(value, ir.Var) and value.name in self.kind:
            return value
        if not (isinstance(value, ir.Expr) and value.op == "getattr"):
            return None
        kind = self.kind.get(value.value.name)
        if not isinstance(kind, _with_fields) or value.attr not in kind.fields:
            return None
        return self._field(value.value, value.attr, kind.types[kind.fields.index(value.attr)], statement.loc)

    def _field(self, of: Any, name: str, kind: Any, loc: Any) -> Any:
        """The variable of a field, which is read at the beginning of the function."""
        if (of.name, name) not in self.fields:
            variable = self.entry.scope.redefine(f"{of.name}.{name}", loc=loc)
            self.entry.body.insert(self.begin, ir.Assign(ir.Expr.getattr(of, name, loc), variable, loc))
            self.begin += 1
            self.assigned[variable.name] = 1
            self.kind[variable.name] = kind
            self.fields[of.name, name] = variable
        return self.fields[of.name, name]


class SmallCode(CompilerBase):
    """numba's compiler with these two, and with functions that stay apart."""

    def define_pipelines(self) -> list[Any]:
        """As numba's own, see its DefaultPassBuilder."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        own = {InlineInlinables: InlineSteps, NativeLowering: LowerApart}
        passes.passes = [(own.get(one, one), why) for one, why in passes.passes]
        passes.add_pass_after(ReadArgumentsOnce, InlineSteps)
        passes.finalize()
        return [passes]
