"""What qmgr prints, in both of its forms."""

import pytest

from tests.traces.pbs.configuration.configurations import QMGR, said, state_of
from traces.cluster.remarks import ConfigurationError


def test_statements_and_lists() -> None:
    state, _ = state_of(QMGR)
    assert list(state.objects["queue"]) == ["short", "big", "first"]
    assert state.of("queue", "short")["max_run"].value == '[u:PBS_GENERIC=4],[u:"fred"=8]'
    assert state.of("server")["job_sort_formula"].value == "eligible_time - ncpus"
    assert state.resource_type("nodetype") == "string_array" and state.resource_type("ncpus") == ""
    listed, _ = state_of(
        "Sched default\n    sched_host = head\n    preempt_order = SCR\nSched second\n    partition = p\n"
    )
    assert listed.of("sched")["preempt_order"].line == 3
    assert listed.of("sched", "second")["partition"].value == "p"
    shown, _ = state_of(
        "Server: head\n    server_state = Active\n\nQueue: gpu\n    queue_type = Execution\n    Priority = 75\n"
    )
    assert shown.of("queue", "gpu")["Priority"].value == "75" and shown.of("server")["server_state"].line == 2
    printed, _ = state_of(
        "create resource big type=boolean,flag=h\nset sched default log_events = 7\nset sched log_events = 8\n"
    )
    assert printed.resource_type("big") == "boolean" and printed.of("sched")["log_events"].value == "8"


def test_each_hook_is_named_once() -> None:
    _, notes = state_of(
        "create hook check\nimport hook check application/x-python default -\nset hook check enabled = True\nset hook b x = 1"
    )
    assert list(said(notes.remarks, "not modelled")) == ["hook check", "hook b"]


@pytest.mark.parametrize("line", ["what is this", "set colour red = 1", "set queue = 4", "    stray = 1"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"qmgr.txt:2: expected a statement such as .*, found .*\. Write the output of `qmgr"
    ):
        state_of(f"set server scheduling = True\n{line}\n")
