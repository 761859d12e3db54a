"""The compiler of this room covers all its files."""

from __future__ import annotations

from pathlib import Path

import compilation
import traces
from compilation import source_hash
from traces.common import compiled
from traces.swf.scan import scan_swf


def test_the_cache_has_a_key_of_all_files_of_the_room() -> None:
    expected = source_hash(Path(compilation.__file__).parent, Path(traces.__file__).parent)
    assert compiled._COMPILER.source_hash == expected
    assert compiled._COMPILER.folder.name.startswith("traces-")


def test_compiled_functions_are_kept_there() -> None:
    scan_swf(b"")
    assert any(compiled._COMPILER.folder.glob("traces.swf.scan._scan-*.nbc"))
