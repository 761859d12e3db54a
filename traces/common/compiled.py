"""How the functions of this package are compiled: without the GIL, and kept between runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

_HERE = Path(__file__).parents[1]
SOURCES_HASH = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_HERE.rglob("*.py")))).hexdigest()[:12]
"""Changes with any file of this package, and so with any rule of a reader."""
_FOLDER = Path(os.environ.get("NUMBA_CACHE_DIR") or _HERE / "__pycache__") / f"traces-{SOURCES_HASH}"
_settings: Any = numba.config


def compiled(function: Callable[..., Any]) -> Any:
    """numba.njit with a cache that notices a change in any file of this package.

    numba's own notices only one of the file that a function stands in, not of functions that it calls from others.
    """
    before = _settings.CACHE_DIR
    _settings.CACHE_DIR = str(_FOLDER)  # read when the function is decorated
    try:
        return numba.njit(cache=True, nogil=True)(function)
    finally:
        _settings.CACHE_DIR = before
