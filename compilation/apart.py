"""Functions that stay apart: they are compiled once, and not once more within each function that calls them.

numba puts the code of a function into everybody who calls it, and optimizes it there once more. For an event loop this takes as
long as the loop itself, and it has eight callers. The code that calls a function apart only holds its name, as a call of the C
library would. Code is kept on disk with that name. So who reads it from there loads the other function first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any
from weakref import WeakSet

import llvmlite.binding
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

_apart: WeakSet[Any] = WeakSet()
"""Libraries whose code is not put into others."""

_loaders: dict[str, Callable[[], None]] = {}
"""Of each name in use: gives it an address in a process that reads the code which calls it from disk."""


def apart(dispatcher: Any) -> Any:
    """Code that is compiled for the function, or read from disk, is called by its name. The function is in a module, so that
    it can be imported."""
    add_overload = dispatcher.add_overload

    def add(compiled: Any) -> None:
        add_overload(compiled)
        _apart.add(compiled.library)
        function = dispatcher.py_func
        _name(compiled, compiled.fndesc.llvm_func_name, function.__module__, function.__qualname__)

    dispatcher.add_overload = add
    return dispatcher


def _name(compiled: Any, name: str, module: str, function: str) -> None:
    """Gives compiled code a name by which other code may call it."""
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    llvmlite.binding.add_symbol(name, address)
    _loaders[name] = partial(_load, name, module, function, compiled.signature.args)


def _load(name: str, module: str, function: str, kinds: tuple[Any, ...]) -> None:
    """Loads the function for arguments of these types, or compiles it. Names have numbers in them, which another process may have
    given differently: so the name that the calling code holds is one more of the same code."""
    dispatcher = getattr(import_module(module), function)
    dispatcher = getattr(dispatcher, "core", dispatcher)  # of a function that takes references
    dispatcher.compile(kinds)
    _name(dispatcher.overloads[kinds], name, module, function)


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerApart(NativeLowering):
    """As numba's own, but it leaves the code of functions apart where it is, and notes which ones have to be loaded before."""

    _name = "lower_apart"

    def run_pass(self, state: Any) -> bool:
        """Compiles the function; True, as it may have changed."""
        state.library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
        state.library.enable_object_caching()
        link = state.library.add_linking_library
        state.library.add_linking_library = lambda other: None if other in _apart else link(other)
        super().run_pass(state)
        del state.library.add_linking_library
        # what is put into this code may hold names, too
        names = {one.name for one in state.library._final_module.functions if one.is_declaration}
        state.reload_init.extend(_loaders[name] for name in sorted(names & _loaders.keys()))
        return True
