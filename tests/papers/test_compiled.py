"""The room's compiler: its key is what runs by the rules of a paper store."""

from __future__ import annotations

from pathlib import Path

import compilation
import papers
import simulator
from compilation import source_hash
from papers.compiled import RULES_HASH


def test_the_hash_is_over_papers_and_what_they_call() -> None:
    rooms = (Path(room.__file__ or "").parent for room in (compilation, papers, simulator))
    assert source_hash(*rooms) == RULES_HASH
