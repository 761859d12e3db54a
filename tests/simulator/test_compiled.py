"""The room's compiler: its key is what saved runs store."""

from __future__ import annotations

from pathlib import Path

import compilation
import simulator
from compilation import source_hash
from simulator.compiled import SOURCE_HASH


def test_saved_runs_store_a_hash_over_all_files_of_the_room_and_how_they_are_compiled() -> None:
    assert source_hash(Path(compilation.__file__).parent, Path(simulator.__file__).parent) == SOURCE_HASH
