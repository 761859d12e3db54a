"""How the functions of this room are compiled."""

from pathlib import Path
from typing import Any

from compilation import Compiler

_COMPILER = Compiler(Path(__file__).parents[1])
compiled: Any = _COMPILER.compiled
SOURCES_HASH = _COMPILER.source_hash
"""Changes with any file of this room, and so with any rule of a reader."""
