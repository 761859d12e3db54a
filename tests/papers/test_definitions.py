"""Every asset in a paper's folder is loaded."""

from __future__ import annotations

import re
from pathlib import Path

import papers
from papers.definitions import ASSETS_OF_PAPERS


def test_every_asset_of_a_paper_is_listed() -> None:
    texts = [file.read_text() for file in Path(papers.__file__ or "").parent.rglob("*.py")]
    keys = {key for text in texts for key in re.findall(r'key=\["experiments", "(\w+)"\]', text)}
    assert {asset.key.path[-1] for asset in ASSETS_OF_PAPERS} == keys and len(keys) == len(ASSETS_OF_PAPERS)
