"""How the functions of this room are compiled. They call the simulator's, so that a change there compiles them again, too."""

from pathlib import Path
from typing import Any

import simulator
from compilation import Compiler

_COMPILER = Compiler(Path(__file__).parent, Path(simulator.__file__).parent)
compiled: Any = _COMPILER.compiled
lean: Any = _COMPILER.lean
inlined: Any = _COMPILER.inlined
RULES_HASH = _COMPILER.source_hash
"""Which rules these are, with the simulator's: stored with runs under the rules of a paper."""
