"""Sources and folders of VASP runs are two kinds of partitions."""

from __future__ import annotations

from assets.common.partitions import OWNERS, SOURCES, VASP


def test_partitions_are_called_as_the_catalogues_sections() -> None:
    assert (SOURCES.name, VASP.name) == ("sources", "vasp")
    assert OWNERS
