"""The constants that compiled code holds. numba reads a global name once, when it compiles, and puts its value into the code.

The sources say what the value is, unless somebody has set it otherwise in this process, as tests do. Such code must not be kept
under the name of the usual one. So the values are in its key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np


def constants_of(function: Callable[..., Any]) -> str:
    """A hash over the values that a function, and every compiled one that it calls, would be compiled with now."""
    digest = hashlib.sha256()
    seen, waiting = {function}, [function]
    while waiting:
        reader = waiting.pop()
        for name, value in _globals_of(reader):
            called = getattr(value, "py_func", None)  # of what numba has compiled
            if called is None:
                digest.update(f"{reader.__module__}.{reader.__qualname__} {name} {_words(value)}\n".encode())
            elif called not in seen:
                seen.add(called)
                waiting.append(called)
    return digest.hexdigest()


def _globals_of(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What a function reads, by name, and what it may read of the modules among these."""
    names = list(dict.fromkeys(_names_in(function.__code__)))
    for name in names:
        value = function.__globals__.get(name)
        if not isinstance(value, ModuleType):
            yield name, value
        elif value is not np:  # its version is in the key
            yield from ((part, getattr(value, part)) for part in names if hasattr(value, part))


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _words(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple):
        return f"({' '.join(map(_words, value))})"
    plain = bool | int | float | complex | str | bytes | np.generic
    return repr(value) if isinstance(value, plain) else ""  # of anything else, the sources say what it is
