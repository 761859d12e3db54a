"""The table decides what is said of a key, and a remark names its place."""

import pytest

from tests.traces.pbs.configuration.configurations import said
from traces.cluster.notes import Entry, KnownKey, Notes, boolean_of, integer_of
from traces.cluster.remarks import NOT_MODELLED, ConfigurationError


def test_words_and_numbers() -> None:
    entry = Entry("f", 3, "k", " Yes ")
    assert boolean_of(entry) and entry.source == "f:3 k"
    assert integer_of(Entry("f", 3, "k", "-7"), least=None) == -7
    with pytest.raises(ConfigurationError, match=r"f:3: expected a whole number from 0 as k, found ' Yes '"):
        integer_of(entry)


def test_a_key_that_is_off_changes_nothing() -> None:
    table = {"round_robin": KnownKey(NOT_MODELLED, "jobs would come in turn", ("false",)), "log": KnownKey("no effect")}
    notes = Notes()
    for key, value in (("round_robin", "False"), ("log", "3"), ("colour", "red")):
        notes.by_table(table, Entry("f", 1, key, value))
    assert set(said(notes.remarks, "no effect")) == {"round_robin", "log"}
    assert set(said(notes.remarks, "unknown")) == {"colour"}
    notes.by_table(table, Entry("f", 2, "round_robin", "True"))
    assert said(notes.remarks, NOT_MODELLED) == {"round_robin": "jobs would come in turn"}
