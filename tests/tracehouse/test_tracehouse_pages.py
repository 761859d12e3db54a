"""The guide docs/guides/python.md and the notebook run, and print what they show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tracehouse import pages

TEXT = pages.GUIDE.read_text()
NOTEBOOK_FORMAT = 4


def run_blocks(text: str, namespace: dict[str, Any], compared: bool) -> int:
    """Runs the blocks of a part of the guide; returns how many there are. compared: whether they must print what is shown."""
    blocks = list(pages.BLOCK.finditer(text))
    for block in blocks:
        printed, _ = pages.run_cell(block["code"], namespace)
        assert bool(printed) == bool(block["printed"])
        assert not compared or printed == block["printed"], block["code"]
    return len(blocks)


def test_the_guide_prints_what_it_shows(bundled: Path) -> None:
    before, _, rest = TEXT.partition(pages.NEEDS_MODELS)
    _, _, after = rest.partition(pages.AGAIN)
    namespace: dict[str, Any] = {}
    assert run_blocks(before, namespace, compared=True) >= 6
    assert run_blocks(after, namespace, compared=True) >= 1


def test_what_the_guide_asks_a_warehouse_runs_on_a_tiny_source(trained: Path) -> None:
    """Its figures are those of the bundled source, whose models take minutes to train."""
    namespace: dict[str, Any] = {}
    pages.run_cell("import polars as pl\nimport tracehouse\n", namespace)
    part = TEXT.partition(pages.NEEDS_MODELS)[2].partition(pages.AGAIN)[0]
    part = part.replace('user="u01"', 'user="1"').replace("2026-03-25", "2026-01-21")  # its users and days
    assert run_blocks(part, namespace, compared=False) >= 2


def test_the_notebook_prints_what_it_stores(bundled: Path) -> None:
    cells = pages.notebook_outputs({})
    assert len(cells) >= 5
    for stored, now in cells:
        assert now == stored


def test_the_notebook_is_one_and_names_no_place_of_a_machine() -> None:
    notebook = json.loads(pages.NOTEBOOK.read_text())
    assert notebook["nbformat"] == NOTEBOOK_FORMAT
    for cell in notebook["cells"]:
        expected = {"cell_type", "id", "metadata", "source"}
        assert set(cell) == expected | ({"execution_count", "outputs"} if cell["cell_type"] == "code" else set())
    for text in (pages.NOTEBOOK.read_text(), TEXT):
        assert "/tmp/" not in text and "/home/" not in text


@pytest.mark.parametrize(
    ("code", "expected"),
    [("1 + 1", ("", "2")), ("print(3)", ("3\n", None)), ("x = 1\nx", ("", "1")), ("x = 1", ("", None))],
)
def test_cells_show_what_a_notebook_would(code: str, expected: tuple[str, str | None]) -> None:
    assert pages.run_cell(code, {}) == expected
