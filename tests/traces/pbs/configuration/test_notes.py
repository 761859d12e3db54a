"""Values are checked with file and line, and the table decides what is said of a key."""

import pytest

from tests.traces.pbs.configuration.configurations import said
from traces.cluster.remarks import NOT_MODELLED, ConfigurationError
from traces.pbs.configuration.notes import Entry, KnownKey, Notes, amount_of, setting_of


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
    assert [amount_of(Entry("f", 1, "k", text), name) for name, text in amounts.items()] == [3600, 65536, 1024, 4, 2]
    with pytest.raises(ConfigurationError, match="a number or a size"):
        amount_of(Entry("f", 1, "k", "much"), "ncpus")


def test_a_key_that_is_off_changes_nothing() -> None:
    table = {"round_robin": KnownKey(NOT_MODELLED, "jobs would come in turn", ("false",)), "log": KnownKey("no effect")}
    notes = Notes()
    for key, value in (("round_robin", "False"), ("log", "3"), ("colour", "red")):
        notes.by_table(table, Entry("f", 1, key, value))
    assert set(said(notes.remarks, "no effect")) == {"round_robin", "log"}
    assert set(said(notes.remarks, "unknown")) == {"colour"}
    notes.by_table(table, Entry("f", 2, "round_robin", "True"))
    assert said(notes.remarks, NOT_MODELLED) == {"round_robin": "jobs would come in turn"}
