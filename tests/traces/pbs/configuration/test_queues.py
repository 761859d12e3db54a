"""Queues as partitions, with their nodes."""

import pytest

from tests.traces.pbs.configuration.configurations import QMGR, said, state_of
from traces.cluster.nodes import Node, Partition
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.nodes import ListedNode
from traces.pbs.configuration.queues import partitions_of_queues

NODES = (ListedNode(Node("n1", 4)), ListedNode(Node("n2", 4, features=("nodetype=fat",))))


def test_queues() -> None:
    state, notes = state_of(QMGR)
    assert partitions_of_queues(state, NODES, notes) == (
        Partition("short", (), True, "up", 7200, 86400, 80),
        Partition(
            "big", ("n2",), False, "down", None, 86400, 0, allow_groups=("physics",), extra={"default_chunk.nodetype": "fat"}
        ),
    )  # fmt: skip
    left_out = said(notes.remarks, "not modelled")
    assert {"acl_groups": "guests could not use the queue"}.items() <= left_out.items()
    assert {"queue first", "route_destinations"} <= set(left_out)
    assert "default_chunk.nodetype" in said(notes.remarks, "assumed")


def test_nodes_of_a_queue_serve_only_it() -> None:
    state, notes = state_of(QMGR)
    short, big = partitions_of_queues(state, (NODES[0], ListedNode(NODES[1].node, "short")), notes)
    assert (short.nodes, big.nodes) == (("n2",), ("n1",))
    short, big = partitions_of_queues(state, tuple(ListedNode(listed.node, "short") for listed in NODES), notes)
    assert (short.nodes, big.nodes) == ((), ())
    assert "queue big" in said(notes.remarks, "assumed")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Priority = 80", "Priority = high", r"qmgr.txt:5: expected a whole number as Priority, found 'high'"),
        (
            "walltime = 02:00:00",
            "walltime = long",
            r"qmgr.txt:6: expected a duration such as .* as resources_max.walltime",
        ),
        ("short enabled = True", "short enabled = perhaps", r"qmgr.txt:10: expected True or False as enabled"),
    ],
)
def test_faults(old: str, new: str, message: str) -> None:
    state, notes = state_of(QMGR.replace(old, new))
    with pytest.raises(ConfigurationError, match=message):
        partitions_of_queues(state, NODES, notes)
