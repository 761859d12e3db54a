"""The room's compiler: its key is what saved runs store."""

from __future__ import annotations

from pathlib import Path

import compilation
import simulator
import traces.cluster
from compilation import source_hash
from simulator.compiled import SOURCE_HASH


def test_saved_runs_store_a_hash_over_all_files_of_the_room_and_how_they_are_compiled() -> None:
    """And over what a cluster is, which compiled code of a scheduler reads."""
    folders = [Path(room.__file__).parent for room in (compilation, simulator, traces.cluster)]
    assert source_hash(*folders) == SOURCE_HASH
