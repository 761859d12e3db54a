"""How the functions of this room are compiled: see `compilation.Compiler`."""

from pathlib import Path
from typing import Any

from compilation import Compiler

_COMPILER = Compiler(Path(__file__).parents[1])
compiled: Any = _COMPILER.compiled
lean: Any = _COMPILER.lean
