"""Limits of servers and queues in the new and the old spelling."""

import pytest

from tests.traces.pbs.configuration.configurations import QMGR, said, state_of
from traces.cluster.accounts import Limit
from traces.cluster.notes import Entry, Notes
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.limits import attribute_limits, server_wide_limits


def limits(**attributes: str) -> list[tuple]:
    entries = {
        key.replace("__", "."): Entry("qmgr.txt", 3, key.replace("__", "."), text) for key, text in attributes.items()
    }
    parts = attribute_limits(entries, "partition", "q", Notes())
    return [(x.counts, x.each, x.who, x.resource, x.bound, x.is_least, x.is_soft) for x in parts]


def test_limits_of_a_server_and_a_queue() -> None:
    state, notes = state_of(QMGR)
    of_queue = attribute_limits(state.of("queue", "short"), "partition", "short", notes)
    assert of_queue == (
        Limit("partition", "short", "job", "job", "cpu", 64, source="qmgr.txt:7 resources_max.ncpus"),
        Limit("partition", "short", "running", "user", "jobs", 4, source="qmgr.txt:9 max_run"),
        Limit("partition", "short", "running", "user", "jobs", 8, "fred", source="qmgr.txt:9 max_run"),
    )
    of_server = attribute_limits(state.of("server"), "cluster", "", notes)
    assert [(x.each, x.resource, x.bound, x.is_soft) for x in of_server] == [
        ("user", "cpu", 256, False), ("all", "cpu", 1000, False), ("group", "mem", 102400, True),
    ]  # fmt: skip


def test_spellings() -> None:
    assert limits(max_user_run="4", max_group_res_soft__ncpus="8") == [
        ("running", "user", "", "jobs", 4, False, False), ("running", "group", "", "cpu", 8, False, True),
    ]  # fmt: skip
    assert limits(max_queued='[p:"big science"=9]', max_queuable="100") == [
        ("submitted", "project", "big science", "jobs", 9, False, False), ("submitted", "all", "", "jobs", 100, False, False),
    ]  # fmt: skip
    assert limits(resources_min__walltime="00:10:00", resources_max__walltime="1:00:00", resources_max__nodect="4") == [
        ("job", "job", "", "time", 600, True, False), ("job", "job", "", "nodes", 4, False, False),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["4", "[u:PBS_GENERIC]", "[x:a=1]", "[o:fred=1]", "[u:PBS_ALL=1]", "[u:fred=many]"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"qmgr.txt:3: expected .* as max_run, found .*Write limits as qmgr prints them"
    ):
        limits(max_run=text)


def test_words_are_named_and_left_out() -> None:
    notes = Notes()
    entries = {
        key: Entry("f", 1, key, text)
        for key, text in (("resources_max.nodes", "2:ppn=8"), ("resources_max.arch", "linux"))
    }
    assert attribute_limits(entries, "partition", "q", notes) == ()
    assert list(said(notes.remarks, "not modelled")) == ["resources_max.nodes", "resources_max.arch"]
    assert limits(resources_max__nodes="4") == [("job", "job", "", "nodes", 4, False, False)]


def test_what_is_available_in_a_queue_is_its_limit() -> None:
    entries = {"resources_available.ncpus": Entry("f", 1, "resources_available.ncpus", "128")}
    assert server_wide_limits(entries, "partition", "q", Notes())[0].bound == 128
