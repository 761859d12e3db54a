"""How the compiled functions of this package are compiled: without the GIL, and kept between runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

import simulator

_settings: Any = numba.config


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
    before = _settings.CACHE_DIR
    _settings.CACHE_DIR = _FOLDER  # read when the function is decorated
    try:
        return numba.njit(cache=True, nogil=True)(function)
    finally:
        _settings.CACHE_DIR = before
