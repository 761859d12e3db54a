"""How the functions of this room are compiled."""

from pathlib import Path
from typing import Any

from compilation import Compiler

compiled: Any = Compiler(Path(__file__).parents[1]).compiled
