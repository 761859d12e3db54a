"""How functions are compiled: by numba, without the GIL, and kept on disk under a key that covers every file they can call.

numba's own cache notices a change of the file that a function is in, but not of functions that it calls from other
files. So it would replay an old rule after an edit. Therefore each room that compiles has a `Compiler`. Its cache folder is named
by a hash over all files of the room, of the rooms below it and of this one. `compilation.keeping` says where that folder is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numba

from compilation.apart import apart
from compilation.keeping import KeptCode, opened, surroundings
from compilation.passes import SmallCode
from compilation.references import with_face

_njit: Any = numba.njit  # its type does not know the option `_nrt`
_OPTIONS = {"nogil": True, "pipeline_class": SmallCode, "no_cfunc_wrapper": True}
"""No wrapper for C: no code calls from there, and it took a tenth of the time that functions compile for."""

_GIVEN_FOLDER = os.environ.get("NUMBA_CACHE_DIR", "")
"""NUMBA_CACHE_DIR, or empty."""


def source_hash(*folders: Path) -> str:
    """12 hexadecimal digits over all Python files below the folders, at any depth."""
    return _digest(*folders)[:12]


def _digest(*folders: Path) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


class Compiler:
    """Compiles the functions of one room.

    room: the room's folder. below: folders of the rooms whose compiled functions it calls. source_hash: changes with any file
    of them.
    """

    def __init__(self, room: Path, *below: Path) -> None:
        # this file counts too, because it decides how functions are compiled
        self.folders = (Path(__file__).parent, room, *below)
        digest = _digest(*self.folders)
        self.source_hash = digest[:12]
        self._room = room
        self._key = hashlib.sha256(f"{digest} {surroundings()}".encode()).hexdigest()[:32]

    @cached_property
    def folder(self) -> Path | None:
        """Where compiled functions are kept; None where nothing can be written."""
        return opened(f"{self._room.name}-{self._key}", self._room / "__pycache__", _GIVEN_FOLDER)

    def compiled(self, function: Callable[..., Any]) -> Any:
        """For functions that allocate arrays."""
        return self._compile(function, counting=True)

    def lean(self, function: Callable[..., Any]) -> Any:
        """For functions of the event loop, and for those that take views of arrays from them. They allocate nothing, and do not
        count references to the arrays they are given. Counting took a third of the time of a replay. Do not pass a view from such a
        function to one that counts: it would free the view too early."""
        return self._compile(function, counting=False)

    def referring(self, function: Callable[..., Any]) -> Any:
        """For functions that take a large state as named tuples, and hand it on as one address. They allocate nothing, as `lean` ones."""
        core = self._compile(function, counting=False, no_cpython_wrapper=True)
        return with_face(core, partial(self._compile, counting=False, of=Path(function.__code__.co_filename)))

    def referring_apart(self, function: Callable[..., Any]) -> Any:
        """As `referring`, but it is compiled once, and not once more within each function that calls it."""
        core = apart(self._compile(function, counting=False, no_cpython_wrapper=True))
        return with_face(core, partial(self._compile, counting=False, of=Path(function.__code__.co_filename)))

    def inlined(self, function: Callable[..., Any]) -> Any:
        """For the named steps of an event loop: their code becomes part of the function that calls them. A step takes whole tuples
        of arrays. A real call would copy seven words for every array of them, which costs more than the step."""
        return self._compile(function, counting=False, inline="always")

    def inlined_late(self, function: Callable[..., Any]) -> Any:
        """As `inlined`, but the step is compiled by itself first. This takes longer, and is for steps that call functions which
        also take tuples. Then these calls are inlined as well, which made replays under WFP3 a third faster."""
        return self._compile(function, counting=False, forceinline=True, no_cpython_wrapper=True)

    def reordering(self, function: Callable[..., Any]) -> Any:
        """As `compiled`, but sums may be added up in another order, which lets a loop take many numbers at a time. The results
        are the same on the same machine. On another one the last digits may differ, as torch's do."""
        return self._compile(function, counting=True, fastmath={"reassoc", "contract", "nsz"})

    def ieee(self, function: Callable[..., Any], **options: Any) -> Any:
        """No arithmetic raises: every failure becomes inf or nan, so that one test finds all of them. With numba's own passes, since
        ours made formulas a tenth slower."""
        return self._kept(_njit(nogil=True, error_model="numpy", **options)(function))

    def _compile(self, function: Callable[..., Any], counting: bool, of: Path | None = None, **options: Any) -> Any:
        dispatcher = _njit(**_OPTIONS, _nrt=counting, **options)(function)
        _take_constants_as_values(dispatcher)
        return self._kept(dispatcher, of)

    def _kept(self, dispatcher: Any, of: Path | None = None) -> Any:
        """The dispatcher with our cache, unless its function is from elsewhere, such as a test's: it may change without the key. of: its
        file, if it is made for a function there."""
        file = of or Path(dispatcher.py_func.__code__.co_filename)
        if any(map(file.is_relative_to, self.folders)) and self.folder is not None:
            dispatcher._cache = KeptCode(self.folder, dispatcher.py_func)
        return dispatcher


def _take_constants_as_values(dispatcher: Any) -> None:
    """Keeps numba from compiling a function once more for every constant that a compiled caller passes. `advance(..., 0)` and
    `advance(..., place)` were two engines, of 13 s each."""
    get_call_template = dispatcher.get_call_template

    def of_values(args: Any, kws: Any) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in kws.items()}
        return get_call_template(tuple(map(numba.types.unliteral, args)), plain)

    dispatcher.get_call_template = of_values
