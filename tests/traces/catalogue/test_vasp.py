"""Folders of VASP runs in the catalogue: what is declared, and faults with file, line and remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.traces.catalogue.catalogues import GOOD, fault
from traces.catalogue.catalogue import load_catalogue

DECLARED = '[vasp.runs]\npath = "folders"\naccounting = "good"\nquiet_s = 60\ntime_zone = "Asia/Tokyo"\n'


def test_a_folder_with_every_key(catalogue: Path) -> None:
    catalogue.write_text(f"{GOOD}\n{DECLARED}")
    source = load_catalogue().vasp_source("runs")
    assert (source.path, source.accounting, source.quiet_s) == (catalogue.parent / "folders", "good", 60)
    assert (source.time_zone, source.generator, source.declared_at) == ("Asia/Tokyo", {}, f"{catalogue}:7")


def test_synthetic_runs(catalogue: Path) -> None:
    catalogue.write_text("[vasp.drawn]\ngenerator = { runs = 3, unfinished = 1 }\n")
    source = load_catalogue().vasp_source("drawn")
    assert (source.path, source.generator, source.time_zone) == (None, {"runs": 3, "unfinished": 1}, "UTC")


FAULTS = {
    "unknown key": ('path = "x"\nprocs = 3\n', 9, "unknown key 'procs'"),
    "neither path nor generator": ("quiet_s = 3\n", 7, "either `path` .* or `generator`"),
    "empty path": ('path = ""\n', 8, "`path` is empty"),
    "no table": ("generator = 3\n", 8, "expected a table of generator options"),
    "unknown option": ("generator = { run = 3 }\n", 8, "unknown generator option 'run': expected .*runs"),
    "no runs": ("generator = { runs = 0 }\n", 8, "runs must be at least 1, got 0"),
    "no time at all": ('path = "x"\nquiet_s = 0\n', 9, "at least 1 second, found 0"),
    "another accounting": ('path = "x"\naccounting = "none"\n', 7, "'none' is not a source. Known: .*good"),
}


@pytest.mark.parametrize(("text", "line", "says"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_file_line_and_remedy(catalogue: Path, text: str, line: int, says: str) -> None:
    message = fault(catalogue, f"{GOOD}\n[vasp.bad]\n{text}")
    assert message.startswith(f"{catalogue}:{line}:"), message
    assert re.search(says, message), message
