"""How functions are compiled: by numba, without the GIL, and kept on disk under a key that covers every file they can call.

numba's own cache notices a change of the file that a function is in, but not of functions that it calls from other
files. So it would replay an old rule after an edit. Therefore each room that compiles has a `Compiler`. Its cache folder is named
by a hash over all files of the room, of the rooms below it and of this one. Folders of older keys are removed.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from compilation.passes import SmallCode

_settings: Any = numba.config
_njit: Any = numba.njit  # its type does not know the option `_nrt`
_OPTIONS = {"cache": True, "nogil": True, "pipeline_class": SmallCode, "no_cfunc_wrapper": True}
"""No wrapper for C: no code calls from there, and it took a tenth of the time that functions compile for."""

_GIVEN_FOLDER: str = _settings.CACHE_DIR
"""NUMBA_CACHE_DIR, or empty."""


def source_hash(*folders: Path) -> str:
    """12 hexadecimal digits over all Python files below the folders, at any depth."""
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


class Compiler:
    """Compiles the functions of one room.

    room: the room's folder. below: folders of the rooms whose compiled functions it calls. source_hash: changes with any file
    of them. folder: where compiled functions are kept: below NUMBA_CACHE_DIR if that is set, else in the room's `__pycache__`.
    """

    def __init__(self, room: Path, *below: Path) -> None:
        # this file counts too, because it decides how functions are compiled
        self.source_hash = source_hash(Path(__file__).parent, room, *below)
        own = room / "__pycache__"
        self.folder = Path(_GIVEN_FOLDER or own) / f"{room.name}-{self.source_hash}"
        if not _GIVEN_FOLDER:  # a folder of the user's may also serve another checkout
            _remove_older(own, self.folder.name)

    def compiled(self, function: Callable[..., Any]) -> Any:
        """For functions that allocate arrays."""
        return self._compile(function, counting=True)

    def lean(self, function: Callable[..., Any]) -> Any:
        """For functions of the event loop, and for those that take views of arrays from them. They allocate nothing, and do not
        count references to the arrays they are given. Counting took a third of the time of a replay. Do not pass a view from such a
        function to one that counts: it would free the view too early."""
        return self._compile(function, counting=False)

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

    def _compile(self, function: Callable[..., Any], counting: bool, **options: Any) -> Any:
        before = _settings.CACHE_DIR
        _settings.CACHE_DIR = str(self.folder)  # numba reads it when a function is decorated
        try:
            dispatcher = _njit(**_OPTIONS, _nrt=counting, **options)(function)
        finally:
            _settings.CACHE_DIR = before
        _take_constants_as_values(dispatcher)
        return dispatcher


def _take_constants_as_values(dispatcher: Any) -> None:
    """Keeps numba from compiling a function once more for every constant that a compiled caller passes. `advance(..., 0)` and
    `advance(..., place)` were two engines, of 13 s each."""
    get_call_template = dispatcher.get_call_template

    def of_values(args: Any, kws: Any) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in kws.items()}
        return get_call_template(tuple(map(numba.types.unliteral, args)), plain)

    dispatcher.get_call_template = of_values


def _remove_older(cache: Path, kept: str) -> None:
    """Removes what earlier versions of the code have left in a room's cache. Without such a folder, functions are compiled again."""
    for folder in cache.glob("*-*"):
        if folder.name != kept and re.fullmatch(r"[a-z]+-[0-9a-f]{12}", folder.name):
            shutil.rmtree(folder, ignore_errors=True)
