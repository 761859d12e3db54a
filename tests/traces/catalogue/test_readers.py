"""The table [readers] of a catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.catalogue.catalogues import fault
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.readers import Readers


def test_paths_are_relative_to_the_catalogue(catalogue: Path) -> None:
    catalogue.write_text("")
    assert load_catalogue().readers == Readers(None, None)
    catalogue.write_text('[readers]\ncopy = "for-all/readers.duckdb"\nmetrics = "/srv/prom/tracehouse.prom"\n')
    folder = catalogue.resolve().parent
    assert load_catalogue().readers == Readers(folder / "for-all" / "readers.duckdb", Path("/srv/prom/tracehouse.prom"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("readers = 3\n", "readers must be a dict"),
        ("[readers]\ncopy = 3\n", "copy must be a str"),
        ('[readers]\ncopies = "x"\n', "unknown key 'copies': expected one of copy, metrics"),
    ],
)
def test_faults_name_the_key(catalogue: Path, text: str, says: str) -> None:
    message = fault(catalogue, text)
    assert says in message and message.startswith(str(catalogue))
