"""A source as the catalogue declares it."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.catalogue.sources import FORMATS, NAME, Source


@pytest.mark.parametrize("name", ["a", "KTH-SP2-1996-2.1", "a_b", "9"])
def test_good_names(name: str) -> None:
    assert NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["", "-a", ".a", "a b", "a/b", "ä", "a\n"])
def test_bad_names(name: str) -> None:
    assert not NAME.fullmatch(name)


def test_what_is_not_declared_is_left_to_the_log() -> None:
    source = Source("mine", FORMATS[0], Path("log"))
    assert (source.procs, source.nodes, source.time_zone, source.columns) == (None, None, None, "")
    assert not source.drop_wider and not source.pseudonyms and not source.generator
