"""The lines of what differs from the papers are what the code has."""

from __future__ import annotations

import re

import pytest

from studies.publishing.differences import (
    DIFFERENCES_MARK,
    differences_table,
    paper_systems,
    value_at,
    with_differences,
)
from studies.publishing.results import PAGES, PROJECT

SYSTEMS = paper_systems()
HELD = [(system.name, part.part, path) for system in SYSTEMS for part in system.parts for path in part.holds]
EXPECTED_PARTS = ("network", "state", "action", "reward", "algorithm", "settings", "data", "Table", "Figure")


@pytest.mark.parametrize(("system", "part", "path"), HELD)
def test_the_code_has_the_value_of_the_line(system: str, part: str, path: str) -> None:
    lines = next(each.parts for each in SYSTEMS if each.name == system)
    expected = next(line.holds[path] for line in lines if line.part == part)
    assert value_at(path) == pytest.approx(expected) if isinstance(expected, float) else value_at(path) == expected


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_every_system_has_a_line_for_each_part(system) -> None:
    names = [part.part for part in system.parts]
    assert len(set(names)) == len(names)
    missing = [part for part in EXPECTED_PARTS if not any(part.lower() in name.lower() for name in names)]
    optional = {"Deep Back-Filling": ["Table"], "Neural Simulated Annealing": ["settings"]}
    assert missing == optional.get(system.name, [])
    assert (PROJECT / "docs" / "results" / f"{system.page}.md").exists()


def test_the_page_has_the_lines_of_the_file() -> None:
    systems = [match["name"] for page in PAGES for match in DIFFERENCES_MARK.finditer(page.read_text())]
    assert sorted(systems) == sorted(system.name for system in SYSTEMS)
    for page in PAGES:
        text = page.read_text()
        assert with_differences(text, SYSTEMS) == text, f"{page.name}: python -m studies results --pages writes it"


def test_a_part_that_differs_is_in_the_table_and_another_in_the_list() -> None:
    system = SYSTEMS[0]
    table, _, equal = differences_table(system).partition("As the paper:")
    named = [row.split(" | ")[0].strip("| ") for row in table.strip().splitlines()[2:]]
    assert named == [part.part for part in system.parts if not part.same]
    assert re.findall(r"^\* (.+?): ", equal, re.MULTILINE) == [part.part for part in system.parts if part.same]
    with pytest.raises(KeyError):
        with_differences("<!-- differences: DeepRM -->\n\n<!-- end -->", SYSTEMS)
