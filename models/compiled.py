"""How the functions of this room are compiled. They call the simulator's, so that a change there, or of what a cluster is, compiles them
again, too."""

from pathlib import Path
from typing import Any

import simulator
import traces.cluster
from compilation import Compiler

_COMPILER = Compiler(Path(__file__).parent, Path(simulator.__file__).parent, Path(traces.cluster.__file__).parent)
compiled: Any = _COMPILER.compiled
lean: Any = _COMPILER.lean
reordering: Any = _COMPILER.reordering
