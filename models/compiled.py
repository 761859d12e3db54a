"""How the compiled functions of this package are compiled: without the GIL, and kept between runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

import simulator

_settings: Any = numba.config
_njit: Any = numba.njit  # its type does not know the option `_nrt`


def _folder() -> str:
    files = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(simulator.SOURCE_HASH.encode() + b"".join(file.read_bytes() for file in files)).hexdigest()
    # below the engine's own folder (simulator/__init__.py), whose functions are called from here
    return str(Path(_settings.CACHE_DIR).parent / f"models-{digest[:12]}")


_FOLDER = _folder()


def compiled(function: Callable[..., Any]) -> Any:
    """numba.njit with a cache that notices a change in any file of this package or of the engine.

    numba's own notices only one of the file that a function stands in, not of functions that it calls from others.
    """
    return _compiled(function, counting=True)


def reordering(function: Callable[..., Any]) -> Any:
    """As `compiled`, but sums may be added up in another order, which lets a loop take many numbers at a time. The same on the
    same machine; on another one the last digits may differ, as torch's do."""
    return _compiled(function, counting=True, fastmath={"reassoc", "contract", "nsz"})


def lean(function: Callable[..., Any]) -> Any:
    """As `compiled`, without counting references: for what takes views of arrays from the engine's own lean functions, which do
    not count them either (counting on one side only frees them too early). May allocate nothing."""
    return _compiled(function, counting=False)


def _compiled(function: Callable[..., Any], counting: bool, fastmath: Any = False) -> Any:
    before = _settings.CACHE_DIR
    _settings.CACHE_DIR = _FOLDER  # read when the function is decorated
    try:
        return _njit(cache=True, nogil=True, _nrt=counting, fastmath=fastmath)(function)
    finally:
        _settings.CACHE_DIR = before
