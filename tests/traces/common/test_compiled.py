"""The compiler of this room covers all its files."""

from __future__ import annotations

from pathlib import Path

import traces
from compilation import source_hash
from traces.common import compiled
from traces.swf.scan import scan_swf


def test_the_cache_has_a_key_of_all_files_of_the_room() -> None:
    room = Path(traces.__file__).parent
    assert compiled._COMPILER.source_hash == source_hash(room)
    assert compiled._COMPILER.folder.name == f"traces-{source_hash(room)}"


def test_compiled_functions_are_kept_there() -> None:
    scan_swf(b"")
    assert any(compiled._COMPILER.folder.rglob("*.nbi"))
