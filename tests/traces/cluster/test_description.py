"""A description names nothing that it does not have, and says what it misses."""

import pytest

from traces.cluster.accounts import Account, AccountUser, Limit
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.nodes import Node, Partition
from traces.cluster.reservations import AdvanceReservation, Gate

NODES = (Node("n1", 16), Node("n2", 16))


def test_a_number_of_nodes_is_a_cluster() -> None:
    cluster = ClusterDescription("small", NODES)
    assert cluster.num_cpus == 32
    assert cluster.node_index == {"n1": 0, "n2": 1}


def test_partitions_take_the_clusters_order_and_all_nodes_where_they_name_none() -> None:
    short = Partition("short", ("n2", "n1"))
    cluster = ClusterDescription("small", NODES, (short, Partition("all", is_default=True)))
    assert cluster.nodes_of(short) == ("n1", "n2")
    assert cluster.partition_named("").name == "all"
    with pytest.raises(ValueError, match=r"has no partition gpu; it has short, all"):
        cluster.partition_named("gpu")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"nodes": ()}, "has no nodes"),
        ({"nodes": (*NODES, Node("n1", 1))}, "has node n1 twice"),
        ({"partitions": (Partition("p", ("n9",)),)}, "partition p names node n9, which is not defined"),
        ({"reservations": (AdvanceReservation("r", 0, 1, nodes=("n9",)),)}, "reservation r names node n9"),
        ({"accounts": (Account("a", "b"),)}, "account a has parent b, which is not defined"),
        ({"accounts": (Account("a", "b"), Account("b", "a"))}, "account a is its own ancestor"),
        ({"members": (AccountUser("u", "a"),)}, "user u is in account a, which is not defined"),
    ],
)
def test_names_must_be_defined_once(parts: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClusterDescription(**({"name": "small", "nodes": NODES} | parts))


def test_the_scheduler_is_one_we_know() -> None:
    with pytest.raises(ValueError, match="expected a scheduler of slurm, pbs"):
        SchedulerSettings("lsf")


def test_limits_and_gates_are_checked() -> None:
    with pytest.raises(ValueError, match="expected one of all, user"):
        Limit("qos", "normal", "running", "team", "cpu", 3)
    with pytest.raises(ValueError, match="days from 0"):
        Gate((7,), 0, 10)
