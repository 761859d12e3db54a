"""Values are checked with file and line, and the table decides what is said of a key."""

import pytest

from traces.cluster.notes import Entry
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.notes import entry_amount, setting_of


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        ("bool", "True", True),
        ("bool", "off", False),
        ("count", "3", 3),
        ("int", "-5", -5),
        ("number", "0.5", 0.5),
        ("text", "a b", "a b"),
    ],
)
def test_settings(form: str, text: str, value: object) -> None:
    assert setting_of(Entry("f", 1, "k", text), form) == value


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("bool", "maybe", "True or False"),
        ("count", "-1", "a whole number from 0"),
        ("number", "x", "a number"),
        ("duration", "x", "a duration"),
    ],
)
def test_faults_have_file_line_and_expectation(form: str, text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"f:7: expected {expected}.* as k, found '{text}'"):
        setting_of(Entry("f", 7, "k", text), form)


def test_amounts() -> None:
    amounts = {"walltime": "01:00:00", "mem": "64gb", "scratch": "1mb", "ncpus": "4", "tokens": "2.7"}
    assert [entry_amount(Entry("f", 1, "k", text), name) for name, text in amounts.items()] == [3600, 65536, 1024, 4, 2]
    with pytest.raises(ConfigurationError, match="a number or a size"):
        entry_amount(Entry("f", 1, "k", "much"), "ncpus")
