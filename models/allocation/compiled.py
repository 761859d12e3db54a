"""How the solvers are compiled. They call the simulator's functions, so that a change there compiles them again, too."""

from pathlib import Path
from typing import Any

import simulator
from compilation import Compiler

_COMPILER = Compiler(Path(__file__).parent, Path(simulator.__file__).parent)
compiled: Any = _COMPILER.compiled
lean: Any = _COMPILER.lean
reordering: Any = _COMPILER.reordering
