"""Thorough tests are found by their names, and each is in one part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kinds import THOROUGH, is_in_part, kind_of

PROJECT = Path(__file__).parents[1]


@pytest.mark.parametrize("pattern", [pattern for _, *patterns in THOROUGH.values() for pattern in patterns])
def test_every_pattern_names_a_test(pattern: str) -> None:
    file, _, test = pattern.partition("::")
    files = list(PROJECT.glob(file))
    assert files
    assert not test or any(f"def {test.partition('*')[0]}" in path.read_text() for path in files)


def test_a_test_has_one_kind_and_is_in_one_part() -> None:
    assert kind_of("tests/benchmarks/test_benchmarks.py::test_sizes[1]") == "studies"
    assert kind_of("tests/benchmarks/test_faults.py::test_x") == "faults"
    assert kind_of("tests/traces/swf/test_reader.py::test_any_mixture[a::b]") == "random_inputs"
    assert kind_of("tests/traces/swf/test_reader.py::test_another") is None
    for part in ("x", "1", "1/x"):
        with pytest.raises(ValueError):
            is_in_part("tests/test_site.py", part)
    for file in ("a.py", "b.py", "c.py"):
        assert [is_in_part(f"{file}::test", f"{k}/4") for k in range(4)].count(True) == 1
