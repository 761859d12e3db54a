"""How the functions of this room are compiled, and which rules these are."""

from pathlib import Path
from typing import Any

from compilation import Compiler

_COMPILER = Compiler(Path(__file__).parent, Path(__file__).parents[1] / "traces" / "cluster")
compiled: Any = _COMPILER.compiled
referring: Any = _COMPILER.referring
referring_apart: Any = _COMPILER.referring_apart
lean: Any = _COMPILER.lean
inlined: Any = _COMPILER.inlined
inlined_late: Any = _COMPILER.inlined_late
ieee: Any = _COMPILER.ieee
SOURCE_HASH = _COMPILER.source_hash
"""Which rules these are: stored with every saved run."""
